/// \file
/// The sync shim: the only names through which takt touches threads, atomics and locks.
///
/// In a normal build every name is the standard one, at no cost. With TAKT_MODEL defined the same
/// names are instrumented, so that the model checker (takt/model/) decides every interleaving.
/// Code in takt therefore never writes std::atomic, std::mutex, std::thread, thread_local or
/// std::stop_token, but takt::sync::atomic and so on.
#pragma once

#include <takt/base/config.hpp>

#if defined(TAKT_MODEL)
#include <takt/model/sync.hpp>
#else

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace takt::inline TAKT_ABI {

/// Threads, atomics, locks and time as takt's own code sees them.
namespace sync {

using std::atomic;
using std::condition_variable;
using std::condition_variable_any;
using std::mutex;
using std::nostopstate;
using std::stop_callback;
using std::stop_source;
using std::stop_token;
using std::thread;

/// Monotonic time. In the model build it is virtual, with the same time_point type.
using clock = std::chrono::steady_clock;

/// The time of day, which may be set. As above.
using wall_clock = std::chrono::system_clock;

/// One T per thread, made at the thread's first get(). Tag tells apart variables of one type.
template <class T, class Tag = T>
struct tls {
  static T& get() noexcept {
    static thread_local T value{};
    return value;
  }
};

/// Plain data that several threads use in turn. The model build checks that its accesses never
/// race; here it costs nothing.
template <class T>
class var {
 public:
  var() = default;
  explicit var(T value) : value_(std::move(value)) {}
  /// For looking only.
  [[nodiscard]] const T& read() const noexcept { return value_; }
  /// For changing.
  [[nodiscard]] T& write() noexcept { return value_; }

 private:
  T value_{};
};

/// Lets other threads run. Every spin loop calls it: the model checker relies on that.
inline void yield() noexcept { std::this_thread::yield(); }

/// The id of the calling thread.
inline thread::id this_thread_id() noexcept { return std::this_thread::get_id(); }

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

#endif

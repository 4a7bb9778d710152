/// \file
/// The sync shim: the only names through which takt touches threads, atomics and locks.
///
/// Most names are the standard library's; var, tls, yield() and this_thread_id() are takt's own. In
/// a normal build the standard names are aliases, at no cost. With TAKT_MODEL defined all names are
/// instrumented, so that the model checker (takt/model/) decides every interleaving. Code in takt
/// therefore never writes std::atomic, std::mutex, std::thread, thread_local or std::stop_token,
/// but takt::sync::atomic and so on.
///
/// Code that compiles in both builds is restricted to what the model's classes offer. The model's
/// atomic has load(), store(), exchange(), compare_exchange_weak() and _strong(); for integers and
/// pointers also fetch_add(), fetch_sub(), ++ and --; for integers fetch_and(), fetch_or() and
/// fetch_xor(). It lacks types larger than eight bytes, arithmetic on floating point, +=, -=, &=,
/// |= and ^=, wait() and notify, is_lock_free(), constant initialisation (constinit), atomic_ref,
/// atomic_flag and the free functions. Standalone fences are not offered.
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

/// Threads, atomics, locks and time for takt's own code.
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

/// The time of day, which may be set. In the model build it is virtual as well.
using wall_clock = std::chrono::system_clock;

/// One T per thread, constructed at the thread's first get(). Tag distinguishes variables of one
/// type.
template <class T, class Tag = T>
struct tls {
  static T& get() noexcept {
    static thread_local T value{};
    return value;
  }
};

/// Plain data that several threads access in turn. The model build checks that accesses never race;
/// in a normal build it costs nothing. **Thread safety**: as for a T; the caller synchronises.
template <class T>
class var {
 public:
  var() = default;
  explicit var(T value) : value_(std::move(value)) {}
  var(const var&) = delete;
  var& operator=(const var&) = delete;
  /// For reading. The model build fails the run unless every earlier write() by another thread
  /// happens before this call. Call it for each access: later use of the reference is not checked.
  [[nodiscard]] const T& read() const noexcept { return value_; }
  /// For writing. The model build fails the run unless every earlier read() and write() by another
  /// thread happens before this call. Call it for each access, as above.
  [[nodiscard]] T& write() noexcept { return value_; }

 private:
  T value_{};
};

/// Yields to other threads. Every spin loop calls it: the model checker relies on that.
inline void yield() noexcept { std::this_thread::yield(); }

/// The id of the calling thread.
[[nodiscard]] inline thread::id this_thread_id() noexcept { return std::this_thread::get_id(); }

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

#endif

/// \file
/// The sync shim: the only names through which takt touches threads, atomics and locks.
///
/// They are some of the standard library's, and four of takt's own: var, tls, yield() and
/// this_thread_id(). In a normal build the standard ones are what they are, at no cost. With
/// TAKT_MODEL defined the same names are instrumented, so that the model checker (takt/model/)
/// decides every interleaving. Code in takt therefore never writes std::atomic, std::mutex,
/// std::thread, thread_local or std::stop_token, but takt::sync::atomic and so on.
///
/// What is here compiles in both builds only as far as the model's classes go. Its atomic has
/// load(), store(), exchange(), compare_exchange_weak() and _strong(), and for integers and
/// pointers fetch_add(), fetch_sub(), ++ and --, for integers fetch_and(), fetch_or() and
/// fetch_xor(). It lacks: types larger than eight bytes, arithmetic on floating point, +=, -=, &=,
/// |= and ^=, wait() and notify, is_lock_free(), constant initialisation (constinit), atomic_ref,
/// atomic_flag and the free functions. There are no standalone fences.
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
/// race; here it costs nothing. Thread safety: that of a T, and so whoever uses it sees to it.
template <class T>
class var {
 public:
  var() = default;
  explicit var(T value) : value_(std::move(value)) {}
  var(const var&) = delete;
  var& operator=(const var&) = delete;
  /// For looking only. The model build fails the run unless every write() by another thread so far
  /// happens before this call. Call it for each look: what is done with the reference later is not
  /// checked.
  [[nodiscard]] const T& read() const noexcept { return value_; }
  /// For changing. The model build fails the run unless every read() and write() by another thread
  /// so far happens before this call. Call it for each change, as above.
  [[nodiscard]] T& write() noexcept { return value_; }

 private:
  T value_{};
};

/// Lets other threads run. Every spin loop calls it: the model checker relies on that.
inline void yield() noexcept { std::this_thread::yield(); }

/// The id of the calling thread.
[[nodiscard]] inline thread::id this_thread_id() noexcept { return std::this_thread::get_id(); }

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

#endif

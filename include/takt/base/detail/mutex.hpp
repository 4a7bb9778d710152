/// \file
/// Mutex, scoped lock and condition that Clang's thread safety analysis understands.
///
/// \code
/// takt::detail::mutex mu;
/// takt::detail::condition changed;
/// bool ready TAKT_GUARDED_BY(mu) = false;
///
/// void wait_until_ready() {
///   takt::detail::mutex_lock lock(mu);
///   while (!ready) changed.wait(lock);
/// }
///
/// void make_ready() {
///   takt::detail::mutex_lock lock(mu);
///   ready = true;
///   changed.notify_all();
/// }
/// \endcode
#pragma once

#include <mutex>  // std::unique_lock

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A non-recursive lock. Usually held by a mutex_lock, and named in the TAKT_GUARDED_BY of the
/// fields that it guards.
///
/// **Thread safety**: all members from any thread. **Destruction**: no thread may hold or wait for
/// the mutex. A thread that locks it and knows that no other thread will may destroy it after
/// unlocking, even if the previous holder has not yet returned from unlock().
class TAKT_CAPABILITY("mutex") mutex {
 public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() TAKT_ACQUIRE() { native_.lock(); }
  void unlock() TAKT_RELEASE() { native_.unlock(); }

 private:
  friend class mutex_lock;
  sync::mutex native_;
};

/// Holds a mutex from construction to destruction. It can unlock() in between, for calls to user
/// code, which are never made under a lock, and then lock() again.
///
/// **Thread safety**: used by the thread that constructed it. **Destruction**: unlocks if locked.
class TAKT_SCOPED_CAPABILITY mutex_lock {
 public:
  explicit mutex_lock(mutex& mu) TAKT_ACQUIRE(mu) : native_(mu.native_) {}
  ~mutex_lock() TAKT_RELEASE() {}
  mutex_lock(const mutex_lock&) = delete;
  mutex_lock& operator=(const mutex_lock&) = delete;

  /// Locks again after unlock().
  void lock() TAKT_ACQUIRE() { native_.lock(); }

  /// Unlocks before the end of the scope.
  void unlock() TAKT_RELEASE() { native_.unlock(); }

 private:
  friend class condition;
  std::unique_lock<sync::mutex> native_;
};

/// A condition variable. Its wait() takes no predicate: Clang's analysis does not look into
/// lambdas, so a predicate over guarded fields would be unchecked or rejected. Write the loop:
/// `while (!ready) changed.wait(lock);`. For a wait with a deadline use timed_condition
/// (takt/clock/detail/timed_condition.hpp).
///
/// **Thread safety**: all members from any thread; concurrent waiters hold the same mutex.
/// **Destruction**: every waiter has been notified; waiters may still be returning from wait().
class condition {
 public:
  condition() = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;

  /// Unlocks, waits for a notification, locks again. May return spuriously, and does so if the
  /// thread had deferred continuations to run. `lock` is locked before and after the call.
  void wait(mutex_lock& lock) {
    if (!deferred_continuations::any()) {
      native_.wait(lock.native_);
      return;
    }
    lock.native_.unlock();
    deferred_continuations::run();
    lock.native_.lock();
  }

  /// Wakes one waiting thread, if any.
  void notify_one() noexcept { native_.notify_one(); }

  /// Wakes all waiting threads.
  void notify_all() noexcept { native_.notify_all(); }

 private:
  sync::condition_variable native_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

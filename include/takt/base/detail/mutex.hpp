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

/// A lock that one thread holds at a time; not recursive. Usually taken with a mutex_lock, and
/// named with TAKT_GUARDED_BY by the fields that it guards.
///
/// Thread safety: all members, from any thread. Destruction: nobody holds it or waits for it. A
/// thread that takes the lock and finds that nobody else will may destroy it after unlocking, even
/// if the previous holder has not yet returned from unlock().
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

/// Holds a mutex from its construction to its destruction, with an optional gap between unlock()
/// and lock(): for code that has to call foreign code in the middle, which is never done under a
/// lock.
///
/// Thread safety: belongs to the thread that made it. Destruction: unlocks if locked.
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

/// A condition variable. Waiting has no form that takes a predicate: the analysis does not look
/// into lambdas, so that a predicate over guarded fields would go unchecked, or be rejected. Write
/// the loop: `while (!ready) changed.wait(lock);`. Nor is there a wait with a deadline: that is
/// timed_condition's (takt/clock/detail/timed_condition.hpp).
///
/// Thread safety: all members, from any thread; all that wait at one time hold the same mutex.
/// Destruction: every waiter has been notified; they may still be on their way out of wait().
class condition {
 public:
  condition() = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;

  /// Unlocks, waits to be notified, locks again. May return for no reason, and does if the thread
  /// had calls to make first: see deferred_continuations. `lock` is locked before and after; in
  /// between, other threads may have changed what the mutex guards.
  void wait(mutex_lock& lock) {
    if (!deferred_continuations::any()) {
      native_.wait(lock.native_);
      return;
    }
    lock.native_.unlock();
    deferred_continuations::run();
    lock.native_.lock();
  }

  /// Wakes one that waits, if any.
  void notify_one() noexcept { native_.notify_one(); }

  /// Wakes all that wait.
  void notify_all() noexcept { native_.notify_all(); }

 private:
  sync::condition_variable native_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

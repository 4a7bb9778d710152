/// \file
/// A condition variable with an injected clock, deadlines and stop tokens.
#pragma once

#include <optional>

#include <takt/base/config.hpp>
#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/clock.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A condition variable that waits on an injected clock, until a deadline or a stop request.
///
/// \code
/// takt::detail::mutex mu;
/// takt::detail::timed_condition changed;
/// std::deque<message> inbox TAKT_GUARDED_BY(mu);
///
/// std::optional<message> take(takt::clock::time_point deadline, std::stop_token stop) {
///   takt::detail::mutex_lock lock(mu);
///   while (inbox.empty()) {
///     if (!changed.wait_until(lock, takt::steady, deadline, stop)) break;
///   }
///   return inbox.empty() ? std::nullopt : std::optional(pop(inbox));
/// }
/// \endcode
///
/// notify_one() wakes the thread that has waited longest. A notification is never lost to a
/// deadline that passes at the same moment: the notified thread then returns true. Call
/// wait_until() in a loop: the awaited state may have changed again before the lock is reacquired.
/// It also returns true, without a notification, to a thread that had deferred continuations to
/// run; see deferred_continuations.
///
/// **Thread safety**: all members are called with the mutex held, always the same one.
/// **Destruction**: no thread may wait.
class timed_condition {
 public:
  timed_condition() = default;
  timed_condition(const timed_condition&) = delete;
  timed_condition& operator=(const timed_condition&) = delete;

  /// Unlocks, waits for a notification, for `deadline` on `time`, or for a stop request, and locks
  /// again. A deadline in the past polls; time_point::max() means never.
  /// \return true if notified, false at the deadline or the stop request.
  bool wait_until(mutex_lock& lock, const clock& time, clock::time_point deadline,
                  const sync::stop_token& stop = {})
      TAKT_NO_THREAD_SAFETY_ANALYSIS {  // does not follow a lock that is passed on
    if (deferred_continuations::any()) {
      lock.unlock();
      deferred_continuations::run();
      lock.lock();
      return true;
    }
    waiter self;
    waiters_.push_back(self);
    lock.unlock();
    {
      // A notification and a stop request both set the token of `wake_up`, so one park_until()
      // returns at the first of notification, stop request and deadline.
      const auto wake = [&self] { self.wake_up.unpark(); };
      std::optional<sync::stop_callback<decltype(wake)>> on_stop;
      if (stop.stop_possible()) on_stop.emplace(stop, wake);
      time.park_until(self.wake_up, deadline);
    }
    lock.lock();
    if (!self.is_linked()) return true;
    waiters_.erase(self);
    return false;
  }

  /// Wakes the thread that has waited longest, if any.
  void notify_one() noexcept {
    // The lock is held, and the waiter needs it to return: its parker still exists.
    if (waiter* first = waiters_.pop_front()) first->wake_up.unpark();
  }

  /// Wakes all waiting threads.
  void notify_all() noexcept {
    while (waiter* next = waiters_.pop_front()) next->wake_up.unpark();
  }

 private:
  // Lives on the stack of a waiting thread.
  struct waiter : list_node<> {
    parker wake_up;
  };

  intrusive_list<waiter> waiters_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

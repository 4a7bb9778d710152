/// \file
/// Waiting under a mutex, with a deadline and a stop token.
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

/// A condition variable that waits on a clock which it is given, and can be told to stop waiting.
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
/// A notification reaches who has waited longest; it is never lost to one whose deadline comes at
/// the same moment: that one is then told that it was notified. It returns true without a
/// notification only to a thread that had calls to make, which it does instead of waiting: see
/// deferred_continuations. And what was notified may be gone by the time the lock is held again: so
/// loop.
///
/// **Thread safety**: all members are called with the mutex held, the same one at all times.
/// **Destruction**: nobody waits.
class timed_condition {
 public:
  timed_condition() = default;
  timed_condition(const timed_condition&) = delete;
  timed_condition& operator=(const timed_condition&) = delete;

  /// Unlocks, waits until notified, until `deadline` by `time`, or until stop is requested, and
  /// locks again. A deadline in the past polls; time_point::max() means never. \return whether it
  /// was notified.
  bool wait_until(mutex_lock& lock, const clock& time, clock::time_point deadline,
                  const sync::stop_token& stop = {})
      TAKT_NO_THREAD_SAFETY_ANALYSIS {  // which does not follow a lock that is passed on
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
      // The token of `wake_up` comes from a notification or from the stop request, so that one wait
      // is enough: it returns at the first of the three.
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

  /// Wakes who has waited longest, if any.
  void notify_one() noexcept {
    // Under the lock, which the waiter needs to leave: its parker is still there.
    if (waiter* first = waiters_.pop_front()) first->wake_up.unpark();
  }

  /// Wakes all that wait.
  void notify_all() noexcept {
    while (waiter* next = waiters_.pop_front()) next->wake_up.unpark();
  }

 private:
  // On the stack of a thread that waits.
  struct waiter : list_node<> {
    parker wake_up;
  };

  intrusive_list<waiter> waiters_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

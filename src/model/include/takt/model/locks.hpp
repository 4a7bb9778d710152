/// \file
/// Condition variables under the control of the checker.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <takt/model/engine.hpp>
#include <takt/model/stop_token.hpp>
#include <takt/model/thread.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// Drop-in for std::condition_variable.
///
/// A waiter is listed before it unlocks, so any later notification reaches it. A notification
/// itself provides no memory ordering; the mutex does.
class condition_variable : public object {
 public:
  condition_variable() noexcept : object("condition variable") {}
  ~condition_variable();

  void notify_one() noexcept;
  void notify_all() noexcept;

  template <class Lock>
  void wait(Lock& lock) {
    wait_until(lock, time_point::max());
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done()) wait(lock);
  }
  template <class Lock>
  std::cv_status wait_until(Lock& lock, time_point deadline) {
    enlist();
    lock.unlock();
    const bool notified = sleep(deadline);
    lock.lock();
    return notified ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  template <class Lock>
  std::cv_status wait_until(Lock& lock, wall_clock::time_point deadline) {
    return wait_until(lock, wall_clock::to_clock(deadline));
  }
  template <class Lock, class Predicate>
  bool wait_until(Lock& lock, time_point deadline, Predicate done) {
    while (!done()) {
      if (wait_until(lock, deadline) == std::cv_status::timeout) return done();
    }
    return true;
  }
  template <class Lock, class Rep, class Period>
  std::cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> d) {
    return wait_until(lock, after(d));
  }
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, std::chrono::duration<Rep, Period> d, Predicate done) {
    return wait_until(lock, after(d), std::move(done));
  }

 protected:
  /// Returns now() + d; time_point::max() if that is beyond the range.
  template <class Rep, class Period>
  static time_point after(std::chrono::duration<Rep, Period> d) {
    const time_point now = clock::now();
    using seconds = std::chrono::duration<double>;
    if (seconds(d) >= seconds(time_point::max() - now)) return time_point::max();
    return now + std::chrono::ceil<time_point::duration>(d);
  }
  void enlist() noexcept;
  void delist() noexcept;
  bool sleep(time_point deadline) noexcept;

 private:
  waiter_list waiters_;
};

/// Drop-in for std::condition_variable_any.
class condition_variable_any : public condition_variable {
 public:
  using condition_variable::wait;
  using condition_variable::wait_until;

  template <class Lock, class Predicate>
  bool wait(Lock& lock, const stop_token& stop, Predicate done) {
    return wait_until(lock, stop, time_point::max(), std::move(done));
  }
  template <class Lock, class Predicate>
  bool wait_until(Lock& lock, const stop_token& stop, time_point deadline, Predicate done) {
    // Not an instrumented atomic: a plain load of the token could be stale, whereas this wait must
    // see every earlier request; and an edge from each notification would order too much.
    std::atomic<bool> stopped = stop.stop_requested();
    stop_callback wake_up(stop, [&] {
      stopped = true;
      notify_all();
    });
    while (!done()) {
      enlist();  // before the check: a later request finds the waiter listed
      if (stopped) {
        delist();
        return done();
      }
      lock.unlock();
      const bool notified = sleep(deadline);
      lock.lock();
      if (!notified) return done();
    }
    return true;
  }
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI

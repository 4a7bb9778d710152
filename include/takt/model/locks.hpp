/// \file
/// mutex and condition variables whose blocking the checker sees.
#pragma once

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
/// A waiter is on the list before it lets go of the lock, so a notification after that reaches it.
/// A notification orders nothing by itself: only the mutex does.
class condition_variable : public object {
 public:
  condition_variable() noexcept : condition_variable(false) {}
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
    return wait_until(lock, clock::now() + std::chrono::ceil<time_point::duration>(d));
  }
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, std::chrono::duration<Rep, Period> d, Predicate done) {
    return wait_until(lock, clock::now() + std::chrono::ceil<time_point::duration>(d),
                      std::move(done));
  }

 protected:
  /// With a lock of its own a notification happens before the waits that begin after it.
  explicit condition_variable(bool has_lock) noexcept
      : object("condition variable"), has_lock_(has_lock) {}
  void enlist() noexcept;
  void delist() noexcept;
  bool sleep(time_point deadline) noexcept;

 private:
  const bool has_lock_;
  vector_clock released_{};
  waiter_list waiters_;
};

/// Drop-in for std::condition_variable_any, which has a lock inside.
class condition_variable_any : public condition_variable {
 public:
  condition_variable_any() noexcept : condition_variable(true) {}
  using condition_variable::wait;
  using condition_variable::wait_until;

  template <class Lock, class Predicate>
  bool wait(Lock& lock, stop_token stop, Predicate done) {
    return wait_until(lock, std::move(stop), time_point::max(), std::move(done));
  }
  template <class Lock, class Predicate>
  bool wait_until(Lock& lock, stop_token stop, time_point deadline, Predicate done) {
    if (stop.stop_requested()) return done();
    stop_callback wake_up(stop, [this] { notify_all(); });
    while (!done()) {
      enlist();  // before looking at the token: a stop after the look finds the waiter listed
      if (stop.stop_requested()) {
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

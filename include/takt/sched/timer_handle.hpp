/// \file
/// Handles of tasks that wait for their time.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/sched/detail/timer_driver.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {

/// Names one delayed task, to cancel it, to move it, to stop its time. Made by execute(when, what),
/// and a part of scheduled_future and periodic_future.
///
/// \code
/// takt::timer_handle guard = pool.execute(30s, [c = weak(connection)] { drop(c); });
/// ...
/// guard.reschedule(30s);       // it is alive: 30 s more
/// ...
/// guard.cancel();              // prevented, running or done
/// \endcode
///
/// It is a name and does not own the task: copies name the same one, and dropping them changes
/// nothing. One that is default-constructed, or whose task has ended, or whose scheduler is gone,
/// names nothing: cancel() gives `done`, the others false or never. So does one whose task was
/// given back by shutdown_now(), even if that is run later.
///
/// **Thread safety**: const members from any thread, also several at once.
class timer_handle {
 public:
  timer_handle() noexcept = default;
  /// For schedulers.
  timer_handle(detail::timer_ref place, detail::intrusive_ptr<detail::future_core> state) noexcept
      : place_(std::move(place)), state_(std::move(state)) {}
  timer_handle(const timer_handle& other) noexcept
      : place_(other.place_),
        state_(other.state_ ? other.state_.share() : detail::intrusive_ptr<detail::future_core>()) {
  }
  timer_handle(timer_handle&&) noexcept = default;
  timer_handle& operator=(const timer_handle& other) noexcept {
    return *this = timer_handle(other);
  }
  timer_handle& operator=(timer_handle&& other) noexcept {
    timer_handle moved(std::move(other));
    std::swap(place_, moved.place_);
    state_.swap(moved.state_);
    return *this;
  }
  ~timer_handle() = default;

  /// Ends the task, unless it has ended, and tells what that did. It leaves the queue at once; a
  /// periodic one does not run again.
  ///
  /// Without a future, `running` (of a wheel_scheduler: `done`, once the executor has it) only says
  /// that the body runs: it is not asked to stop, later calls say the same, and nothing tells when
  /// it has ended. If it refers to what is about to be destroyed, use schedule() and
  /// cancel_and_join().
  cancel_result cancel() const noexcept;

  /// Moves the next run to so long after now, or to that time; a periodic task goes on from there,
  /// and one that is paused is no longer. False if there is no next run; or if that is further
  /// ahead than a wheel_scheduler reaches, and then it keeps its time.
  bool reschedule(due_time due) const noexcept;

  /// Stops its time: what is left until the next run will be left when it is resumed. A run that is
  /// under way goes on. False if there is no next run, it is paused already, or the scheduler is
  /// shut down; a shutdown cancels what is paused.
  bool pause() const noexcept;
  /// Lets its time go on. False if it is not paused, or there is no next run.
  bool resume() const noexcept;

  /// When the next run is due. max() if there is none, it is paused, or a run is under way.
  [[nodiscard]] clock::time_point next_time() const noexcept;
  /// How long that is from now: negative if it is late, `never` if there is none.
  [[nodiscard]] std::chrono::nanoseconds time_left() const noexcept;

 protected:
  [[nodiscard]] const detail::timer_ref& place() const noexcept { return place_; }

 private:
  detail::timer_ref place_;
  detail::intrusive_ptr<detail::future_core> state_;  // null: it has no future
};

/// The result of a task that is run once, at its time; and the handle of that.
///
/// \code
/// takt::scheduled_future<int> answer = pool.schedule(5s, [] { return 42; });
/// answer.time_left();              // 5 s, and then less
/// answer.get();                    // waits for the time, and for the result
/// \endcode
///
/// It can be moved into a future<T>, which may be waited for, continued and cancelled just the
/// same.
///
/// **Thread safety** as for future and timer_handle. **Destruction** neither waits nor cancels.
template <class T>
class [[nodiscard]] scheduled_future : public future<T>, public timer_handle {
 public:
  scheduled_future() noexcept = default;
  /// For schedulers.
  scheduled_future(future<T> result, timer_handle timer) noexcept
      : future<T>(std::move(result)), timer_handle(std::move(timer)) {}

  /// As future::cancel(); also when the result was taken already.
  cancel_result cancel() const noexcept { return timer_handle::cancel(); }
};

/// A task that runs again and again, until it is cancelled or throws; what it throws is what get()
/// throws.
///
/// \code
/// takt::periodic_future poll = pool.schedule_at_fixed_rate(0ms, 10ms, [] { read_sensor(); });
/// ...
/// poll.set_period(20ms);
/// poll.pause();
/// poll.resume();
/// poll.cancel_and_join();      // what it refers to may go now
/// \endcode
///
/// **Thread safety** as for scheduled_future. **Destruction** neither waits nor cancels.
class [[nodiscard]] periodic_future : public scheduled_future<void> {
 public:
  periodic_future() noexcept = default;
  /// For schedulers. `periods` is part of the future's state.
  periodic_future(future<void> result, timer_handle timer, detail::period_state& periods) noexcept
      : scheduled_future<void>(std::move(result), std::move(timer)), periods_(&periods) {}

  /// Requests stop of the run that is in progress. If there is none, it does nothing: the series
  /// goes on, and later runs have tokens of their own. cancel() ends the series.
  void request_stop() const;

  /// How many runs have begun.
  [[nodiscard]] std::uint64_t run_count() const noexcept;
  /// How many were left out; see missed_runs.
  [[nodiscard]] std::uint64_t missed_count() const noexcept;

  /// Changes the time between two runs. A run that waits keeps its time, and reschedule() moves it;
  /// after one that is under way the new period applies.
  /// \throws std::invalid_argument if it is not above 0, or is beyond max_delay() of a
  /// wheel_scheduler.
  template <class Rep, class Period>
  void set_period(std::chrono::duration<Rep, Period> period) const {
    change_period(to_nanoseconds(period));
  }

 private:
  void change_period(std::chrono::nanoseconds period) const;

  detail::period_state* periods_ = nullptr;  // kept by the handle's state
};

}  // namespace takt::inline TAKT_ABI

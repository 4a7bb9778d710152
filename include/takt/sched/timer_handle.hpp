/// \file
/// Handles of delayed and periodic tasks.
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

/// Refers to a delayed or periodic task, and can cancel, reschedule or pause it. Returned by
/// execute(due, task); also a base class of scheduled_future and periodic_future.
///
/// \code
/// takt::timer_handle guard = pool.execute(30s, [c = weak(connection)] { drop(c); });
/// ...
/// guard.reschedule(30s);       // the connection is alive: 30 s more
/// ...
/// guard.cancel();              // prevented, running or done
/// \endcode
///
/// A handle does not own its task: copies refer to the same task, and destroying a handle has no
/// effect. A handle refers to no task if it is default-constructed, if its task has ended or was
/// returned by shutdown_now(), or if its scheduler was destroyed. Then cancel() returns `done`,
/// next_time() returns max(), time_left() returns `never`, and the other members return false.
///
/// **Thread safety.** Const members may be called concurrently.
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

  /// Cancels the task, which leaves the queue at once. A periodic task does not run again.
  /// \return `prevented`, `running` or `done`; see cancel_result.
  ///
  /// For a task without a future, `running` (of a wheel_scheduler, `done`) can mean that the body
  /// is running: it gets no stop request, later calls return the same, and no call reports when the
  /// body ends. If the body refers to an object that is about to be destroyed, use schedule() and
  /// cancel_and_join().
  cancel_result cancel() const noexcept;

  /// Moves the next run to `due`. Later runs of a periodic task follow from there. A paused task is
  /// resumed.
  /// \return false if there is no next run; or, with no effect, if `due` is beyond max_delay() of a
  /// wheel_scheduler.
  bool reschedule(due_time due) const noexcept;

  /// Pauses the task; resume() schedules its next run after the delay that is left now. A run that
  /// is under way continues. A shutdown cancels paused tasks. \return false if there is no next
  /// run, the task is already paused, or the scheduler is shut down.
  bool pause() const noexcept;
  /// Ends a pause. \return false if the task is not paused, or there is no next run.
  bool resume() const noexcept;

  /// Returns the time of the next run; max() if there is none, the task is paused, or a run is
  /// under way.
  [[nodiscard]] clock::time_point next_time() const noexcept;
  /// Returns the time until next_time(), negative if the task is late; `never` if next_time() is
  /// max().
  [[nodiscard]] std::chrono::nanoseconds time_left() const noexcept;

 protected:
  [[nodiscard]] const detail::timer_ref& place() const noexcept { return place_; }

 private:
  detail::timer_ref place_;
  detail::intrusive_ptr<detail::future_core> state_;  // null: it has no future
};

/// The result of a task that runs once, later, and the handle of its timer.
///
/// \code
/// takt::scheduled_future<int> answer = pool.schedule(5s, [] { return 42; });
/// answer.time_left();              // 5 s at first, then less
/// answer.get();                    // waits until the task has run
/// \endcode
///
/// A scheduled_future converts to a future<T> by move, which drops the handle. Destroying it
/// neither waits nor cancels.
///
/// **Thread safety.** As for future and timer_handle.
template <class T>
class [[nodiscard]] scheduled_future : public future<T>, public timer_handle {
 public:
  scheduled_future() noexcept = default;
  /// For schedulers.
  scheduled_future(future<T> result, timer_handle timer) noexcept
      : future<T>(std::move(result)), timer_handle(std::move(timer)) {}

  /// As future::cancel(). After get(), when the future is empty, returns `done` instead of
  /// throwing.
  cancel_result cancel() const noexcept { return timer_handle::cancel(); }
};

/// The future and the handle of a periodic task, which runs until it is cancelled or throws. get()
/// throws what the task threw.
///
/// \code
/// takt::periodic_future poll = pool.schedule_at_fixed_rate(0ms, 10ms, [] { read_sensor(); });
/// ...
/// poll.set_period(20ms);
/// poll.pause();
/// poll.resume();
/// poll.cancel_and_join();      // the task no longer uses what it refers to
/// \endcode
///
/// Destroying a periodic_future neither waits nor cancels.
///
/// **Thread safety.** As for scheduled_future.
class [[nodiscard]] periodic_future : public scheduled_future<void> {
 public:
  periodic_future() noexcept = default;
  /// For schedulers. `periods` is part of the future's state.
  periodic_future(future<void> result, timer_handle timer, detail::period_state& periods) noexcept
      : scheduled_future<void>(std::move(result), std::move(timer)), periods_(&periods) {}

  /// Requests stop of the run that is under way, if there is one. The series continues, and each
  /// later run gets a token of its own. Unlike future::request_stop(), this call does nothing
  /// between two runs. cancel() ends the series.
  /// \throws std::future_error (no_state) if the future is empty.
  void request_stop() const;

  /// Number of runs that have begun.
  [[nodiscard]] std::uint64_t run_count() const noexcept;
  /// Number of runs that were skipped; see missed_runs.
  [[nodiscard]] std::uint64_t missed_count() const noexcept;

  /// Changes the period. A run that is waiting keeps its time, which reschedule() can change, and
  /// the new period applies after it. If a run is under way, the new period determines the next
  /// one.
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

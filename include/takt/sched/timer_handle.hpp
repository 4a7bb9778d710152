/// \file
/// Handles of tasks that wait for their time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/fwd.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/sched/when.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_state.hpp>
#include <takt/task/future_task.hpp>
#include <takt/timer/timer_table.hpp>

namespace takt::inline TAKT_ABI {

/// When a periodic task runs. For schedulers; guarded by the lock of the entry that it belongs to.
struct period_state {
  std::chrono::nanoseconds period{};
  missed_runs missed{};
  bool after_end = false;  // counts from the end of a run; otherwise from when that was due
  std::uint64_t runs = 0;
  std::uint64_t runs_missed = 0;
  std::optional<clock::time_point> moved_to{};  // the next run, said while one is under way
};

class timer_place;

/// What else is said of a task that is added. For schedulers.
struct timer_request {
  any_executor* where = nullptr;  ///< Null if the scheduler runs it itself.
  std::chrono::nanoseconds slack{0};
  timer_place* place = nullptr;     ///< If given, told where it is before anybody can cancel it.
  period_state* periods = nullptr;  ///< Null: it runs once. Else part of the state of the task.
  bool run_at_close = false;
};

/// The inside of a scheduler: entries of delayed tasks, as handles see them. An entry stays as long
/// as it is held, though its task has ended; and so does what it is in. For schedulers.
///
/// **Thread safety**: all members, from any thread.
class timer_source {
 public:
  timer_source(const timer_source&) = delete;
  timer_source& operator=(const timer_source&) = delete;

  /// Adds a task, and moves it from `t`. \throws takt::rejected, std::invalid_argument,
  /// std::bad_alloc; the task has not been run then.
  virtual timer_place add(const when& due, task& t, const timer_request& more) = 0;

  virtual void hold(timer_id id) noexcept = 0;
  virtual void let_go(timer_id id) noexcept = 0;

  virtual cancel_result cancel(timer_id id) noexcept = 0;
  virtual bool reschedule(timer_id id, const when& due) noexcept = 0;
  virtual bool pause(timer_id id) noexcept = 0;
  virtual bool resume(timer_id id) noexcept = 0;
  [[nodiscard]] virtual clock::time_point next_time(timer_id id) noexcept = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds time_left(timer_id id) noexcept = 0;
  [[nodiscard]] virtual period_state look_at(timer_id id, const period_state& periods) noexcept = 0;
  virtual void change_period(timer_id id, period_state& periods,
                             std::chrono::nanoseconds period) = 0;
  /// \throws std::invalid_argument if it is not above 0, or beyond a limit.
  virtual void check_period(std::chrono::nanoseconds period) const;

 protected:
  timer_source() = default;
  ~timer_source() = default;
};

/// Where a delayed task is kept. For schedulers.
class timer_place {
 public:
  timer_place() noexcept = default;
  /// Takes over a hold.
  timer_place(timer_source& source, timer_id id) noexcept : source_(&source), id_(id) {}
  timer_place(const timer_place& other) noexcept : source_(other.source_), id_(other.id_) {
    if (source_ != nullptr) source_->hold(id());
  }
  timer_place(timer_place&& other) noexcept
      : source_(std::exchange(other.source_, nullptr)), id_(other.id()) {}
  timer_place& operator=(timer_place other) noexcept {
    std::swap(source_, other.source_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~timer_place() {
    if (source_ != nullptr) source_->let_go(id());
  }

  [[nodiscard]] timer_source* source() const noexcept { return source_; }
  // By its parts, as it was written: a processor waits for those of what it reads as one.
  [[nodiscard]] timer_id id() const noexcept { return {id_.generation, id_.index}; }

  /// Leaves the hold to the caller.
  void detach() noexcept { source_ = nullptr; }

  /// The task was cancelled: who keeps it lets go of it.
  void leave() const noexcept {
    if (source_ != nullptr) source_->cancel(id());
  }

 private:
  timer_source* source_ = nullptr;
  timer_id id_;
};

/// The future of a delayed task, with its closure, in one allocation. For schedulers.
template <class T, class F>
class delayed_state : public task_state<T, F> {
 public:
  using task_state<T, F>::task_state;
  timer_place place;  // written before anybody can cancel it

 private:
  void leave_queue() noexcept override { place.leave(); }
};

/// The same for a periodic task.
template <class F>
class periodic_state final : public delayed_state<void, F> {
 public:
  using delayed_state<void, F>::delayed_state;
  period_state periods;
};

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
  timer_handle(timer_place place, state_ref<future_core> state) noexcept
      : place_(std::move(place)), state_(std::move(state)) {}
  timer_handle(const timer_handle& other) noexcept
      : place_(other.place_),
        state_(other.state_ ? other.state_.share() : state_ref<future_core>()) {}
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
  bool reschedule(when due) const noexcept;

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
  [[nodiscard]] const timer_place& place() const noexcept { return place_; }

 private:
  timer_place place_;
  state_ref<future_core> state_;  // null: it has no future
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
  periodic_future(future<void> result, timer_handle timer, period_state& periods) noexcept
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

  period_state* periods_ = nullptr;  // kept by the handle's state
};

}  // namespace takt::inline TAKT_ABI

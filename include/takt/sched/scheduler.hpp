/// \file
/// What all schedulers do: run a task later, or again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/sched/detail/timer_awaiter.hpp>
#include <takt/sched/detail/timer_driver.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {
template <class T, class F>
class retry_state;
}  // namespace detail

/// What can be said of a task that is run once, later.
struct timer_options {
  task_name name{};
  /// How much later it may be, so that it shares a wake-up with others.
  std::chrono::nanoseconds slack{0};
  /// Whether wheel_scheduler::close() runs it before its time; others do not look at it.
  bool run_at_close = false;
};

/// What can be said of a periodic task.
struct periodic_options {
  task_name name{};
  /// As in timer_options, for each run.
  std::chrono::nanoseconds slack{0};
  /// If it is behind; empty: as the scheduler's options say.
  std::optional<missed_runs> missed{};
  /// As in timer_options: once more, then.
  bool run_at_close = false;
};

/// Runs tasks at a time, or again and again: what scheduled_pool and event_loop have in common, and
/// wheel_scheduler::on(where); what helpers like with_timeout() and retry() ask for.
///
/// \code
/// auto guard  = timers.execute(30s, [] { drop_connection(); });     // later, without a future
/// auto report = timers.schedule(5s, [] { return make_report(); });  // later
/// auto poll   = timers.schedule_at_fixed_rate(0ms, 10ms, [] { read_sensor(); });
/// auto sync   = timers.schedule_with_fixed_delay(1s, 1min, [](std::stop_token stop) { ... });
///
/// guard.reschedule(30s);
/// guard.cancel();                                                   // prevented, running or done
/// poll.cancel_and_join();
/// co_await timers.after(10ms);
/// \endcode
///
/// For wheel_scheduler::on(), wheel_scheduler's own paragraphs on when, time, cancelling and cost
/// come first.
///
/// **When** is a duration, from now on, or a `clock::time_point`. A negative one is 0; nothing is
/// early. `never`, and any duration beyond counting, is never. A time in the past is due at once;
/// at a fixed rate the grid begins there, so that runs in between are missed ones.
///
/// **Order.** Tasks begin in the order of their deadlines, and of equal ones in the order of their
/// submission, where a periodic one keeps its turn.
///
/// **Periodic tasks.** At a fixed rate: due at first, first + period, first + 2 periods and so on;
/// if it is behind, see missed_runs. With a fixed delay: due that long after the last run has
/// ended. Runs of one task do not overlap; each happens before the next. The series ends when it is
/// cancelled or when the body throws, which is what its future then throws; to end it from inside
/// without an error, throw takt::cancelled. Its future gets a value only if a task that
/// shutdown_now() gave back is run.
///
/// **Cancelling**, by the handle or the future, takes the task out at once.
///
/// **Thread safety**: all members, from any thread. **Shutdown**: as the class says that is one.
///
/// **Cost**: a lock, and O(log n) for n delayed tasks. execute(when, what) of a callable of up to
/// 32 bytes does not allocate by itself once there were as many before, schedule() once.
class scheduler {
 public:
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Has a task run at some time. Without a future: what it throws ends the program, unless
  /// the unhandled hook decides otherwise.
  /// \throws takt::rejected if the scheduler is shut down or has no thread; std::invalid_argument
  /// if the task is empty, or the slack negative; std::bad_alloc. If it throws, the task is not
  /// run. The same is true of all below.
  timer_handle execute(due_time due, task t, const timer_options& more = {});

  /// Has `f` run at some time. \return the future of its result, and a handle.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  auto schedule(due_time due, F&& f, const timer_options& more = {}) {
    using result = typename detail::task_result<std::decay_t<F>>::type;
    using state = detail::delayed_state<result, std::decay_t<F>>;
    detail::require_callable(f, "takt::scheduler: the callable is empty");
    detail::intrusive_ptr<state> made(new state(future_options(), std::forward<F>(f)));
    made->retain();
    future<result> filled{detail::intrusive_ptr<detail::future_state<result>>(made.get())};
    detail::timer_ref& place = made->place;
    timer_handle handle = add(due, std::move(made), more, place, nullptr);
    return scheduled_future<result>(std::move(filled), std::move(handle));
  }

  /// Has `f` run at first, first + period, first + 2 periods and so on; a run that is due while the
  /// last one is under way begins when that has ended.
  /// \throws std::invalid_argument also if the period is not above 0.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_at_fixed_rate(due_time first, std::chrono::duration<Rep, Period> period,
                                         F&& f, const periodic_options& more = {}) {
    return add_periodic(first, to_nanoseconds(period), false, std::forward<F>(f), more);
  }

  /// Has `f` run at `first`, and then again `delay` after each run has ended.
  /// \throws std::invalid_argument also if the delay is not above 0.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_with_fixed_delay(due_time first,
                                            std::chrono::duration<Rep, Period> delay, F&& f,
                                            const periodic_options& more = {}) {
    return add_periodic(first, to_nanoseconds(delay), true, std::forward<F>(f), more);
  }

  /// `co_await timers.after(10ms)`: the coroutine goes on where tasks run, that long from now.
  /// \throws takt::rejected from the co_await if the scheduler takes no more; takt::cancelled,
  /// wherever that happens, if stop is requested or the scheduler is stopped first.
  ///
  /// If the frame is destroyed while it is suspended, the timer is cancelled; who destroys it has
  /// to know, as with any coroutine, that it is not being resumed at that moment.
  template <class Rep, class Period>
  [[nodiscard]] detail::timer_awaiter after(std::chrono::duration<Rep, Period> delay,
                                            sync::stop_token stop = {}) {
    return {*this, delay, std::move(stop)};
  }
  /// The same at a time. One that has passed is now.
  [[nodiscard]] detail::timer_awaiter at(clock::time_point time,
                                         sync::stop_token stop = {}) noexcept {
    return {*this, time, std::move(stop)};
  }

  /// The time by its clock.
  [[nodiscard]] clock::time_point now() const noexcept { return time().now(); }
  /// What its futures are made with.
  [[nodiscard]] takt::future_options future_options() const noexcept { return futures_; }

 protected:
  /// For who derives from it. `source` lives as long as it, and longer for handles. Tasks run
  /// `where` it says, or where the source does.
  scheduler(detail::timer_driver& source, const takt::future_options& futures,
            const missed_runs& missed, std::optional<any_executor> where = {}) noexcept
      : source_(source), where_(where), futures_(futures), missed_(missed) {}
  ~scheduler() = default;

  /// \throws std::invalid_argument if it is negative.
  static void check_slack(std::chrono::nanoseconds slack);

 private:
  template <class T, class F>
  friend class detail::retry_state;
  friend class detail::timer_awaiter;

  template <class F>
  periodic_future add_periodic(due_time first, std::chrono::nanoseconds period, bool after_end,
                               F&& f, const periodic_options& more) {
    using state = detail::periodic_state<std::decay_t<F>>;
    detail::require_callable(f, "takt::scheduler: the callable is empty");
    source_.check_period(period);
    detail::intrusive_ptr<state> made(new state(future_options(), std::forward<F>(f)));
    made->retain();
    future<void> filled{detail::intrusive_ptr<detail::future_state<void>>(made.get())};
    detail::period_state& periods = made->periods;
    periods.period = period;
    periods.after_end = after_end;
    periods.missed = more.missed.value_or(missed_);
    detail::timer_ref& place = made->place;
    timer_handle handle =
        add(first, std::move(made),
            {.name = more.name, .slack = more.slack, .run_at_close = more.run_at_close}, place,
            &periods);
    return {std::move(filled), std::move(handle), periods};
  }

  template <class State>
  timer_handle add(const due_time& due, detail::intrusive_ptr<State> state,
                   const timer_options& more, detail::timer_ref& place,
                   detail::period_state* periods) {
    detail::intrusive_ptr<detail::future_core> kept(state.share().detach());
    task t(detail::intrusive_ptr<detail::future_core>(state.detach()),
           task_options{.name = more.name}, periods != nullptr);
    return {add(due, t, more, &place, periods), std::move(kept)};
  }

  [[nodiscard]] const clock& time() const noexcept { return *futures_.time; }
  detail::timer_ref add(const due_time& due, task& t, const timer_options& more,
                        detail::timer_ref* place, detail::period_state* periods);

  // Constant after construction.
  detail::timer_driver& source_;
  std::optional<any_executor> where_;
  const takt::future_options futures_;
  const missed_runs missed_;
};

}  // namespace takt::inline TAKT_ABI

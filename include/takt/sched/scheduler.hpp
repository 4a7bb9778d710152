/// \file
/// The common interface of schedulers: run a task later, or periodically.
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

/// Options of a task that runs once, later.
struct timer_options {
  task_name name{};
  /// Maximum delay of the task beyond its deadline. Tasks with slack can share a wake-up.
  std::chrono::nanoseconds slack{0};
  /// If true, wheel_scheduler::close(at_close::run_marked) runs the task before it is due. Other
  /// schedulers ignore this option.
  bool run_at_close = false;
};

/// Options of a periodic task.
struct periodic_options {
  task_name name{};
  /// Maximum delay of each run beyond its deadline.
  std::chrono::nanoseconds slack{0};
  /// Policy for a series that is behind. Empty means the default of the scheduler.
  std::optional<missed_runs> missed{};
  /// As in timer_options; the series then runs once more.
  bool run_at_close = false;
};

/// Runs tasks at a time, or periodically. It is the common base of scheduled_pool, event_loop and
/// wheel_scheduler::on(executor), and a parameter of with_timeout() and retry(). docs/scheduling.md
/// lists the differences of a wheel_scheduler.
///
/// \code
/// auto guard  = timers.execute(30s, [] { drop_connection(); });     // later, without a future
/// auto report = timers.schedule(5s, [] { return make_report(); });  // later
/// auto poll   = timers.schedule_at_fixed_rate(0ms, 10ms, [] { read_sensor(); });
/// guard.reschedule(30s);
/// poll.cancel_and_join();
/// co_await timers.after(10ms);
/// \endcode
///
/// **Time.** No task runs early. A time that has passed, or a negative delay, means now; `never`,
/// and a delay beyond the range of nanoseconds, means never. Tasks begin in the order of their
/// deadlines; tasks with equal deadlines begin in the order of their submission.
///
/// **Errors.** A series ends when its body throws; its future gets the exception. A body ends its
/// series without an error by throwing takt::cancelled. **Cancellation** removes the task at once.
///
/// **Thread safety.** All members may be called concurrently. **Cost.** A lock, and O(log n) for n
/// delayed tasks; in a wheel_scheduler as described there.
class scheduler {
 public:
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Runs a task at some time, without a future. An exception of the task goes to the unhandled
  /// hook, which by default ends the program; in an event_loop it leaves run(). A callable of up to
  /// 32 bytes needs no allocation if the scheduler has held as many tasks before.
  /// \throws takt::rejected if the scheduler is shut down or has no thread; std::invalid_argument
  /// if the task is empty, or the slack negative; std::bad_alloc. If it throws, the task does not
  /// run. All members below that add tasks throw the same.
  timer_handle execute(due_time due, task t, const timer_options& options = {});

  /// Runs `f` at some time. \return the future of its result, which is also a timer_handle.
  /// Allocates once, if the scheduler has held as many tasks before. \throws as execute().
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  auto schedule(due_time due, F&& f, const timer_options& options = {}) {
    using result = typename detail::task_result<std::decay_t<F>>::type;
    using state = detail::delayed_state<result, std::decay_t<F>>;
    detail::require_callable(f, "takt::scheduler: the callable is empty");
    detail::intrusive_ptr<state> made(new state(future_options(), std::forward<F>(f)));
    made->retain();
    future<result> filled{detail::intrusive_ptr<detail::future_state<result>>(made.get())};
    detail::timer_ref& place = made->place;
    timer_handle handle = add(due, std::move(made), options, place, nullptr);
    return scheduled_future<result>(std::move(filled), std::move(handle));
  }

  /// Runs `f` at first, first + period, first + 2 periods and so on. Runs do not overlap: a run
  /// that is due while the previous run is still under way begins when that run ends. For late runs
  /// see missed_runs. If `first` has passed, the grid still begins at `first`.
  /// \throws as execute(); std::invalid_argument also if the period is not above 0.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_at_fixed_rate(due_time first, std::chrono::duration<Rep, Period> period,
                                         F&& f, const periodic_options& options = {}) {
    return add_periodic(first, to_nanoseconds(period), false, std::forward<F>(f), options);
  }

  /// Runs `f` at `first`, and then again `delay` after each run has ended.
  /// \throws as execute(); std::invalid_argument also if the delay is not above 0.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_with_fixed_delay(due_time first,
                                            std::chrono::duration<Rep, Period> delay, F&& f,
                                            const periodic_options& options = {}) {
    return add_periodic(first, to_nanoseconds(delay), true, std::forward<F>(f), options);
  }

  /// `co_await timers.after(10ms)` resumes the coroutine after that delay, on a thread that runs
  /// tasks of the scheduler. The awaiter refers to the scheduler.
  /// \throws takt::rejected from the co_await if the scheduler is shut down; takt::cancelled if
  /// stop is requested, or the scheduler cancels its tasks, before the coroutine resumes. The
  /// coroutine may then resume on the thread that requests stop or ends the scheduler.
  ///
  /// Destroying a suspended frame cancels the timer. As with any coroutine, the frame must not be
  /// resumed at that moment.
  template <class Rep, class Period>
  [[nodiscard]] detail::timer_awaiter after(std::chrono::duration<Rep, Period> delay,
                                            sync::stop_token stop = {}) {
    return {*this, delay, std::move(stop)};
  }
  /// As after(), at a point in time. A time that has passed means now.
  [[nodiscard]] detail::timer_awaiter at(clock::time_point time,
                                         sync::stop_token stop = {}) noexcept {
    return {*this, time, std::move(stop)};
  }

  /// Returns the current time of the scheduler's clock.
  [[nodiscard]] clock::time_point now() const noexcept { return time().now(); }
  /// Returns the options of the futures that the scheduler makes.
  [[nodiscard]] takt::future_options future_options() const noexcept { return futures_; }

 protected:
  /// For derived classes. `source` must live as long as the scheduler and the handles. Tasks run on
  /// `executor`, or, if that is empty, where `source` runs them.
  scheduler(detail::timer_driver& source, const takt::future_options& futures,
            const missed_runs& missed, std::optional<any_executor> executor = {}) noexcept
      : source_(source), executor_(executor), futures_(futures), missed_(missed) {}
  ~scheduler() = default;

  /// \throws std::invalid_argument if the slack is negative.
  static void check_slack(std::chrono::nanoseconds slack);

 private:
  template <class T, class F>
  friend class detail::retry_state;
  friend class detail::timer_awaiter;

  template <class F>
  periodic_future add_periodic(due_time first, std::chrono::nanoseconds period, bool after_end,
                               F&& f, const periodic_options& options) {
    using state = detail::periodic_state<std::decay_t<F>>;
    detail::require_callable(f, "takt::scheduler: the callable is empty");
    source_.check_period(period);
    detail::intrusive_ptr<state> made(new state(future_options(), std::forward<F>(f)));
    made->retain();
    future<void> filled{detail::intrusive_ptr<detail::future_state<void>>(made.get())};
    detail::period_state& periods = made->periods;
    periods.period = period;
    periods.after_end = after_end;
    periods.missed = options.missed.value_or(missed_);
    detail::timer_ref& place = made->place;
    timer_handle handle =
        add(first, std::move(made),
            {.name = options.name, .slack = options.slack, .run_at_close = options.run_at_close},
            place, &periods);
    return {std::move(filled), std::move(handle), periods};
  }

  template <class State>
  timer_handle add(const due_time& due, detail::intrusive_ptr<State> state,
                   const timer_options& options, detail::timer_ref& place,
                   detail::period_state* periods) {
    detail::intrusive_ptr<detail::future_core> kept(state.share().detach());
    task t(detail::intrusive_ptr<detail::future_core>(state.detach()),
           task_options{.name = options.name}, periods != nullptr);
    return {add(due, t, options, &place, periods), std::move(kept)};
  }

  [[nodiscard]] const clock& time() const noexcept { return *futures_.time; }
  detail::timer_ref add(const due_time& due, task& t, const timer_options& options,
                        detail::timer_ref* place, detail::period_state* periods);

  // Constant after construction.
  detail::timer_driver& source_;
  std::optional<any_executor> executor_;
  const takt::future_options futures_;
  const missed_runs missed_;
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// A timing wheel for very many time-outs; the caller names an executor for each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/thread_options.hpp>
#include <takt/observe/histogram.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {
class wheel_core;
}  // namespace detail

/// Which thread reads the clock when a delay begins.
enum class timer_stamp : std::uint8_t {
  caller,  ///< The thread that schedules the task. The task is at most one tick late.
  /// The timer thread, at its next tick. Scheduling does not read the clock; the task may be two
  /// ticks late. Applies to delays only, not to points in time.
  timer,
};

/// Treatment of waiting tasks by wheel_scheduler::close(at_close), which waits for the timer thread
/// only. close(close_policy) waits for termination.
enum class at_close : std::uint8_t {
  run_marked,  ///< Runs tasks with run_at_close, and cancels the others.
  run_all,     ///< Runs all tasks, and each series once more.
  give_back,   ///< Returns the tasks to the caller.
  cancel,      ///< Cancels all tasks.
};

/// Options of wheel_scheduler.
struct wheel_scheduler_options {
  /// Period of the grid on which tasks are handed over, at least 1 ms.
  std::chrono::nanoseconds tick = std::chrono::milliseconds(10);
  /// Number of slots of the wheel: a power of two, at most 2^24. A timer that is due more than one
  /// revolution ahead is moved within the wheel once before it is due, and once more for each
  /// further factor of 16.
  std::size_t ticks_per_wheel = 512;
  timer_stamp stamp = timer_stamp::caller;  ///< The thread that reads the clock for delays.
  /// If true, tasks are handed over at their deadlines, not at the next tick.
  bool exact = false;
  /// Time before a deadline at which the timer thread stops sleeping and spins, so that the
  /// hand-over is precise. About 100 us is enough, and costs that much CPU time for each wake-up.
  /// Requires `exact`.
  std::chrono::nanoseconds spin{0};
  missed_runs missed{};  ///< Default for periodic tasks that are behind.

  std::string name = "takt-wheel";  ///< The timer thread is called name-0.
  thread_options thread{};          ///< Options of the timer thread; may_start is not called.

  /// Clock of all deadlines. Must outlive the scheduler, its handles, and series runs that are
  /// still under way when it ends.
  const clock* time = &steady;
  /// Hook for unhandled errors. Must outlive the scheduler and its futures.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
  /// Receives every event, unless null. Must outlive the scheduler, and series runs that are still
  /// under way when it ends. Must not destroy the scheduler.
  task_observer* observer = nullptr;
};

/// A wheel_scheduler together with an executor, returned by wheel_scheduler::on(): a scheduler for
/// coroutines, and for functions such as with_timeout(). It refers to both and must not outlive
/// them.
///
/// \code
/// auto timers = timeouts.on(other_pool);
/// auto page = takt::with_timeout(5s, timers, fetch_on(pool));
/// \endcode
///
/// **Thread safety.** As in scheduler.
class wheel_view : public scheduler {
 private:
  friend class wheel_scheduler;
  using scheduler::scheduler;
};

/// Schedules tasks on executors that the caller names. It is made for timers that rarely fire, such
/// as time-outs: the cost of scheduling and cancelling hardly depends on their number, and neither
/// takes a lock, except, rarely, to make space. The wheel is Varghese and Lauck's hashed timing
/// wheel, without periodic ticks. See docs/scheduling.md#wheel_scheduler.
///
/// \code
/// takt::wheel_scheduler timeouts{{.tick = 1ms}};
/// auto guard = timeouts.execute(30s, pool, [c = weak(connection)] { drop(c); });
/// auto beat  = timeouts.schedule_at_fixed_rate(0s, 1s, pool, [&] { connection.beat(); });
/// guard.reschedule(30s);                         // the connection is alive: 30 s more
/// guard.cancel();                                // prevented or done
/// co_await timeouts.on(pool).after(10ms);        // resumes on the pool
/// \endcode
///
/// **Order.** Tasks are handed over at the first tick at or after their deadlines; within a tick,
/// in the order of their submission. The caller itself hands over a task that is due at once.
///
/// **Cancellation.** Without a future, `done` may mean that the executor has the task.
///
/// **Shutdown.** shutdown() cancels series; the destructor cancels all waiting tasks. Neither waits
/// for tasks that executors have. End the scheduler before its executors. A task that runs once on
/// another executor may destroy the scheduler. In a run of a series, and in a task that runs within
/// the scheduler, destroying it terminates the program.
///
/// **Thread safety.** All members except the destructor may be called concurrently.
class wheel_scheduler : public lifecycle_interface<wheel_scheduler> {
 public:
  using options_type = wheel_scheduler_options;

  /// Starts the timer thread. \throws std::invalid_argument if tick is below 1 ms, ticks_per_wheel
  /// is not a power of two up to 2^24, spin is negative or given without exact, or time or
  /// unhandled is null; std::system_error if the system has no thread.
  explicit wheel_scheduler(const options_type& options = {});
  /// Cancels all waiting tasks, requests stop of runs of series, and waits for the timer thread.
  /// Does nothing in a child process after fork().
  ~wheel_scheduler();
  wheel_scheduler(const wheel_scheduler&) = delete;
  wheel_scheduler& operator=(const wheel_scheduler&) = delete;

  /// Hands a task to an executor at some time, without a future. The executor must live until it
  /// has received the task, or the task has ended.
  /// \throws takt::rejected if the scheduler is shut down, or the executor rejects a task that is
  /// due at once; std::invalid_argument if the task is empty, the slack negative, or the time
  /// beyond max_delay() (`never` is); std::bad_alloc; std::length_error beyond about 2^32 timers.
  /// In these cases the task does not run. An executor that runs tasks within its execute() may run
  /// a task that is due at once within this call, which then also throws the exception of the task.
  /// All members below that add tasks throw the same.
  timer_handle execute(due_time due, any_executor executor, task t,
                       const timer_options& options = {});

  /// As in scheduler, on an executor.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  auto schedule(due_time due, any_executor executor, F&& f, const timer_options& options = {}) {
    return on(executor).schedule(due, std::forward<F>(f), options);
  }
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_at_fixed_rate(due_time first, std::chrono::duration<Rep, Period> period,
                                         any_executor executor, F&& f,
                                         const periodic_options& options = {}) {
    return on(executor).schedule_at_fixed_rate(first, period, std::forward<F>(f), options);
  }
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_with_fixed_delay(due_time first,
                                            std::chrono::duration<Rep, Period> delay,
                                            any_executor executor, F&& f,
                                            const periodic_options& options = {}) {
    return on(executor).schedule_with_fixed_delay(first, delay, std::forward<F>(f), options);
  }

  /// Returns a scheduler that runs tasks on `executor`: `co_await timeouts.on(pool).after(10ms)`.
  /// Awaiters refer to the returned object: use both in one expression, or keep the object.
  [[nodiscard]] wheel_view on(any_executor executor) noexcept;

  /// Rejects later tasks. Tasks that run once are handed over when they are due; series and paused
  /// tasks are cancelled.
  void shutdown() noexcept;
  /// Rejects later tasks, requests stop of series runs, and returns all waiting tasks, in no order.
  /// Does not wait for the timer thread.
  [[nodiscard]] task_list shutdown_now() noexcept;
  /// Like shutdown_now(), but cancels the waiting tasks.
  void shutdown_and_cancel() noexcept;

  /// Ends the timer thread and waits for it. Then it runs, returns or cancels the waiting tasks as
  /// `policy` says, the earliest first; tasks run on the calling thread instead of their executors.
  /// Exceptions of tasks without a future go to the unhandled hook, and the next task runs. Runs of
  /// series that executors have may still be under way afterwards. Unlike close(close_policy), this
  /// function does not wait for the last deadline.
  /// \return the waiting tasks, for at_close::give_back; otherwise an empty list. A second call
  /// returns an empty list.
  /// \throws std::system_error (timed_out) if the timer thread does not end in time, because it
  /// runs a task inline: no task is lost, and close() can be called again; std::system_error
  /// (resource_deadlock_would_occur) if called on the timer thread.
  task_list close(at_close policy = at_close::run_marked) { return close(close_timeout, policy); }
  template <class Rep, class Period>
  task_list close(std::chrono::duration<Rep, Period> timeout, at_close policy) {
    return close_within(to_nanoseconds(timeout), policy);
  }
  /// The default time-out of close().
  static constexpr std::chrono::nanoseconds close_timeout = std::chrono::seconds(5);
  using lifecycle_interface<wheel_scheduler>::close;

  /// Returns the number of ticks per second, which limits the hand-overs per second unless `exact`.
  [[nodiscard]] double max_frequency() const noexcept;
  /// Returns the maximum delay of a task, and maximum period: 2^31 - 1 ticks.
  [[nodiscard]] std::chrono::nanoseconds max_delay() const noexcept;

  /// Returns the ledger: the numbers of tasks by outcome. Exact while no call is in progress.
  /// Visits all timers.
  [[nodiscard]] task_totals totals() const;
  /// Returns the distribution of the time from the exact deadline to the hand-over.
  [[nodiscard]] histogram_snapshot lateness() const noexcept;

  /// Returns the current time of the scheduler's clock.
  [[nodiscard]] clock::time_point now() const noexcept;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  task_list close_within(std::chrono::nanoseconds timeout, at_close policy);

  detail::wheel_core& core_;  // stays for handles that outlive *this
};

}  // namespace takt::inline TAKT_ABI

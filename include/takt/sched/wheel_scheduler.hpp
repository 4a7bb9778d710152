/// \file
/// A wheel of timers for very many time-outs, each run by the executor that it names.
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

/// Who looks at the clock when a delay begins.
enum class timer_stamp : std::uint8_t {
  caller,  ///< The thread that schedules. A task is at most one tick late.
  /// The timer thread, when it takes the task in, at its next tick: scheduling does not look at the
  /// clock, and a task may be two ticks late. For durations; times are what they are.
  timer,
};

/// What wheel_scheduler::close() does with what waits. Unlike a close_policy, it waits for nothing
/// but the timer thread.
enum class at_close : std::uint8_t {
  run_marked,  ///< Runs those with run_at_close, and cancels the rest.
  run_all,     ///< Runs all, series once.
  give_back,   ///< Returns them.
  cancel,      ///< Cancels them.
};

/// How a wheel_scheduler is made.
struct wheel_scheduler_options {
  /// Tasks are handed over on a grid of this width, at least 1 ms.
  std::chrono::nanoseconds tick = std::chrono::milliseconds(10);
  /// How many slots the wheel has: a power of two, at most 2^24. A timer that is further away than
  /// all of them is moved once more on its way, and again for each factor of 16.
  std::size_t ticks_per_wheel = 512;
  timer_stamp stamp = timer_stamp::caller;
  /// Hands over at the deadline itself, not at the next tick.
  bool exact = false;
  /// How long before a deadline the timer thread stops sleeping and spins, to be there in time:
  /// about 100 us is enough, and costs as much CPU time for each wake-up. Only if exact.
  std::chrono::nanoseconds spin{0};
  missed_runs missed{};  ///< What periodic tasks do when they are behind.

  std::string name = "takt-wheel";  ///< Of the timer thread; with its number, 0.
  /// For the timer thread; may_start is not asked.
  thread_options thread{};

  /// Of all deadlines. Outlives the scheduler, its handles, and what is then still under way.
  const clock* time = &steady;
  const unhandled_hook* unhandled =
      &terminate_on_unhandled;  ///< Outlives the scheduler and its futures.
  /// Told of everything, if given. Outlives the scheduler, and runs of series that are then still
  /// under way. Does not destroy the scheduler.
  task_observer* observer = nullptr;
};

/// A wheel_scheduler together with an executor: a scheduler, for helpers that ask for one, and for
/// coroutines. Refers to both. Made by wheel_scheduler::on().
///
/// \code
/// auto timers = timeouts.on(other_pool);           // both outlive it
/// auto page = takt::with_timeout(5s, timers, fetch_on(pool));
/// \endcode
///
/// **Thread safety**: as in scheduler.
class wheel_view : public scheduler {
 private:
  friend class wheel_scheduler;
  using scheduler::scheduler;
};

/// Runs tasks at a time, or again and again, on the executors that they name. For many timers of
/// which few come to their time, as time-outs do: scheduling and cancelling take no lock, except to
/// make room, and a time that hardly depends on how many there are. It is what Akka calls
/// LightArrayRevolverScheduler, without the ticking: it sleeps until a deadline.
///
/// \code
/// takt::thread_pool pool{{.core_threads = 4}};
/// takt::wheel_scheduler timeouts{{.tick = 1ms}};
///
/// auto guard = timeouts.execute(30s, pool, [c = weak(connection)] { drop(c); });  // no future
/// auto probe = timeouts.schedule(5s, pool, [&] { return connection.ping(); });
/// auto beat  = timeouts.schedule_at_fixed_rate(0s, 1s, pool, [&] { connection.beat(); });
///
/// guard.reschedule(30s);                                 // it is alive: 30 s more
/// guard.cancel();                                        // prevented or done
/// beat.pause();
///
/// co_await timeouts.on(pool).after(10ms);                // goes on on the pool
/// auto page = takt::with_timeout(5s, timeouts.on(other_pool), fetch_on(pool));
///
/// timeouts.close();                                      // runs what is marked, cancels the rest
/// \endcode
///
/// **When**: as for scheduler, with two differences. What is due at once, a delay of 0 or less or a
/// time that has passed, is handed over by the caller, before the call returns: hold no lock that
/// it takes. More than 2^31 - 1 ticks ahead, and `never`, is an error; reschedule() to such a time
/// is false, and changes nothing.
///
/// **Time.** Deadlines are exact; tasks are handed over on the grid of ticks, at the first point
/// that is not before the deadline: so nothing is early, what comes within one tick shares a
/// wake-up, and within one tick tasks go in the order of their submission (runs of series, and what
/// was moved to an earlier time, as if submitted then; what was moved to a later time, as if
/// submitted at its former one). An idle wheel sleeps: there is no ticking; it
/// wakes up once for the former time of what was cancelled or moved. A timer thread that comes late
/// hands over all that is due, in order. With `exact` there is no grid: tasks go at their
/// deadlines, by these.
///
/// **Where.** The executor has to live until it has the task, or that has ended. The timer thread
/// calls its execute(); or its try_execute(), if it has one, with several that are due. One that
/// runs the task there, as inline_executor does, or makes its caller wait, holds up all others. If
/// the executor refuses a task, it ends as rejected, and so does a series; without a future the
/// hook hears of it (`unobserved`). A series whose run is dropped by its executor ends in the same
/// way. Other errors of an executor, and those of tasks without a future that it runs inline, go to
/// the hook (`uncaught`), which ends the program unless it is another one than
/// `terminate_on_unhandled`; of what is due at once, they leave the call.
///
/// **Ledger.** A task that runs once has come to its end here when its executor has it: it counts
/// as finished, and cancelling it is `done`. If it has a future, that tells more, and can still be
/// cancelled.
///
/// **Cancelling** ends the task in one step and destroys it at once. `done` may mean that its
/// executor has it, and that it runs: so `done` does not make it safe to destroy what it refers to;
/// let it hold a weak_ptr, or use schedule() and cancel_and_join(). Handles do not keep the
/// scheduler's thread, but its memory, which is that of the most timers there were.
///
/// **Shutdown.** shutdown(): takes no more; what runs once is handed over at its time; series, and
/// what is paused, are cancelled. close(at_close) stops the timer thread and sees to all that
/// waits; shutdown_now() gives that back, in no order, without waiting for the thread;
/// shutdown_and_cancel() cancels it. Runs of series that are under way are asked to stop, and are
/// the last. The destructor cancels, waits for the timer thread, and not for what is with
/// executors. End it before the executors that it names. Later tasks are rejected, those that are
/// due at once as well. In a child process after fork() the destructor does nothing.
///
/// A task that runs within the scheduler must not destroy it: std::terminate() with a message. That
/// is a run of a series, what close(at_close) runs, and what an executor runs inline. A task that
/// runs once on another executor may.
///
/// **Thread safety**: all members from any thread, but for the destructor, which a thread that
/// awaits termination may call while others are within the calls that end the scheduler. A run of a
/// series, or a task that close() runs, gets an error if it waits for the end of its own scheduler;
/// it may call close(at_close), which does not wait for series, unless it is on the timer thread.
/// Moving a callable must not use its own handle.
///
/// **Cost**: execute() of a callable of up to 32 bytes does not allocate once there were as many
/// before, schedule() once. 80 to 100 bytes per pending timer; 40 more if it has a name or is a
/// series, or there is an observer.
class wheel_scheduler : public lifecycle_interface<wheel_scheduler> {
 public:
  using options = wheel_scheduler_options;

  /// Starts the timer thread. \throws std::invalid_argument if tick is below 1 ms, ticks_per_wheel
  /// not a power of two up to 2^24, spin negative or given without exact, or time or unhandled
  /// null; std::system_error if there is no thread.
  explicit wheel_scheduler(const options& how = {});
  ~wheel_scheduler();
  wheel_scheduler(const wheel_scheduler&) = delete;
  wheel_scheduler& operator=(const wheel_scheduler&) = delete;

  /// Has a task handed to an executor at some time. Without a future.
  /// \throws takt::rejected if the scheduler is shut down, or the executor does not take what is
  /// due at once; std::invalid_argument if the task is empty, the slack negative, or the time too
  /// far ahead; std::bad_alloc, std::length_error beyond some 2^32 timers; and the task is not run
  /// then. What it throws itself, if it is due at once and its executor runs it within the call.
  /// The same is true of all below.
  timer_handle execute(due_time due, any_executor where, task t, const timer_options& more = {});

  /// As in scheduler, on an executor.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  auto schedule(due_time due, any_executor where, F&& f, const timer_options& more = {}) {
    return on(where).schedule(due, std::forward<F>(f), more);
  }
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_at_fixed_rate(due_time first, std::chrono::duration<Rep, Period> period,
                                         any_executor where, F&& f,
                                         const periodic_options& more = {}) {
    return on(where).schedule_at_fixed_rate(first, period, std::forward<F>(f), more);
  }
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_with_fixed_delay(due_time first,
                                            std::chrono::duration<Rep, Period> delay,
                                            any_executor where, F&& f,
                                            const periodic_options& more = {}) {
    return on(where).schedule_with_fixed_delay(first, delay, std::forward<F>(f), more);
  }

  /// All of scheduler, on that executor: `co_await timeouts.on(pool).after(10ms)`. What it gives is
  /// referred to by its awaiters: use both in one expression, or keep it.
  [[nodiscard]] wheel_view on(any_executor where) noexcept;

  /// Takes no more; see above.
  void shutdown() noexcept;
  [[nodiscard]] task_list shutdown_now() noexcept;
  void shutdown_and_cancel() noexcept;

  /// Stops the timer thread, waits for it, and then sees to what waits, on the calling thread and
  /// without their executors, the earliest first. What a task throws that has no future goes to the
  /// hook, and the rest goes on. \return what is given back, if that was asked for; a second call
  /// finds nothing. Runs of series that executors have may still be under way.
  /// \throws std::system_error (timed_out) if a task that the timer thread runs inline does not end
  /// in that time: nothing is lost, call it again; (resource_deadlock_would_occur) if called on the
  /// timer thread.
  task_list close(at_close policy = at_close::run_marked) { return close(close_timeout, policy); }
  template <class Rep, class Period>
  task_list close(std::chrono::duration<Rep, Period> timeout, at_close policy) {
    return close_within(to_nanoseconds(timeout), policy);
  }
  /// How long close() waits, unless told otherwise.
  static constexpr std::chrono::nanoseconds close_timeout = std::chrono::seconds(5);
  using lifecycle_interface<wheel_scheduler>::close;

  /// How often it can hand over, at most: the ticks in a second, unless exact.
  [[nodiscard]] double max_frequency() const noexcept;
  /// The furthest that a task or a period may be ahead: 2^31 - 1 ticks.
  [[nodiscard]] std::chrono::nanoseconds max_delay() const noexcept;

  /// The ledger. Exact when nothing happens. Looks at all entries.
  [[nodiscard]] task_totals totals() const;
  /// How late tasks were handed over, after their exact deadlines.
  [[nodiscard]] histogram_snapshot lateness() const noexcept;

  /// The time by its clock.
  [[nodiscard]] clock::time_point now() const noexcept;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  task_list close_within(std::chrono::nanoseconds timeout, at_close policy);

  detail::wheel_core& core_;  // stays as long as entries are held
};

}  // namespace takt::inline TAKT_ABI

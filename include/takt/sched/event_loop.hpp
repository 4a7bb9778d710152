/// \file
/// A single-threaded executor and scheduler: posted tasks, timers, microtasks and frames.
#pragma once

#include <chrono>
#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/executor.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {
class delay_queue;
class loop_core;
class loop_intervals;
}  // namespace detail

/// Options of event_loop.
struct event_loop_options {
  /// Period of the frame grid. `never` means that frames run only in run_frame().
  std::chrono::nanoseconds frame = std::chrono::nanoseconds(16'666'667);
  missed_runs missed{};  ///< Default for periodic tasks that are behind.

  /// Clock of all deadlines. Must outlive the loop, its futures and its handles.
  const clock* time = &steady;
  /// Hook for unobserved errors of the loop's futures. Must outlive them. An exception of a task
  /// without a future leaves run() instead.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
  /// Receives every event, unless null. Must outlive the loop.
  task_observer* observer = nullptr;
};

/// An executor that an event_loop has and owns: the queue of its microtasks or of its frames.
/// event_loop describes when the tasks run, and what a shutdown does to them.
///
/// \code
/// loop.frames().execute([] { draw(); });
/// co_await takt::resume_on(loop.frames());
/// \endcode
///
/// **Thread safety.** All members may be called from any thread.
class loop_queue : public executor_interface<loop_queue> {
 public:
  static constexpr bool is_serial = true;
  static constexpr bool is_fifo = true;
  static constexpr bool never_runs_inline = true;

  loop_queue(const loop_queue&) = delete;
  loop_queue& operator=(const loop_queue&) = delete;

  /// Queues a task. \throws the same as event_loop::execute().
  void execute(task t);
  [[nodiscard]] takt::future_options future_options() const noexcept { return futures_; }

 private:
  friend class event_loop;
  loop_queue(detail::loop_core& core, bool frames, const takt::future_options& futures) noexcept
      : core_(core), frames_(frames), futures_(futures) {}
  ~loop_queue() = default;

  detail::loop_core& core_;
  const bool frames_;
  const takt::future_options futures_;
};

/// Runs posted tasks, timers, microtasks and frames sequentially, on the thread that calls run().
/// For single-threaded programs, such as GUIs and games; another loop can embed it. An event_loop
/// is a scheduler and an executor. See docs/scheduling.md#event_loop.
///
/// \code
/// takt::event_loop loop;
/// loop.execute([] { greet(); });                      // from any thread
/// auto tick = loop.schedule_at_fixed_rate(0ms, 1s, [] { count(); });
/// loop.microtasks().execute([] { tidy_up(); });       // before all other tasks
/// loop.frames().execute([] { draw(); });              // once, in the next frame
/// loop.execute(10s, [&] { loop.stop(); });
/// loop.run();                                         // until stop()
/// \endcode
///
/// **Order.** Microtasks run first, then all other tasks by deadline; the deadline of a posted task
/// is the time of its post. **Errors** of tasks without a future leave run(); the next call of
/// run() continues with the next task.
///
/// **Shutdown.** shutdown() rejects later tasks and cancels periodic tasks, paused tasks and tasks
/// of the next frame; run() runs the others and then returns. shutdown_now() returns the tasks that
/// have not begun, and requests stop of the running one. The destructor cancels tasks. stop() only
/// makes run() return.
///
/// **Thread safety.** All members except the destructor may be called concurrently, but only one
/// thread at a time may run the loop. A task that destroys its loop terminates the program.
class event_loop : public scheduler, public executor_interface<event_loop> {
 public:
  using options_type = event_loop_options;
  static constexpr bool is_serial = true;
  static constexpr bool never_runs_inline = true;

  /// \throws std::invalid_argument if frame is not above 0, or time or unhandled is null.
  explicit event_loop(const options_type& options = {});
  /// Cancels all tasks. Requires that no thread runs the loop. Does nothing in a child process
  /// after fork().
  ~event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// Posts a task. \throws takt::rejected after shutdown; std::invalid_argument if the task is
  /// empty; std::bad_alloc. If it throws, the task does not run.
  void execute(task t);
  using scheduler::execute;

  /// Queue of tasks that run before all others. They can starve all others.
  [[nodiscard]] loop_queue& microtasks() noexcept { return microtasks_; }
  /// Queue of tasks that run in the next frame.
  [[nodiscard]] loop_queue& frames() noexcept { return frames_; }

  /// Runs tasks and waits for more, until stop(), or until the loop is shut down and no task is
  /// left.
  /// \return the number of tasks that it ran.
  /// \throws the exception of a task without a future; std::logic_error if a thread is already
  /// running the loop. All functions below that run tasks throw the same.
  std::size_t run();
  /// Like run(), but returns after `time` at the latest. A task that runs is not interrupted.
  template <class Rep, class Period>
  std::size_t run_for(std::chrono::duration<Rep, Period> time) {
    return run_until(deadline_after(now(), to_nanoseconds(time)));
  }
  /// Like run(), but returns at `deadline` at the latest.
  std::size_t run_until(clock::time_point deadline);
  /// Waits for one task and runs it. \return false if it ran no task, because the loop was stopped,
  /// or was shut down with no task left.
  bool run_one();
  /// Runs tasks that are due until there are none, without waiting. \return the number of tasks.
  std::size_t poll();
  /// Runs the tasks queued for the next frame, and microtasks. \return the number of tasks.
  std::size_t run_frame();
  /// Returns true if tasks are queued for the next frame. If not, a render loop may skip it.
  [[nodiscard]] bool wants_frame() const noexcept;

  /// Makes run() and the other functions that run tasks return after the current task. Later calls
  /// return at once. All tasks stay queued.
  void stop() noexcept;
  [[nodiscard]] bool is_stopped() const noexcept;
  /// Ends the effect of stop(): the loop can run again.
  void restart() noexcept;

  /// Returns true if a thread is inside run() or another function that runs tasks.
  [[nodiscard]] bool is_running() const noexcept;
  /// Returns true if the calling thread runs the loop or was the last to run it, or if no thread
  /// has run it yet. For checks before data of the loop's thread is accessed.
  [[nodiscard]] bool running_in_this_thread() const noexcept;

  /// Returns the time at which the loop next has a task to run. A time that has passed, such as
  /// min(), means now; max() means that no task is waiting. If a task that is due earlier is added
  /// after this call, descriptor() becomes readable.
  [[nodiscard]] clock::time_point next_deadline() noexcept;
  /// Returns a descriptor that is readable when poll() is to be called before next_deadline(). The
  /// loop owns the descriptor; use it only to wait. \throws std::system_error if the system has no
  /// such descriptor.
  [[nodiscard]] int descriptor();

  /// Rejects later tasks, and cancels periodic tasks, paused tasks and the tasks of the next frame.
  /// run() returns when the other tasks have run.
  void shutdown() noexcept;
  /// Rejects later tasks, requests stop of the running task, and returns the tasks that have not
  /// begun. run() returns.
  [[nodiscard]] task_list shutdown_now() noexcept;
  /// Like shutdown_now(), but cancels the tasks that have not begun.
  void shutdown_and_cancel() noexcept;
  [[nodiscard]] bool is_shutdown() const noexcept;

  /// Returns the ledger: the numbers of the loop's tasks by outcome.
  [[nodiscard]] task_totals totals() const;

 private:
  friend class detail::loop_intervals;

  event_loop(detail::delay_queue& delays, const options_type& options);

  detail::delay_queue& delays_;  // the core has a reference
  detail::loop_core& core_;      // reference-counted
  loop_queue microtasks_;
  loop_queue frames_;
  detail::loop_intervals* intervals_ = nullptr;  // null unless its time is virtual
};

}  // namespace takt::inline TAKT_ABI

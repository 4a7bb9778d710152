/// \file
/// One thread that does everything in turn: what is posted, what is due, microtasks and frames.
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

/// How an event_loop is made.
struct event_loop_options {
  /// From one frame to the next. `never`: there is a frame when run_frame() says so.
  std::chrono::nanoseconds frame = std::chrono::nanoseconds(16'666'667);
  missed_runs missed{};  ///< What periodic tasks do when they are behind.

  const clock* time = &steady;  ///< Of all deadlines. Outlives the loop, its futures and handles.
  const unhandled_hook* unhandled =
      &terminate_on_unhandled;        ///< Of its futures only. Outlives them.
  task_observer* observer = nullptr;  ///< Told of everything, if given. Outlives the loop.
};

/// A queue of an event_loop that has its own turn: an executor. Made by event_loop, and gone with
/// it; see there for what a shutdown does to its tasks.
///
/// \code
/// loop.frames().execute([] { draw(); });
/// co_await takt::resume_on(loop.frames());
/// \endcode
///
/// **Thread safety**: all members, from any thread.
class loop_queue : public executor_interface<loop_queue> {
 public:
  static constexpr bool is_serial = true;
  static constexpr bool is_fifo = true;
  static constexpr bool never_runs_inline = true;

  loop_queue(const loop_queue&) = delete;
  loop_queue& operator=(const loop_queue&) = delete;

  /// As event_loop::execute().
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

/// Runs tasks one after the other, on the thread that calls run(): what any thread posts, what is
/// due, microtasks and frames. It is where a single-threaded program lives, a GUI, a game; and it
/// can live in another loop.
///
/// \code
/// takt::event_loop loop;
///
/// loop.execute([] { greet(); });                                    // from any thread
/// auto tick = loop.schedule_at_fixed_rate(0ms, 1s, [] { count(); });
/// loop.microtasks().execute([] { tidy_up(); });                     // before all that waits
/// loop.frames().execute([] { draw(); });                            // once, with the next frame
/// loop.execute(10s, [&] { loop.stop(); });
///
/// loop.run();                                                       // until stop()
/// \endcode
/// It is a scheduler, see there, and an executor: `loop.submit(f)`, `co_await loop.after(10ms)`,
/// `co_await takt::resume_on(loop.frames())`.
///
/// **Order.** Microtasks first, those included that they add. Then what is due, by deadline, where
/// that of a posted task is when it was posted (if the two are equal to the nanosecond, what was
/// delayed goes first). After each task, microtasks again. A frame runs what was asked of it before
/// it began; what is added meanwhile is for the next one. Frames are due on a grid, that of the
/// option `frame`, which is looked at only while something is asked of the next frame; one that is
/// late is not made up for.
///
/// **Errors** of tasks without a future leave run(), run_one(), run_for(), poll() or run_frame().
/// Nothing is lost by that: the next call goes on where this one was.
///
/// **In another loop**: wait there until descriptor() is readable or next_deadline() has come, and
/// then call poll(). Ask for next_deadline() each time before waiting.
///
/// **Shutdown.** shutdown(): takes no more; what is posted, due and delayed is run, and run() ends
/// when nothing is left; periodic tasks and what was asked of the next frame are cancelled.
/// shutdown_now() gives back what has not begun, asks what runs to stop, and run() ends; a series
/// does not run again. shutdown_and_cancel() and the destructor cancel instead. Later tasks are
/// rejected. run() returns when these calls have ended what they took, so that the thread that has
/// run the loop may then destroy it. A task of the loop must not destroy it: std::terminate() with
/// a message. In a child process after fork() the destructor does nothing. stop() is something
/// else: run() returns, and everything stays as it is, for the next call after restart().
///
/// **Thread safety**: all members from any thread, but for the destructor. One thread at a time
/// runs it; a second one, or a task of its own, gets a std::logic_error from run() and the like. A
/// task that waits for another one of the loop, without a deadline, gets a std::system_error
/// (resource_deadlock_would_occur).
class event_loop : public scheduler, public executor_interface<event_loop> {
 public:
  using options = event_loop_options;
  static constexpr bool is_serial = true;
  static constexpr bool never_runs_inline = true;

  /// \throws std::invalid_argument if frame is not above 0, or time or unhandled is null.
  explicit event_loop(const options& how = {});
  ~event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// Posts a task. \throws takt::rejected after shutdown; std::invalid_argument if the task is
  /// empty; std::bad_alloc. If it throws, the task is not run.
  void execute(task t);
  using scheduler::execute;

  /// Tasks that go before all others. They can keep all others from their turn.
  [[nodiscard]] loop_queue& microtasks() noexcept { return microtasks_; }
  /// Tasks that run with the next frame.
  [[nodiscard]] loop_queue& frames() noexcept { return frames_; }

  /// Runs tasks, and waits for more, until stop(), or until it is shut down and nothing is left.
  /// \return how many it ran. \throws what a task throws that has no future; std::logic_error if it
  /// is being run already. The same is true of all below.
  std::size_t run();
  /// As run(), but no longer than that. A task that runs is not interrupted.
  template <class Rep, class Period>
  std::size_t run_for(std::chrono::duration<Rep, Period> time) {
    return run_until(deadline_after(now(), to_nanoseconds(time)));
  }
  /// As run(), but no longer than until then.
  std::size_t run_until(clock::time_point deadline);
  /// Waits for one task and runs it. \return false if there was none, for the reasons of run().
  bool run_one();
  /// Runs what is due, as long as there is some, and does not wait. \return how many.
  std::size_t poll();
  /// Runs what was asked of the next frame, and microtasks. \return how many.
  std::size_t run_frame();
  /// Whether something was asked of the next frame: a render loop may leave it out otherwise.
  [[nodiscard]] bool wants_frame() const noexcept;

  /// Has run() and the like return, after the task that runs; later calls return at once.
  void stop() noexcept;
  [[nodiscard]] bool is_stopped() const noexcept;
  /// After stop(): it can be run again.
  void restart() noexcept;

  /// Whether somebody is in run() or the like.
  [[nodiscard]] bool is_running() const noexcept;
  /// Whether the calling thread runs it, or was the last to do so; true if nobody has yet. Who
  /// keeps data that belongs to the loop's thread asks before touching it.
  [[nodiscard]] bool running_in_this_thread() const noexcept;

  /// When there is something to do: min() if that is now, max() if nothing is there. What comes
  /// later and is earlier makes descriptor() readable.
  [[nodiscard]] clock::time_point next_deadline() noexcept;
  /// A descriptor that is readable when poll() is to be called before next_deadline(). For waiting
  /// only; belongs to the loop. \throws std::system_error if there is none.
  [[nodiscard]] int descriptor();

  /// See above.
  void shutdown() noexcept;
  [[nodiscard]] task_list shutdown_now() noexcept;
  void shutdown_and_cancel() noexcept;
  [[nodiscard]] bool is_shutdown() const noexcept;

  /// The ledger.
  [[nodiscard]] task_totals totals() const;

 private:
  friend class detail::loop_intervals;

  event_loop(detail::delay_queue& delays, const options& how);

  detail::delay_queue& delays_;  // of the core
  detail::loop_core& core_;      // counted
  loop_queue microtasks_;
  loop_queue frames_;
  detail::loop_intervals* intervals_ = nullptr;  // of who moves its time, if there are some
};

}  // namespace takt::inline TAKT_ABI

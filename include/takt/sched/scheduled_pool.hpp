/// \file
/// Threads that run tasks now, later, and again and again.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/thread_options.hpp>
#include <takt/exec/thread_pool.hpp>
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
}  // namespace detail

/// What a pool that is shut down still does with what waits for its time.
struct after_shutdown {
  /// Whether tasks that run once are waited for and run. If not, they are cancelled, except those
  /// that are due already.
  bool delayed = true;
  /// Whether periodic tasks go on; the pool then ends when they are cancelled.
  bool periodic = false;
};

/// How a scheduled_pool is made.
struct scheduled_pool_options {
  /// How many threads there are; each starts when there is work for it. 0: one, as long as
  /// something waits.
  std::size_t threads = default_pool_size();
  /// How long a thread waits for work before it ends, if core is 0 or core_times_out is set. The
  /// last one stays while something waits for its time.
  std::chrono::nanoseconds keep_alive = std::chrono::seconds(60);
  bool core_times_out = false;

  after_shutdown keep{};  ///< What goes on after shutdown().
  missed_runs missed{};   ///< What periodic tasks do when they are behind.

  /// As in thread_pool_options.
  std::string name = "takt";
  thread_options thread{};
  bool resizable = true;

  /// As in thread_pool_options; for a periodic task, around each run.
  std::function<void(const task&)> before{};
  std::function<void(const task&, const std::exception_ptr&)> after{};
  std::function<void()> terminated{};
  /// Called with each task, or each run of a periodic task, right before it runs. The task that it
  /// returns runs instead, on the same thread. If it throws, the task fails with that error, and a
  /// series ends. If it returns an empty task, a series misses this run, and any other task is
  /// cancelled. The task that it gets runs within the returned task, or not at all: do not keep it.
  std::function<task(task)> decorate{};

  const clock* time = &steady;  ///< Of all deadlines. Outlives the pool, its futures and handles.
  const unhandled_hook* unhandled =
      &terminate_on_unhandled;        ///< Outlives the pool and its futures.
  task_observer* observer = nullptr;  ///< Told of everything, if given. Outlives the pool.
};

/// Runs tasks on a set of threads: at once, at a time, or again and again. It is a thread_pool with
/// an unbounded queue that also knows the time, and what java.util.concurrent calls
/// ScheduledThreadPoolExecutor. What is true of delayed and periodic tasks stands in scheduler.
///
/// \code
/// takt::scheduled_pool pool{{.threads = 4, .name = "work"}};
///
/// pool.execute([] { step(); });                                     // now, without a future
/// takt::future<int> sum = pool.submit([] { return 40 + 2; });       // now
/// auto guard  = pool.execute(30s, [] { drop_connection(); });       // later, without a future
/// auto report = pool.schedule(5s, [] { return make_report(); });    // later
/// auto poll   = pool.schedule_at_fixed_rate(0ms, 10ms, [] { read_sensor(); });
/// auto sync   = pool.schedule_with_fixed_delay(1s, 1min, [](std::stop_token stop) { ... });
///
/// guard.reschedule(30s);
/// guard.cancel();                                                   // prevented, running or done
/// poll.cancel_and_join();
///
/// pool.shutdown();                                                  // what waits is still run
/// if (!pool.await_termination(5s)) save(pool.shutdown_now());
/// \endcode
/// In a coroutine of yours, `co_await pool.after(10ms)` goes on on the pool.
///
/// **Order.** Tasks begin in the order of their deadlines, and of equal ones in the order of their
/// submission, where a periodic one keeps its turn; for a task without a delay that is when it was
/// submitted. (If the two are equal to the nanosecond, what was delayed goes first.)
///
/// **Waiting.** While nothing is due, one idle thread waits for the next deadline, the others just
/// for work. An idle pool uses no CPU and wakes for nothing but a deadline. On Linux its threads
/// have no timer slack: a wait within a task ends as sharply.
///
/// **Errors**, **waiting for futures** within tasks, **thread safety**: as for thread_pool.
///
/// **Shutdown.** shutdown(): takes no more; what is queued is run, and what waits for its time as
/// `keep` says: by default delayed tasks are waited for, and periodic ones cancelled (a run under
/// way finishes first). shutdown_now(): gives back all that has not begun, periodic tasks included,
/// with their deadlines; what runs is asked to stop, and does not run again. Running one that was
/// given back fulfils its future; of a periodic one that is the last run. Coroutines that wait are
/// not given back, but see takt::cancelled. The destructor cancels all that, and never waits for a
/// deadline.
///
/// **Cost**: as in thread_pool and scheduler.
class scheduled_pool : public scheduler,
                       public executor_interface<scheduled_pool>,
                       public lifecycle_interface<scheduled_pool> {
 public:
  using options = scheduled_pool_options;

  /// One thread, that cannot be made more: tasks run one after the other.
  [[nodiscard]] static options single();

  /// \throws std::invalid_argument if keep_alive is negative, or 0 while threads are to time out;
  /// if time or unhandled is null.
  explicit scheduled_pool(options how = {});
  ~scheduled_pool();
  scheduled_pool(const scheduled_pool&) = delete;
  scheduled_pool& operator=(const scheduled_pool&) = delete;

  /// Has a task run as soon as a thread is free. \throws takt::rejected if the pool is shut down or
  /// has no thread; std::invalid_argument if the task is empty; std::bad_alloc. If it throws, the
  /// task is not run. The same is true of all below.
  void execute(task t);
  using scheduler::execute;
  using scheduler::schedule;

  /// Takes no more work; see above.
  void shutdown() noexcept;
  /// Takes no more work, asks what runs to stop, and gives back what has not begun: first what was
  /// queued, in order, then what waited for its time, in no order. Those that were cancelled are
  /// not among them.
  [[nodiscard]] task_list shutdown_now() noexcept;
  /// As shutdown_now(), but what has not begun is cancelled.
  void shutdown_and_cancel() noexcept;

  /// Changes what goes on after shutdown(), before or after it. After it, what is no longer kept is
  /// cancelled at once, and what was cancelled stays so.
  void keep_after_shutdown(after_shutdown what) noexcept;
  [[nodiscard]] after_shutdown kept_after_shutdown() const noexcept;

  /// Starts threads in advance, up to `core`. \return how many.
  std::size_t prestart(std::size_t at_most = unbounded);

  /// Changes the number of threads: those beyond it end when they have no task; if it grows,
  /// threads are started for what is queued. \throws std::logic_error if not resizable.
  void resize(std::size_t threads);

  /// The ledger, and what it is doing. As in thread_pool.
  [[nodiscard]] task_totals totals() const;
  [[nodiscard]] pool_statistics statistics() const;
  [[nodiscard]] std::size_t threads() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  scheduled_pool(detail::delay_queue& delays, options&& how);

  detail::delay_queue& delays_;  // of the core
  detail::pool_core* core_;      // counted: each worker has a reference, too
};

}  // namespace takt::inline TAKT_ABI

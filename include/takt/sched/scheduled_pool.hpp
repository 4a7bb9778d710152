/// \file
/// A thread pool that runs tasks now, later and periodically.
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

/// Selects the delayed and periodic tasks of a scheduled_pool that still run after shutdown().
struct after_shutdown {
  /// Delayed tasks run when they are due. If false, they are cancelled, except those that are due
  /// already.
  bool delayed = true;
  /// Periodic tasks continue, and the pool terminates when they have been cancelled. If false, they
  /// are cancelled.
  bool periodic = false;
};

/// Options of scheduled_pool.
struct scheduled_pool_options {
  /// Number of threads; each starts when there is work for it. 0 means at most one thread, which
  /// ends after `keep_alive` without work.
  std::size_t threads = default_pool_size();
  /// Idle time after which a thread ends, if `threads` is 0 or `core_times_out` is true. The last
  /// thread stays while a delayed task is waiting.
  std::chrono::nanoseconds keep_alive = std::chrono::seconds(60);
  bool core_times_out = false;  ///< If true, idle threads end after keep_alive.

  after_shutdown keep{};  ///< Tasks that still run after shutdown().
  missed_runs missed{};   ///< Default for periodic tasks that are behind.

  /// As in thread_pool_options.
  std::string name = "takt";
  thread_options thread{};
  bool resizable = true;

  /// As in thread_pool_options. `before` and `after` are called around each run of a periodic task.
  std::function<void(const task&)> before{};
  std::function<void(const task&, const std::exception_ptr&)> after{};
  std::function<void()> terminated{};
  /// Receives each task, or each run of a periodic task, right before it runs, and returns the task
  /// that runs instead, on the same thread. If `decorate` throws, the task fails with that error,
  /// and a series ends. If `decorate` returns an empty task, a series misses this run, and any
  /// other task is cancelled. The task that `decorate` receives may run only within the task that
  /// it returns: do not keep it.
  std::function<task(task)> decorate{};

  /// Clock of all deadlines. Must outlive the pool, its futures and its handles.
  const clock* time = &steady;
  /// Hook for unhandled errors. Must outlive the pool and its futures.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
  /// Receives every event, unless null. Must outlive the pool.
  task_observer* observer = nullptr;
};

/// A pool with an unbounded queue that is also a scheduler: it runs tasks at once, at a time, or
/// periodically. java.util.concurrent calls it ScheduledThreadPoolExecutor. See docs/scheduling.md.
///
/// \code
/// takt::scheduled_pool pool{{.threads = 4, .name = "work"}};
/// takt::future<int> sum = pool.submit([] { return 40 + 2; });       // now
/// auto guard  = pool.execute(30s, [] { drop_connection(); });       // later, without a future
/// auto report = pool.schedule(5s, [] { return make_report(); });    // later
/// auto poll   = pool.schedule_at_fixed_rate(0ms, 10ms, [] { read_sensor(); });
///
/// guard.cancel();                                                   // prevented, running or done
/// poll.cancel_and_join();
/// pool.shutdown();                                                  // delayed tasks still run
/// if (!pool.await_termination(5s)) save(pool.shutdown_now());
/// \endcode
///
/// **Order.** Tasks begin in the order of their deadlines; tasks with equal deadlines begin in the
/// order of their submission. The deadline of a task without a delay is the time of its submission.
///
/// **Shutdown.** shutdown() rejects later tasks. Queued tasks run, and by default so do delayed
/// tasks, each when it is due; periodic tasks are cancelled. shutdown_now() returns all tasks that
/// have not begun. The destructor cancels these tasks, and never waits for a deadline.
///
/// **Errors, thread safety and cost** are those of thread_pool and scheduler. An idle pool sleeps.
class scheduled_pool : public scheduler,
                       public executor_interface<scheduled_pool>,
                       public lifecycle_interface<scheduled_pool> {
 public:
  using options_type = scheduled_pool_options;

  /// Returns options of a pool with one thread, which runs tasks sequentially. The pool cannot be
  /// resized.
  [[nodiscard]] static options_type single();

  /// \throws std::invalid_argument if keep_alive is negative, or 0 while threads is 0 or
  /// core_times_out is set; if time or unhandled is null.
  explicit scheduled_pool(options_type options = {});
  /// As ~thread_pool(); also cancels delayed and periodic tasks.
  ~scheduled_pool();
  scheduled_pool(const scheduled_pool&) = delete;
  scheduled_pool& operator=(const scheduled_pool&) = delete;

  /// Runs a task as soon as a thread is free.
  /// \throws takt::rejected if the pool is shut down or has no thread; std::invalid_argument if the
  /// task is empty; std::bad_alloc. If it throws, the task does not run.
  void execute(task t);
  using scheduler::execute;
  using scheduler::schedule;

  /// Rejects later tasks. Queued tasks run. Delayed and periodic tasks run if `keep` says so, and
  /// are cancelled otherwise. Paused tasks and tasks that are never due are cancelled.
  void shutdown() noexcept;
  /// Rejects later tasks, requests stop of running ones, and returns the tasks that have not begun:
  /// first the queued tasks, in order, then the delayed and periodic tasks, in no order. Tasks that
  /// were cancelled are not returned.
  [[nodiscard]] task_list shutdown_now() noexcept;
  /// Like shutdown_now(), but cancels the tasks that have not begun.
  void shutdown_and_cancel() noexcept;

  /// Changes which tasks still run after shutdown(). May be called before and after shutdown().
  /// After it, this call cancels at once the tasks that are no longer kept; cancelled tasks stay
  /// cancelled.
  void keep_after_shutdown(after_shutdown policy) noexcept;
  [[nodiscard]] after_shutdown kept_after_shutdown() const noexcept;

  /// Starts at most `at_most` threads in advance, up to `threads` in all. \return the number of
  /// started threads.
  std::size_t prestart(std::size_t at_most = unbounded);

  /// Changes the number of threads. Surplus threads end when they have no task; new ones start for
  /// queued tasks. \throws std::logic_error if not resizable.
  void resize(std::size_t threads);

  /// As thread_pool::totals() and thread_pool::statistics().
  [[nodiscard]] task_totals totals() const;
  [[nodiscard]] pool_statistics statistics() const;
  /// Returns `threads` as set by the options or the last resize().
  [[nodiscard]] std::size_t threads() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  scheduled_pool(detail::delay_queue& delays, options_type&& options);

  detail::delay_queue& delays_;  // the core has a reference
  detail::pool_core* core_;      // reference-counted; each worker has a reference, too
};

}  // namespace takt::inline TAKT_ABI

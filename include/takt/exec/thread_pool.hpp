/// \file
/// A thread pool with one queue.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/exec/rejection_policy.hpp>
#include <takt/exec/thread_options.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a thread_pool.
struct thread_pool_options {
  /// Number of threads that the pool keeps. They start when there is work for them.
  std::size_t core_threads = default_pool_size();
  /// Maximum number of threads. Threads beyond `core_threads` start only while the queue is full;
  /// so a larger maximum with an unbounded queue is an error. 0 means `core_threads`.
  std::size_t max_threads = 0;
  /// Time without work after which a thread beyond `core_threads` ends.
  std::chrono::nanoseconds keep_alive = std::chrono::seconds(60);
  /// If true, all idle threads end after `keep_alive`.
  bool core_times_out = false;

  /// Maximum number of queued tasks in addition to those for which a thread is free. With 0 each
  /// task is handed to a thread or rejected.
  std::size_t queue_capacity = unbounded;
  queue_order order = queue_order::fifo;  ///< Order in which tasks leave the queue.
  /// What happens to a task when the queue is full and no thread can be started.
  rejection_policy rejection = rejection_policy::fail();

  /// Threads are named name-1, name-2 and so on. Linux shows 15 characters; longer names are
  /// shortened.
  std::string name = "takt";
  thread_options thread{};  ///< Options of the threads.
  bool resizable = true;    ///< If true, resize() is allowed and a blocking_region adds a thread.

  /// Called before each task, on the thread that runs it. If `before` throws, the task does not
  /// run, its future gets the error, and `after` is not called.
  std::function<void(const task&)> before{};
  /// Called after each task, on the thread that ran it, when its future is ready. The second
  /// argument is the exception of a task without a future. If `after` throws, the program
  /// terminates.
  std::function<void(const task&, const std::exception_ptr&)> after{};
  /// Called once, before is_terminated() returns true, by the last worker or by a call that ends
  /// the pool, such as shutdown_now(). It must neither throw nor destroy the pool.
  std::function<void()> terminated{};

  const clock* time = &steady;  ///< Clock for keep-alive and waits. Must outlive the pool.
  /// Hook for unhandled errors. Must outlive the pool and its futures.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
  task_observer* observer = nullptr;  ///< Receives every task event. Must outlive the pool.
};

/// A snapshot of a pool's activity. Totals of tasks by outcome are in the pool's totals().
struct pool_statistics {
  std::size_t queued = 0;   ///< Tasks that wait for a thread.
  std::size_t delayed = 0;  ///< Tasks that wait for their due time.
  std::size_t active = 0;   ///< Threads that run a task.
  std::size_t threads = 0;  ///< Current number of threads.
  std::size_t largest = 0;  ///< Largest number of threads so far.
};

namespace detail {
class pool_core;
}  // namespace detail

/// Runs tasks on threads that share one queue, and accounts for each task.
///
/// \code
/// takt::thread_pool pool{{.core_threads = 4, .name = "work"}};
/// takt::future<int> answer = pool.submit([] { return 42; });
/// pool.execute([] { step(); });    // no future: an exception is uncaught
///
/// pool.shutdown();                 // queued tasks still run
/// if (!pool.await_termination(5s)) save(pool.shutdown_now());
/// \endcode
///
/// **Threads.** A submission starts a thread while there are fewer than `core_threads`, and
/// otherwise queues the task. If the queue is full, it starts a thread while there are fewer than
/// `max_threads`; otherwise the rejection policy decides.
///
/// **Order.** Tasks begin in queue order: FIFO, or by priority and then FIFO.
///
/// **Errors** of a task go to its future, or to the unhandled hook if it has none. A task that
/// waits without a deadline for another task of the pool gets std::system_error
/// (resource_deadlock_would_occur) if no thread is left to run it. See docs/executors.md.
///
/// **Shutdown.** shutdown() runs queued tasks, shutdown_now() returns them, and the destructor
/// cancels them. See docs/shutdown.md.
///
/// **Thread safety.** All members except the destructor may be called concurrently.
class thread_pool : public executor_interface<thread_pool>,
                    public lifecycle_interface<thread_pool> {
 public:
  using options_type = thread_pool_options;

  /// The caller may run a task that the queue has no capacity for. See docs/executors.md.
  static constexpr bool may_defer_resumption = true;

  /// Returns options of a pool with `threads` threads, plus one for each blocking_region, and an
  /// unbounded queue.
  [[nodiscard]] static options_type fixed(std::size_t threads);
  /// Returns options of a pool that starts a thread for each task that is submitted while all
  /// others are busy, without a limit. Threads end after a minute without work. For many short
  /// waits.
  [[nodiscard]] static options_type cached();
  /// Returns options of a pool with exactly one thread, even during a blocking_region: tasks run
  /// sequentially. The pool cannot be resized.
  [[nodiscard]] static options_type single();

  /// \throws std::invalid_argument if max_threads is less than core_threads, if both are 0, or if
  /// max_threads is larger and queue_capacity is unbounded; if keep_alive is negative, or 0 with
  /// core_times_out; if time or unhandled is null; if rejection is drop_oldest() and order is
  /// queue_order::priority.
  explicit thread_pool(options_type options = {});
  /// Does close(cancel_pending): cancels queued tasks, requests stop of running ones and waits for
  /// them. Does nothing in a child process after fork().
  ///
  /// If a task of the pool calls it, the destructor waits for the other threads only; the calling
  /// thread ends with that task and uses the clock, the observer and the hooks until then.
  ///
  /// Requires that no other thread outside the pool is in a member. There is one exception: after
  /// await_termination() a thread may destroy the pool while a call that ends it, such as close()
  /// or shutdown_now(), has not yet returned on another thread.
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Queues `t`. A callable of up to 32 bytes is not allocated.
  /// \throws takt::rejected as the rejection policy says; std::invalid_argument if the task is
  /// empty; std::bad_alloc. If it throws, the task does not run.
  void execute(task t);

  /// Queues a prefix of `tasks` in one step; see executor. Queues none unless all threads exist and
  /// are busy, and the queue is unbounded, FIFO and not observed.
  /// \return the number of queued tasks.
  [[nodiscard]] std::size_t try_execute(std::span<task> tasks) noexcept;

  /// Rejects new tasks; queued tasks still run.
  void shutdown() noexcept;

  /// Rejects new tasks, requests stop of running ones, and returns queued tasks in queue order,
  /// without those that were cancelled. A concurrent submission is run, returned or rejected.
  [[nodiscard]] task_list shutdown_now() noexcept;

  /// As shutdown_now(), but cancels queued tasks.
  void shutdown_and_cancel() noexcept;

  /// Starts at most `at_most` threads in advance, up to `core_threads`.
  /// \return the number of started threads.
  std::size_t prestart(std::size_t at_most = unbounded);

  /// Changes core_threads to `core` and max_threads to `max`; a `max` of 0 means `core`. Surplus
  /// threads end when they have no task. If `core` grows, threads start for queued tasks.
  /// \throws std::invalid_argument as the constructor; std::logic_error if not resizable.
  void resize(std::size_t core, std::size_t max = 0);

  /// Changes keep_alive and core_times_out.
  /// \throws std::invalid_argument if `time` is negative, or 0 with core_times_out.
  template <class Rep, class Period>
  void set_keep_alive(std::chrono::duration<Rep, Period> time, bool core_times_out) {
    change_keep_alive(to_nanoseconds(time), core_times_out);
  }

  /// Removes the task of `f` from the queue. \return the task, or an empty task if it is not
  /// queued.
  /// \throws std::future_error (no_state) if `f` is empty; std::bad_alloc, and then the task stays
  /// queued.
  template <class T>
  [[nodiscard]] task remove(const future<T>& f) {
    return take_back(f.state());
  }

  /// Removes from the queue the tasks whose futures were cancelled. They would do nothing, but
  /// count towards queue_capacity. \return the number of removed tasks.
  std::size_t purge();

  /// Returns the totals of submitted tasks by outcome. They are exact when the pool is idle. While
  /// it works, no count exceeds what has happened, except `started`: it may be too large by one for
  /// each active thread that has just ended a task. A task is counted after its future is ready and
  /// before await_termination() returns.
  [[nodiscard]] task_totals totals() const;
  /// Returns a snapshot of the pool's activity, exact when the pool is idle.
  [[nodiscard]] pool_statistics statistics() const;

  [[nodiscard]] std::size_t core_threads() const;
  [[nodiscard]] std::size_t max_threads() const;

  /// For executor_interface and lifecycle_interface.
  [[nodiscard]] takt::future_options future_options() const noexcept;
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  void change_keep_alive(std::chrono::nanoseconds time, bool core_times_out);
  task take_back(const detail::future_core& state);

  detail::pool_core* core_;  // owns a reference; so does each worker
};

}  // namespace takt::inline TAKT_ABI

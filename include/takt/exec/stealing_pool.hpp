/// \file
/// A work-stealing thread pool.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/rejection_policy.hpp>
#include <takt/exec/thread_options.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a stealing_pool. Members that thread_pool_options also has mean the same.
struct stealing_pool_options {
  /// Number of threads. They start when there is work for them.
  std::size_t threads = default_pool_size();

  /// Maximum number of tasks in the shared queue: those submitted from outside, and those that the
  /// pool's own tasks submit while their worker's local queue is full.
  std::size_t queue_capacity = unbounded;
  rejection_policy rejection = rejection_policy::fail();

  std::string name = "takt";
  thread_options thread{};

  std::function<void(const task&)> before{};
  std::function<void(const task&, const std::exception_ptr&)> after{};
  std::function<void()> terminated{};

  const clock* time = &steady;  ///< Clock for waits. Must outlive the pool.
  /// Hook for unhandled errors. Must outlive the pool and its futures.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
  task_observer* observer = nullptr;  ///< Receives every task event. Must outlive the pool.
};

/// Runs many small tasks that submit more tasks. A task that a worker submits stays with that
/// worker until it runs there or another worker steals it.
///
/// \code
/// takt::stealing_pool pool{{.threads = 4}};
/// pool.execute([&] { walk(pool, root); });   // walk() calls pool.execute() for each subdirectory
/// done.wait();                               // a latch: shutdown() would reject later submissions
/// \endcode
/// examples/directory_walk.cpp is the whole program. To wait for parts of a task, use fork_join.
///
/// **Order.** None. A worker runs the task that it submitted last; a thief takes the task that has
/// waited longest. Tasks from outside wait in a shared FIFO queue; a worker checks it when its
/// local queue is empty, and at least once per 61 tasks. For order, use thread_pool or
/// serial_executor.
///
/// **Errors, waiting, shutdown and thread safety** are those of thread_pool. After shutdown(),
/// tasks submitted by the pool's own tasks are rejected, too.
///
/// **Cost.** An idle pool uses no CPU. A submission wakes at most one worker, which wakes the next
/// one if it finds more than it takes. Each worker has 20 KB for its local queue, and 16 KB
/// reserved so that shutdown_now() can return its tasks without allocating. See docs/executors.md.
class stealing_pool : public executor_interface<stealing_pool>,
                      public lifecycle_interface<stealing_pool> {
 public:
  using options_type = stealing_pool_options;

  /// The caller may run a task that the queue has no capacity for. See docs/executors.md.
  static constexpr bool may_defer_resumption = true;

  /// \throws std::invalid_argument if threads is 0; if time or unhandled is null.
  explicit stealing_pool(options_type options = {});
  /// As ~thread_pool().
  ~stealing_pool();
  stealing_pool(const stealing_pool&) = delete;
  stealing_pool& operator=(const stealing_pool&) = delete;

  /// Queues `t`. \throws takt::rejected as the rejection policy says; std::invalid_argument if the
  /// task is empty; std::bad_alloc. If it throws, the task does not run.
  void execute(task t);

  /// As thread_pool::try_execute(). Also returns 0 on one of the pool's own threads.
  [[nodiscard]] std::size_t try_execute(std::span<task> tasks) noexcept;

  /// Rejects new tasks; queued tasks still run.
  void shutdown() noexcept;

  /// Rejects new tasks, requests stop of running ones, and returns queued tasks of all workers, in
  /// no order, without those that were cancelled.
  [[nodiscard]] task_list shutdown_now() noexcept;

  /// As shutdown_now(), but cancels queued tasks.
  void shutdown_and_cancel() noexcept;

  /// Starts at most `at_most` threads in advance, up to `threads` in all. \return the number of
  /// started threads.
  std::size_t prestart(std::size_t at_most = unbounded);

  /// As thread_pool::totals() and thread_pool::statistics().
  [[nodiscard]] task_totals totals() const;
  [[nodiscard]] pool_statistics statistics() const;

  /// For executor_interface and lifecycle_interface.
  [[nodiscard]] takt::future_options future_options() const noexcept;
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  friend class fork_join;

  detail::pool_core* core_;  // owns a reference; so does each worker
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// Threads that each have a queue of their own, and take from each other.
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

/// How a stealing_pool is made. What is named as in thread_pool_options means the same.
struct stealing_pool_options {
  /// How many threads there are, as soon as there is work for them.
  std::size_t threads = default_pool_size();

  /// How many tasks from outside wait for a thread at most; what the pool's own tasks submit is
  /// counted only when the thread has no room for it.
  std::size_t queue_capacity = unbounded;
  rejection_policy rejection = rejection_policy::fail();

  std::string name = "takt";
  thread_options thread{};

  std::function<void(const task&)> before{};
  std::function<void(const task&, const std::exception_ptr&)> after{};
  std::function<void()> terminated{};

  const clock* time = &steady;  ///< Outlives the pool.
  const unhandled_hook* unhandled =
      &terminate_on_unhandled;        ///< Outlives the pool and its futures.
  task_observer* observer = nullptr;  ///< Told of everything, if given. Outlives the pool.
};

/// Runs many small tasks, that make more of them, at the least cost: what a task of the pool
/// submits stays with its thread, unless another one has nothing to do.
///
/// \code
/// std::atomic<int> unfinished = 1;                      // directories
/// takt::promise<void> done;
///
/// void walk(takt::stealing_pool& pool, directory d) {   // a task of the pool
///   for (directory sub : d) {
///     ++unfinished;
///     pool.execute([&pool, sub] { walk(pool, sub); });
///   }
///   count(d.files());
///   if (--unfinished == 0) done.set_value();
/// }
///
/// takt::stealing_pool pool{{.threads = 4}};             // in main()
/// pool.execute([&] { walk(pool, root); });
/// done.get_future().wait();                             // close() would reject what they submit
/// \endcode
///
/// To split a task into parts and wait for them, see fork_join.
///
/// **Order.** None is promised. A thread runs the task that it has submitted last; who has nothing
/// to do takes, of another thread, the one that has waited longest. What comes from outside waits
/// in one queue, in the order in which it came; a thread takes it when it has none of its own, and
/// at least once in 61 tasks. For tasks in order, use a thread_pool or a serial_executor over this.
///
/// **Threads, errors, waiting and shutdown** are those of thread_pool: shutdown() has all that is
/// queued run; shutdown_now() gives it back, that of all threads, in no order; the destructor
/// cancels it. A task submitted by one of the pool's own is rejected after shutdown like any other.
///
/// **Thread safety**: all members from any thread; the destructor as that of thread_pool.
///
/// **Cost**: an idle pool uses no CPU and wakes for nothing; a task that is submitted wakes one
/// thread at most, which wakes the next if it finds more than it takes. Each thread has 20 KB for
/// its tasks, and 16 KB in which shutdown_now() gives them back; what does not fit goes to the
/// common queue. docs/performance.md has figures.
class stealing_pool : public executor_interface<stealing_pool>,
                      public lifecycle_interface<stealing_pool> {
 public:
  using options = stealing_pool_options;

  /// \throws std::invalid_argument if there are no threads; if time or unhandled is null.
  explicit stealing_pool(options how = {});
  ~stealing_pool();
  stealing_pool(const stealing_pool&) = delete;
  stealing_pool& operator=(const stealing_pool&) = delete;

  /// Has a task run. \throws takt::rejected, as the rejection policy says; std::invalid_argument if
  /// the task is empty; std::bad_alloc. If it throws, the task is not run.
  void execute(task t);

  /// As in thread_pool. Called by one of the pool's threads, it takes none.
  [[nodiscard]] std::size_t try_execute(std::span<task> tasks) noexcept;

  /// Takes no more work; what is queued still runs.
  void shutdown() noexcept;

  /// Takes no more work, asks what runs to stop, and gives back what has not begun, in no order.
  /// Those that were cancelled are not among them.
  [[nodiscard]] task_list shutdown_now() noexcept;

  /// As shutdown_now(), but what has not begun is cancelled.
  void shutdown_and_cancel() noexcept;

  /// Starts threads in advance. \return how many.
  std::size_t prestart(std::size_t at_most = unbounded);

  /// The ledger, and what it is doing. As in thread_pool.
  [[nodiscard]] task_totals totals() const;
  [[nodiscard]] pool_statistics statistics() const;

  /// For executor_interface and lifecycle_interface.
  [[nodiscard]] takt::future_options future_options() const noexcept;
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  friend class fork_join;

  detail::pool_core* core_;  // counted: each worker has a reference, too
};

}  // namespace takt::inline TAKT_ABI

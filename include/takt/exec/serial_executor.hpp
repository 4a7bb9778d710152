/// \file
/// Runs tasks sequentially on threads of another executor.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a serial_executor.
struct serial_executor_options {
  /// Maximum number of tasks that the strand runs in a row before other work of the executor may
  /// use the thread. 1 is fair; `unbounded` keeps the thread while there are tasks.
  std::size_t batch = unbounded;
  const clock* time = &steady;  ///< Clock for await_termination(). Must outlive the strand.
  /// Hook for unhandled errors. Must outlive the strand and its futures.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
  task_observer* observer = nullptr;  ///< Receives every task event. Must outlive the strand.
};

/// A strand: runs tasks sequentially, in the order of execute(), on threads of another executor.
/// Data that only its tasks access needs no lock. A strand without tasks occupies no thread.
///
/// \code
/// takt::serial_executor account{pool};              // the pool must outlive `account`
/// account.execute([&] { balance += 10; });          // from any thread
/// account.execute([&] { balance -= 5; });           // never at the same time
/// takt::future<int> now = account.submit([&] { return balance; });
/// \endcode
///
/// **Order.** FIFO; each task happens before the next. A task that a task of the strand submits
/// runs later. While the strand has tasks, the executor has one task that runs them: the strand's
/// own task.
///
/// **Errors** of a task go to its future, or to the unhandled hook if it has none. If the executor
/// rejects or drops the strand's own task, the tasks queued at that moment fail with takt::rejected
/// (`dropped`), and the next execute() tries again. A task that waits without a deadline for a
/// later task of the same strand throws std::system_error (resource_deadlock_would_occur).
///
/// **Shutdown.** As for thread_pool. The destructor does close(cancel_pending). If a task of the
/// strand calls the destructor, it does not wait for that task.
///
/// **Thread safety.** All members except the destructor may be called concurrently. See
/// docs/executors.md.
class serial_executor : public executor_interface<serial_executor>,
                        public lifecycle_interface<serial_executor> {
 public:
  static constexpr bool is_serial = true;
  static constexpr bool is_fifo = true;

  using options_type = serial_executor_options;

  /// Runs tasks on `executor`, which must outlive the strand.
  /// \throws std::invalid_argument if batch is 0, or if time or unhandled is null.
  explicit serial_executor(any_executor executor, const options_type& options = {});
  /// Cancels queued tasks, requests stop of the running one and waits for it, unless that task is
  /// the caller. Then the destructor waits until the strand's calls of the executor's execute()
  /// have returned; therefore that execute() must not wait for the task that it receives. The
  /// destructor does nothing in a child process after fork().
  ~serial_executor();
  serial_executor(const serial_executor&) = delete;
  serial_executor& operator=(const serial_executor&) = delete;

  /// Queues `t` behind all earlier tasks.
  /// \throws takt::rejected if the strand or its executor is shut down; what the executor throws,
  /// which also rejects all tasks that are queued at that moment; std::invalid_argument if the task
  /// is empty; std::bad_alloc.
  void execute(task t);

  /// Rejects new tasks; queued tasks still run.
  void shutdown() noexcept;
  /// Rejects new tasks, requests stop of the running one, and returns queued tasks.
  [[nodiscard]] task_list shutdown_now() noexcept;
  /// As shutdown_now(), but cancels queued tasks.
  void shutdown_and_cancel() noexcept;

  /// Number of queued tasks.
  [[nodiscard]] std::size_t queued() const;
  /// Totals of submitted tasks by outcome.
  [[nodiscard]] task_totals totals() const;

  /// For executor_interface and lifecycle_interface.
  [[nodiscard]] takt::future_options future_options() const noexcept;
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  friend class watched_strand;
  class impl;

  serial_executor(any_executor executor, const options_type& options,
                  void (*taken)(task& t) noexcept);

  impl* impl_;  // owns a reference; so does a drain in the executor
};

}  // namespace takt::inline TAKT_ABI

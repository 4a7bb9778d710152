/// \file
/// One task at a time, on threads of another executor.
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

/// How a serial_executor is made.
struct serial_executor_options {
  /// How many tasks it runs in a row before it lets other work of the executor go first. 1 is fair;
  /// unbounded, the default, is eager: it goes on while it has tasks.
  std::size_t batch = unbounded;
  const clock* time = &steady;  ///< For waiting for its end. Outlives it.
  const unhandled_hook* unhandled = &terminate_on_unhandled;  ///< Outlives it and its futures.
  task_observer* observer = nullptr;  ///< Told of everything, if given. Outlives it.
};

/// Runs tasks one after the other, in the order of execute(), on the threads of another executor,
/// of which it holds none: what others call a strand. What only such tasks touch needs no lock.
///
/// \code
/// takt::thread_pool pool;
/// takt::serial_executor account{pool};              // borrowed: outlives `account`
///
/// account.execute([&] { balance += 10; });          // from any thread
/// account.execute([&] { balance -= 5; });           // never at the same time
/// takt::future<int> now = account.submit([&] { return balance; });
/// \endcode
///
/// **Order.** FIFO, never overlapping; each task happens before the next. A task that gives it
/// another one does not wait for it, and is not interrupted by it. While it has tasks, it has one
/// task of its own in the executor, which runs up to `batch` of them.
///
/// **Errors** of a task go to its future; without one, to the unhandled hook. The next task runs.
///
/// **An executor that rejects** or drops what it is given: execute() throws what the executor
/// throws; all tasks that are queued at that moment are dropped too, and their futures throw
/// takt::rejected (`dropped`). The next execute() tries again.
///
/// **Waiting** within a task for the future of another task of the same serial_executor, without a
/// deadline, would be for ever: std::system_error (resource_deadlock_would_occur).
///
/// **Shutdown.** As thread_pool: shutdown() lets queued tasks run, shutdown_now() gives them back
/// and asks the one that runs to stop; later ones are rejected. The destructor does what
/// close(cancel_pending) does: it cancels what is queued, asks the one that runs to stop and waits
/// for it, unless that one is its caller, where close() throws; then it waits until the executor
/// has returned to the strand, which must not wait for the task that it was given. In a child
/// process after fork() the destructor does nothing.
///
/// **Thread safety**: all members from any thread, but for the destructor.
class serial_executor : public executor_interface<serial_executor>,
                        public lifecycle_interface<serial_executor> {
 public:
  static constexpr bool is_serial = true;
  static constexpr bool is_fifo = true;

  using options = serial_executor_options;

  /// On the threads of `where`, which has to outlive this.
  /// \throws std::invalid_argument if batch is 0 or a pointer is null.
  explicit serial_executor(any_executor where, const options& how = {});
  ~serial_executor();
  serial_executor(const serial_executor&) = delete;
  serial_executor& operator=(const serial_executor&) = delete;

  /// Has a task run after all that came before. \throws takt::rejected if it or its executor is
  /// shut down; whatever the executor throws; std::invalid_argument if the task is empty.
  void execute(task t);

  /// As in thread_pool.
  void shutdown() noexcept;
  [[nodiscard]] task_list shutdown_now() noexcept;
  void shutdown_and_cancel() noexcept;

  /// How many tasks wait for their turn.
  [[nodiscard]] std::size_t queued() const;
  /// The ledger.
  [[nodiscard]] task_totals totals() const;

  /// For executor_interface and lifecycle_interface.
  [[nodiscard]] takt::future_options future_options() const noexcept;
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  friend class watched_strand;
  class impl;

  serial_executor(any_executor where, const options& how, void (*taken)(task& t) noexcept);

  impl* impl_;  // counted: a drain has a reference, too
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// Runs tasks when the program polls it.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/exec/executor.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>

namespace takt::inline TAKT_ABI {

/// Queues tasks until the program runs them: in tests, to control the order of events; in event
/// loops of other libraries, to run takt's tasks there.
///
/// \code
/// takt::manual_executor later;
/// auto f = later.submit([] { return 42; });
/// EXPECT_FALSE(f.is_ready());
/// later.poll();
/// EXPECT_EQ(f.get(), 42);
/// \endcode
///
/// **Order.** FIFO. If several threads call poll_one(), tasks begin in order and may overlap.
///
/// **Errors.** poll_one() and poll() throw what a task without a future throws. The tasks behind it
/// stay queued.
///
/// **Shutdown.** After shutdown() new tasks are rejected, and queued tasks can still be run.
/// shutdown_now() also returns the queued tasks and requests stop of running ones. The destructor
/// cancels queued tasks and waits for other threads that are in shutdown() or shutdown_now(). In a
/// child process after fork() it does nothing.
///
/// **Thread safety.** All members may be called concurrently, except the destructor, which requires
/// that no thread is in poll_one() or poll().
class manual_executor : public executor_interface<manual_executor> {
 public:
  static constexpr bool is_fifo = true;
  static constexpr bool never_runs_inline = true;

  manual_executor();
  ~manual_executor();
  manual_executor(const manual_executor&) = delete;
  manual_executor& operator=(const manual_executor&) = delete;

  /// Queues `t`. \throws takt::rejected after shutdown; std::invalid_argument if the task is empty;
  /// std::bad_alloc.
  void execute(task t);

  /// Runs the next task, if any, without waiting. \return true if it ran a task.
  /// \throws what the task throws, if it has no future.
  bool poll_one();

  /// Runs tasks until none is queued, including tasks queued meanwhile. \return the number of
  /// tasks.
  /// \throws what a task without a future throws.
  std::size_t poll();

  /// Number of queued tasks.
  [[nodiscard]] std::size_t queued() const;
  /// Totals of submitted tasks by outcome.
  [[nodiscard]] task_totals totals() const;

  /// As in thread_pool.
  void shutdown() noexcept;
  [[nodiscard]] task_list shutdown_now() noexcept;
  [[nodiscard]] bool is_shutdown() const noexcept;

 private:
  class impl;
  impl* const impl_;
};

}  // namespace takt::inline TAKT_ABI

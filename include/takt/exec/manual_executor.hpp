/// \file
/// Runs tasks when it is told to.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/exec/executor.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>

namespace takt::inline TAKT_ABI {

/// Keeps tasks until somebody runs them: in tests, to decide what happens when; in loops of other
/// libraries, to have a place where takt's work is done.
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
/// **Errors** of tasks without a future leave poll_one() and poll(); what is queued stays there,
/// and can be run by the next call.
///
/// **Shutdown.** shutdown(): later tasks are rejected, queued ones can still be run.
/// shutdown_now(): queued ones are given back, running ones are asked to stop. The destructor
/// cancels what is queued, and waits for other threads that are within these two. In a child
/// process after fork() it does nothing.
///
/// **Thread safety**: all members from any thread, but for the destructor, which needs that nobody
/// is in poll_one() or poll().
class manual_executor : public executor_interface<manual_executor> {
 public:
  static constexpr bool is_fifo = true;
  static constexpr bool never_runs_inline = true;

  manual_executor();
  ~manual_executor();
  manual_executor(const manual_executor&) = delete;
  manual_executor& operator=(const manual_executor&) = delete;

  /// \throws takt::rejected after shutdown; std::invalid_argument if the task is empty.
  void execute(task t);

  /// Runs the next task, if there is one, and does not wait. \return whether there was.
  /// \throws what the task throws, if it has no future.
  bool poll_one();

  /// Runs tasks until there is none, those included that they add. \return how many.
  /// \throws as poll_one().
  std::size_t poll();

  /// How many tasks wait.
  [[nodiscard]] std::size_t queued() const;
  /// The ledger.
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

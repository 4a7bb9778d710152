/// \file
/// The figures of a pool or scheduler: how many tasks, how late, how long.
#pragma once

#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/observe/counter.hpp>
#include <takt/observe/histogram.hpp>
#include <takt/observe/task_observer.hpp>

namespace takt::inline TAKT_ABI {

/// How many tasks there were, and what became of them; see task_event for the words. Plain values.
///
/// **Thread safety**: as for a struct of integers. **Destruction**: nothing to it.
struct task_totals {
  std::uint64_t submitted = 0;
  std::uint64_t rejected = 0;
  std::uint64_t finished = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t returned = 0;

  std::uint64_t started = 0;  ///< Runs, those of periodic tasks included.
  std::uint64_t ran = 0;      ///< Runs that are over and did not end their task.
  std::uint64_t failed = 0;   ///< Runs that threw, of those in `ran` and `finished`.
  std::uint64_t missed = 0;   ///< Runs that were left out.

  /// Tasks without an end: queued, waiting for their time, or running.
  [[nodiscard]] std::uint64_t pending() const noexcept {
    return submitted - rejected - finished - cancelled - returned;
  }

  /// Bodies that run, those of cancelled tasks included.
  [[nodiscard]] std::uint64_t running() const noexcept { return started - ran - finished; }
};

/// An observer that keeps figures: totals, and the distributions of delay and run time.
///
/// \code
/// takt::task_statistics figures;
/// takt::thread_pool pool{{.core_threads = 4, .observer = &figures}};
/// ...
/// const takt::task_totals now = figures.totals();
/// print(now.finished, now.failed, now.pending(), figures.delays().percentile(99));
/// \endcode
///
/// It can listen to several emitters at once and then tells their sum.
///
/// **Cost**: per run of a task five atomic additions in shared memory (a one-shot task: submitted,
/// started, finished, and two durations); 30,848 bytes. docs/observe.md has measured figures.
///
/// **What totals() tells**: exact when nothing happens. While tasks are under way, the figures are
/// not of one moment, but each event that it counts has the earlier events of the same task counted
/// too: pending() and running() may be too large by what happened meanwhile, and never
/// wrap around.
///
/// **Thread safety**: all members from any thread, wait-free; nothing allocates or throws.
///
/// **Destruction**: after the emitters that borrow it.
class task_statistics final : public task_observer {
 public:
  void on_event(const task_event& event) noexcept override;

  /// The counts so far.
  [[nodiscard]] task_totals totals() const noexcept;

  /// How late runs began: for tasks without a delay, how long they waited for a thread.
  [[nodiscard]] histogram_snapshot delays() const noexcept { return delays_.snapshot(); }

  /// How long runs took.
  [[nodiscard]] histogram_snapshot run_times() const noexcept { return run_times_.snapshot(); }

 private:
  counter submitted_;
  counter rejected_;
  counter finished_;
  counter cancelled_;
  counter returned_;
  counter started_;
  counter ran_;
  counter failed_;
  counter missed_;
  histogram delays_;
  histogram run_times_;
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// Statistics of a pool or scheduler: numbers of tasks, delays, run times.
#pragma once

#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/observe/counter.hpp>
#include <takt/observe/histogram.hpp>
#include <takt/observe/task_observer.hpp>

namespace takt::inline TAKT_ABI {

/// Numbers of tasks by event; see task_event for the terms.
///
/// **Thread safety**: as for a struct of integers.
struct task_totals {
  std::uint64_t submitted = 0;
  std::uint64_t rejected = 0;
  std::uint64_t finished = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t returned = 0;

  std::uint64_t started = 0;  ///< Runs, including those of periodic tasks.
  std::uint64_t ran = 0;      ///< Runs that are over and were not the outcome of their task.
  std::uint64_t failed = 0;   ///< Runs in `ran` and `finished` whose body threw.
  std::uint64_t missed = 0;   ///< Runs of periodic tasks that were skipped.

  /// Tasks without an outcome: queued, waiting for their due time, or running.
  [[nodiscard]] std::uint64_t pending() const noexcept {
    return submitted - rejected - finished - cancelled - returned;
  }

  /// Running bodies, including those of cancelled tasks.
  [[nodiscard]] std::uint64_t running() const noexcept { return started - ran - finished; }
};

/// An observer that counts tasks and records the distributions of delays and run times.
///
/// \code
/// takt::task_statistics figures;
/// takt::thread_pool pool{{.core_threads = 4, .observer = &figures}};
/// ...
/// const takt::task_totals now = figures.totals();
/// print(now.finished, now.failed, now.pending(), figures.delays().percentile(99));
/// \endcode
///
/// With several emitters, the statistics are their sum.
///
/// **Consistency.** totals() is exact while no events occur. Otherwise its numbers are not from one
/// moment. But if an event is counted, the earlier events of the same task are counted, too. So
/// pending() and running() may be slightly too large, and never wrap around.
///
/// **Cost.** Five atomic additions in shared memory for a one-shot task (submitted, started,
/// finished, and two durations); 30,848 bytes. See docs/observe.md.
///
/// **Thread safety.** All members may be called concurrently and are wait-free; none allocates or
/// throws.
///
/// **Lifetime.** The statistics must outlive all emitters.
class task_statistics final : public task_observer {
 public:
  void on_event(const task_event& event) noexcept override;

  /// Returns the counts so far.
  [[nodiscard]] task_totals totals() const noexcept;

  /// Lateness of runs; for tasks without a delay, the wait for a thread.
  [[nodiscard]] histogram_snapshot delays() const noexcept { return delays_.snapshot(); }

  /// Run times of bodies.
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

/// \file
/// Reports tasks that run for too long, while they still run.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/sched/timer_handle.hpp>

namespace takt::inline TAKT_ABI {

class scheduler;

/// Options of watchdog.
struct watchdog_options {
  /// Runs that take longer than this are reported.
  std::chrono::nanoseconds limit = std::chrono::seconds(1);
  /// Scheduler that runs the reports. It must outlive the watchdog, use the clock of the watched
  /// pools, and accept `never`, which a wheel_scheduler does not. It must not be watched itself: if
  /// all its threads are stuck, no report is made.
  scheduler* timers = nullptr;
  /// Receives the `started` event of the run, and the duration of the run so far. Must not throw.
  std::function<void(const task_event& started, std::chrono::nanoseconds so_far)> report{};
  /// Another observer that receives every event as well, or null. Must outlive the watchdog.
  task_observer* next = nullptr;
};

/// An observer that reports each run of a task that exceeds a limit: once, while the run is under
/// way. A run that has just ended may still be reported. See docs/scheduling.md.
///
/// \code
/// takt::task_statistics figures;
/// takt::scheduled_pool timers{takt::scheduled_pool::single()};
/// takt::watchdog watch{{.limit = 5s,
///                       .timers = &timers,
///                       .report = [](const takt::task_event& started, auto so_far) {
///                         log("task %llu (%s) has been running for %lld ns", started.id, ...);
///                       },
///                       .next = &figures}};
/// takt::thread_pool pool{{.core_threads = 4, .observer = &watch}};
/// \endcode
///
/// A watchdog can watch several pools and wheel_schedulers at once.
///
/// **Lifetime.** Destroy the watched pools first, then the watchdog, then `timers` and `next`. The
/// destructor waits for a report that is under way. Reporting ends when `timers` is shut down.
///
/// **Thread safety.** on_event() may be called concurrently. Reports run one after the other, on
/// threads of `timers`; a report must not destroy the watchdog.
///
/// **Cost.** The watchdog locks a mutex twice per run, and searches the runs that are under way.
class watchdog final : public task_observer {
 public:
  using options_type = watchdog_options;

  /// \throws std::invalid_argument if the limit is not above 0, timers is null or report is empty;
  /// takt::rejected if timers is shut down.
  explicit watchdog(options_type options);
  ~watchdog() override;

  void on_event(const task_event& event) noexcept override;

 private:
  struct run {
    [[nodiscard]] task_event event() const noexcept;

    task_event started;  // without its name
    std::array<char, 64> name{};
    std::size_t name_size = 0;
    sync::thread::id thread;
    bool reported = false;
  };

  void begin(const task_event& event) noexcept;
  void end(const task_event& event) noexcept;
  void look() noexcept;
  [[nodiscard]] clock::time_point limit_of(const run& r) const noexcept;

  // Constant after construction.
  const options_type options_;
  const clock& time_;
  periodic_future looks_;  // due at next_look_, or looking

  detail::mutex mu_;
  std::vector<run> runs_ TAKT_GUARDED_BY(mu_);  // runs of a thread in order of begin
  clock::time_point next_look_ TAKT_GUARDED_BY(mu_) = clock::time_point::max();
};

}  // namespace takt::inline TAKT_ABI

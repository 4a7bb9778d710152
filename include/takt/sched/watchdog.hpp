/// \file
/// Tells of tasks that run for too long, while they still do.
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

/// How a watchdog is made.
struct watchdog_options {
  /// A run that takes longer is reported.
  std::chrono::nanoseconds limit = std::chrono::seconds(1);
  /// Where it waits and reports. Outlives the watchdog, and has the clock of what is watched. Not a
  /// pool that is watched itself: if all its threads are stuck, nobody is left to tell.
  scheduler* timers = nullptr;
  /// Given the `started` event, and how long the run has taken so far. Does not throw.
  std::function<void(const task_event& started, std::chrono::nanoseconds so_far)> report{};
  /// Told of everything, too, if given. Outlives the watchdog.
  task_observer* next = nullptr;
};

/// An observer that reports each run of a task that takes longer than a limit: once, and while it
/// is under way. What has just ended may still be reported.
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
/// It can watch several pools at once, and a wheel_scheduler; `timers` is none, as it asks for
/// deadlines that never come. Names of tasks are kept up to their 63rd character.
///
/// **Cost**: per run twice a lock, and a search among the runs that are under way. However many
/// there are, there is one timer, which wakes a thread once per limit at most, and none when
/// nothing runs. Nothing is allocated, unless more runs are under way than ever before; if there is
/// no memory for that, the run is not watched.
///
/// **Thread safety**: on_event() from any thread. Reports come one after the other, from a thread
/// of `timers`, and may use everything but the watchdog's destructor; while one lasts, others wait.
///
/// **Destruction**: after the pools that borrow it, before `timers` and `next`; waits for a report
/// that is under way. When `timers` is shut down, nothing is reported any more.
class watchdog final : public task_observer {
 public:
  using options = watchdog_options;

  /// \throws std::invalid_argument if the limit is not above 0, timers is null or report is empty;
  /// takt::rejected if timers is shut down.
  explicit watchdog(options how);
  ~watchdog() override;

  void on_event(const task_event& event) noexcept override;

 private:
  struct run {
    [[nodiscard]] task_event event() const noexcept;

    task_event started;  // but for its name
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
  const options how_;
  const clock& time_;
  periodic_future looks_;  // due when the next run reaches its limit, if nothing ends before

  detail::mutex mu_;
  std::vector<run> runs_ TAKT_GUARDED_BY(mu_);  // those of one thread in the order of their begin
  clock::time_point next_look_ TAKT_GUARDED_BY(mu_) = clock::time_point::max();
};

}  // namespace takt::inline TAKT_ABI

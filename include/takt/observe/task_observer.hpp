/// \file
/// The events of tasks, and the interface that receives them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// An event in the life of a task. A *task* is one call of execute(), submit() or schedule(), or
/// one periodic series, which is one task with many runs.
///
/// \code
///   submitted --+--> started --+--> finished          one run, or the last one
///               |       ^      |
///               |       +------+ ran                  a run of several
///               |
///               +--> rejected | cancelled | returned  instead of a run, or after some
/// \endcode
///
/// 1. `submitted` is the first event of a task and happens before all others.
/// 2. Each task has exactly one **outcome** at its emitter: finished, rejected, cancelled or
///    returned. So submitted = finished + rejected + cancelled + returned + pending at any time. A
///    returned task belongs to the caller of shutdown_now(), which may still run it.
/// 3. Each `started` is followed by one `ran` or `finished` on the same thread. The runs of a task
///    do not overlap.
/// 4. No event follows the outcome. If a task is cancelled while it runs, its events are `ran`,
///    when the body returns, and then `cancelled`.
///
/// **Thread safety**: as for a struct of values. `name` is valid only during on_event().
struct task_event {
  /// The kinds of events.
  enum class kind : std::uint8_t {
    submitted,  ///< The task is about to be offered to the queue, on the caller's thread.
    rejected,   ///< Outcome: refused, or dropped by a policy. The future fails with `rejected`,
                ///< unless a rejection_policy::call() handles the task differently.
    started,    ///< A run is about to begin, on the thread that runs it.
    ran,        ///< A run is over and is not the outcome (periodic, or cancelled meanwhile).
    finished,   ///< Outcome: the last run is over.
    cancelled,  ///< Outcome: the emitter cancelled the task, or found its future cancelled.
    returned,   ///< Outcome: returned by shutdown_now() before it could run (again).
    missed,     ///< Runs of a periodic task are skipped: the series was too far behind, or
                ///< decorate() of a scheduled_pool returned an empty task.
  };
  using time_point = std::chrono::steady_clock::time_point;

  kind what = kind::submitted;
  bool failed = false;  ///< ran, finished: the body threw. The future has the exception.

  std::uint64_t id = 0;        ///< Unique within one emitter.
  std::string_view name = {};  ///< Empty if the task has none.

  time_point when = {};  ///< The time of the event, on the emitter's clock.
  /// The due time of this run (started, ran, finished) or of the next run (all other events). For a
  /// task without a delay, the time of submission, or an earlier time that the caller gave.
  time_point due = {};
  time_point began = {};  ///< ran, finished: `when` of its `started`.

  std::uint64_t runs_missed = 0;  ///< missed: runs skipped since the last event of this task.

  /// `started`: the lateness of the run. For a task without a delay, its wait for a thread.
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return when - due; }

  /// `ran`, `finished`: the run time of the body.
  [[nodiscard]] std::chrono::nanoseconds run_time() const noexcept { return when - began; }
};

/// Receives every event of the tasks of its *emitters* (pools and schedulers), to trace or count
/// tasks or to find slow ones. For figures alone use task_statistics.
///
/// \code
/// class slow_tasks : public takt::task_observer {
///   void on_event(const takt::task_event& event) noexcept override {
///     if (event.what == takt::task_event::kind::finished && event.run_time() > 1s) {
///       log_.push(event.id, event.name, event.run_time());
///     }
///   }
///   ...
/// };
///
/// slow_tasks slow;
/// takt::thread_pool pool{{.core_threads = 4, .observer = &slow}};  // borrowed
/// \endcode
///
/// **Thread safety.** Emitters call on_event() on the thread of the event, concurrently and without
/// holding a lock; it may call the emitter. The events of one task are ordered as in task_event,
/// those of different tasks are not.
///
/// **Errors.** An exception that leaves on_event() terminates the program. on_event() should not
/// block a worker or a caller, and must expect unknown kinds: later versions may add some.
///
/// **Lifetime.** An observer must outlive its emitters, which keep it. See docs/observe.md.
class task_observer {
 public:
  virtual ~task_observer();
  task_observer(const task_observer&) = delete;
  task_observer& operator=(const task_observer&) = delete;

  /// Called by the emitter for each event.
  virtual void on_event(const task_event& event) noexcept = 0;

 protected:
  task_observer() = default;
};

}  // namespace takt::inline TAKT_ABI

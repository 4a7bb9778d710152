/// \file
/// What happens to tasks, told to whoever wants to know.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Something that happened to a task. A *task* is one call of submit or schedule, and so a periodic
/// series is one task with many runs.
///
/// The life of a task, in events:
/// \code
///   submitted --+--> started --+--> finished          one run, or the last one
///               |       ^      |
///               |       +------+ ran                  a run of several
///               |
///               +--> rejected | cancelled | returned  instead of a run, or after some
/// \endcode
///
/// 1. `submitted` is the first event of a task and happens before all its others.
/// 2. Each task has exactly one **end**: finished, rejected, cancelled or returned. So
///    submitted = finished + rejected + cancelled + returned + pending, always.
/// 3. Each `started` is followed by one `ran` or `finished`, on the same thread. These come in
///    turns: the runs of a task do not overlap.
/// 4. Nothing comes after the end. Of a task that is cancelled while it runs: `ran`, when its body
///    has returned, then `cancelled`.
///
/// **Thread safety**: as for a struct of values. **Destruction**: nothing to it; `name` is a view
/// of the emitter's, valid during the call of the observer only.
struct task_event {
  /// When an emitter tells it, and what it means.
  enum class kind : std::uint8_t {
    submitted,  ///< About to be offered to the queue, on the caller's thread.
    rejected,   ///< An end: refused, or dropped by a policy. Its future says `rejected`,
                ///< unless a rejection_policy::call() has other plans with it.
    started,    ///< A run is about to begin, on the thread that runs it.
    ran,        ///< A run is over, and it was not the end of the task (periodic, or cancelled).
    finished,   ///< An end: the last run is over.
    cancelled,  ///< An end: cancelled, as the emitter finds out when its turn comes, or stops.
    returned,   ///< An end: handed back by shutdown_now() before it could run (again).
    missed,     ///< Runs of a periodic task are left out: the emitter was too far behind.
  };
  using time_point = std::chrono::steady_clock::time_point;

  kind what = kind::submitted;
  bool failed = false;  ///< ran, finished: the body threw. The exception is its future's.

  std::uint64_t id = 0;        ///< Unique among the tasks of one emitter.
  std::string_view name = {};  ///< Empty if the task has none.

  time_point when = {};  ///< Now, by the emitter's clock.
  /// When this run was to begin (started, ran, finished), otherwise the next one. For a task
  /// without a delay, when it was submitted; earlier than that only if a time in the past was
  /// given.
  time_point due = {};
  time_point began = {};  ///< ran, finished: `when` of its `started`.

  std::uint64_t runs_missed = 0;  ///< missed: how many, since the last event of this task.

  /// Of a `started`: how late it is. For a task without delay, how long it waited for a thread.
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return when - due; }

  /// Of a `ran` or `finished`: how long the body took.
  [[nodiscard]] std::chrono::nanoseconds run_time() const noexcept { return when - began; }
};

/// Hears of everything that happens to the tasks of a pool or scheduler, its *emitter*: to trace,
/// to count, to find the slow ones. For figures alone there is task_statistics.
///
/// \code
/// class slow_tasks : public takt::task_observer {
///  public:
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
/// **Cost.** An emitter without an observer pays one comparison of a pointer with null, and does
/// not look at the clock for it. With one, each event costs the time stamp, a virtual call, and
/// what the observer does; all that is time of the thread where it happens.
///
/// **What emitters promise**: the order of events in task_event; no lock is held during a call, so
/// that an observer may use the emitter (and has itself to see to it that this comes to an end);
/// the observer is set at construction and does not change.
///
/// **What an observer promises**: it does not throw, which would terminate, and does not block for
/// long, as it holds up a worker or a caller. It decides itself what to do with kinds that it
/// does not know: later versions may add some.
///
/// **Thread safety**: on_event() is called on the thread where the event happens, by many threads
/// at once. Calls for one task are ordered as in task_event, those for different tasks are not.
///
/// **Destruction**: after the emitters that borrow it.
class task_observer {
 public:
  virtual ~task_observer();
  task_observer(const task_observer&) = delete;
  task_observer& operator=(const task_observer&) = delete;

  /// Called for each event.
  virtual void on_event(const task_event& event) noexcept = 0;

 protected:
  task_observer() = default;
};

}  // namespace takt::inline TAKT_ABI

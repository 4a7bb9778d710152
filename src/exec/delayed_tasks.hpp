/// The interface between a pool and its delayed tasks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>

#include "task_harness.hpp"

namespace takt::inline TAKT_ABI {

/// The executor that runs the delayed tasks, as its delayed_tasks see it.
class delayed_tasks_owner : public detail::ref_counted<delayed_tasks_owner> {
 public:
  /// Called when a task was added that is due before the wakeup deadline: wakes or starts a thread
  /// that watches the clock for it. \return false if there is no such thread.
  virtual bool wake_for_delayed() noexcept = 0;
  /// Called when no delayed task is left: once per report_empty(), and when the last one is
  /// rejected after shutdown.
  virtual void on_delayed_empty() noexcept = 0;
  [[nodiscard]] virtual const task_harness& harness() const noexcept = 0;

 protected:
  delayed_tasks_owner() = default;
  virtual ~delayed_tasks_owner() = default;

 private:
  friend class ref_counted<delayed_tasks_owner>;
};

/// The delayed tasks of a scheduled_pool or an event_loop, as their owner sees them. They have
/// locks of their own, which may be taken while the owner's lock is held, never the other way
/// round.
///
/// The owner publishes its wakeup deadline: the latest time at which one of its threads will check
/// the delayed tasks by itself. A thread that adds an earlier task calls wake_for_delayed().
class delayed_tasks : public detail::ref_counted<delayed_tasks, cache_line> {
 public:
  using time_point = clock::time_point;

  /// Identifies a task that take_due() has returned; for after_run().
  struct ticket {
    std::uint32_t index = 0;
  };

  /// Returns the earliest deadline of the waiting tasks; max() if none waits. A snapshot that
  /// includes every change that happens before the call.
  [[nodiscard]] time_point next() const noexcept {
    // acquire: the changes up to the value; and arriving_ first, since an arrival is published in
    // next_ before it is removed from arriving_
    const time_point::rep arriving = arriving_.load(std::memory_order_acquire);
    const time_point::rep known = next_.load(std::memory_order_acquire);
    return time_point(time_point::duration(std::min(arriving, known)));
  }

  /// Returns whether a task waits, or runs and may wait again. A snapshot, as next().
  [[nodiscard]] bool any() const noexcept {
    return arrives() || any_.load(std::memory_order_acquire);  // acquire: as above
  }

  // --- under the owner's lock

  /// Takes a task whose deadline is at or before `now`, for the caller to run. \return false if
  /// there is none.
  virtual bool take_due(time_point now, task& t, ticket& which) noexcept = 0;
  /// Sets the wakeup deadline: insertions that are due earlier call wake_for_delayed(). min(): none
  /// does. max(): all do.
  virtual void set_wakeup_deadline(time_point until) noexcept = 0;
  /// Sets the wakeup deadline to next(), or to max() if `wakes_for_all`. \return next().
  virtual time_point watch_next(bool wakes_for_all) noexcept = 0;
  /// Requests one call of the owner's on_delayed_empty(), when no task is left. \return false if no
  /// task is left already; then there is no call.
  virtual bool report_empty() noexcept = 0;
  /// Returns !any(), exactly.
  [[nodiscard]] virtual bool empty() const noexcept = 0;
  /// Returns the number of tasks that wait for their deadline.
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  virtual void add_counts_to(task_totals& totals) const noexcept = 0;
  /// Rejects all later tasks. Called when the owner is shut down. If it `stops`, take_due() returns
  /// no task any more, and a periodic task that runs does not run again.
  virtual void close(bool stops) noexcept = 0;

  // --- without the owner's lock

  /// Called when a task that take_due() has returned has been run. If it is to run again, it is
  /// still in `t`.
  virtual void after_run(const ticket& which, task& t, run_result result,
                         const task_harness& harness) noexcept = 0;
  /// After close(): cancels the tasks that are not to run after shutdown.
  virtual void cancel_unwanted() noexcept = 0;
  /// After close(true): appends all waiting tasks to `unstarted` if `return_tasks`, else cancels
  /// them.
  virtual void stop(task_list& unstarted, bool return_tasks) noexcept = 0;
  /// After stop(): waits until no thread reports a cancellation to the observer any more.
  virtual void await_reports() noexcept = 0;

 protected:
  delayed_tasks() = default;
  virtual ~delayed_tasks() = default;

  /// Publishes the state of the tasks that the derived class has in its timer queue. Called under
  /// that queue's lock.
  void publish(time_point next, bool any) noexcept {
    const auto value = next.time_since_epoch().count();
    // relaxed: under the lock; release: the task, to threads that see the value
    if (next_.load(std::memory_order_relaxed) != value) {
      next_.store(value, std::memory_order_release);
    }
    if (any_.load(std::memory_order_relaxed) != any) any_.store(any, std::memory_order_release);
  }

  /// Publishes a task that was added, but is not in the timer queue yet. Called under the lock of
  /// the arrivals.
  void publish_arrival(time_point due) noexcept {
    const auto value = due.time_since_epoch().count();
    // relaxed: under the lock, which a thread that sees the value takes to get the task
    if (value < arriving_.load(std::memory_order_relaxed)) {
      arriving_.store(value, std::memory_order_relaxed);
    }
    if (!arrives_.load(std::memory_order_relaxed)) arrives_.store(true, std::memory_order_relaxed);
  }
  /// All arrivals are in the timer queue, and published there. Called under both locks.
  void publish_none_arrives() noexcept {
    // release: next_ and any_, to threads that do not see the arrivals here any more
    arriving_.store(time_point::max().time_since_epoch().count(), std::memory_order_release);
    arrives_.store(false, std::memory_order_release);
  }
  [[nodiscard]] bool arrives() const noexcept {
    return arrives_.load(std::memory_order_acquire);  // acquire: as in next()
  }
  /// Returns the earliest deadline of the arrivals.
  [[nodiscard]] time_point arriving() const noexcept {
    // acquire: as in next()
    return time_point(time_point::duration(arriving_.load(std::memory_order_acquire)));
  }

 private:
  friend class ref_counted<delayed_tasks, cache_line>;

  // Atomic. Written by publish().
  alignas(cache_line) sync::atomic<bool> any_{false};
  sync::atomic<time_point::rep> next_{time_point::max().time_since_epoch().count()};
  // Atomic. Written by publish_arrival(), and rarely by publish_none_arrives().
  alignas(cache_line) sync::atomic<bool> arrives_{false};
  sync::atomic<time_point::rep> arriving_{time_point::max().time_since_epoch().count()};
};

}  // namespace takt::inline TAKT_ABI

/// Tasks that wait for their time, beside the queue of a pool.
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

/// Whose delayed tasks they are, as far as these have to know.
class delayed_tasks_owner : public detail::ref_counted<delayed_tasks_owner> {
 public:
  /// A task was added that is earlier than what somebody will look at. False if there is no thread
  /// to do that.
  virtual bool wake_for_delayed() noexcept = 0;
  /// None is left, perhaps for good.
  virtual void on_delayed_empty() noexcept = 0;
  [[nodiscard]] virtual const task_harness& harness() const noexcept = 0;

 protected:
  delayed_tasks_owner() = default;
  virtual ~delayed_tasks_owner() = default;

 private:
  friend class ref_counted<delayed_tasks_owner>;
};

/// What a scheduled_pool has and other pools have not, as far as a pool has to know of it; an
/// event_loop has it, too. It has a lock of its own, which is taken within that of its owner and
/// never around it.
///
/// Its owner says how much attention it pays: up to which deadline somebody will look here by
/// himself. Who adds an earlier one calls wake_for_delayed().
class delayed_tasks : public detail::ref_counted<delayed_tasks, cache_line> {
 public:
  using time_point = clock::time_point;

  /// Which one it was; for after_run().
  struct ticket {
    std::uint32_t index = 0;
  };

  /// The earliest deadline of those that wait; max() if there is none. As of some moment, and not
  /// before what this thread knows of.
  [[nodiscard]] time_point next() const noexcept {
    // acquire: with what was done before it changed; and first what arrives, since next_ has it
    // before that is taken back
    const time_point::rep arriving = arriving_.load(std::memory_order_acquire);
    const time_point::rep known = next_.load(std::memory_order_acquire);
    return time_point(time_point::duration(std::min(arriving, known)));
  }

  /// Whether one waits, or runs and may wait again. As of some moment, likewise.
  [[nodiscard]] bool any() const noexcept {
    return arrives() || any_.load(std::memory_order_acquire);  // acquire: as above
  }

  // --- under the pool's lock

  /// Takes one whose deadline is not after `now`, to be run.
  virtual bool take_due(time_point now, task& t, ticket& which) noexcept = 0;
  /// Somebody looks here before that time, in any case.
  virtual void set_wakeup_deadline(time_point until) noexcept = 0;
  /// As above, for next(), or if `wakes_for_all` not for any time. \return next().
  virtual time_point watch_next(bool wakes_for_all) noexcept = 0;
  /// Calls the owner's on_delayed_empty(), once, when no task is left. \return false if none is
  /// left already.
  virtual bool report_empty() noexcept = 0;
  /// As !any(), and exactly.
  [[nodiscard]] virtual bool empty() const noexcept = 0;
  /// How many wait for their time.
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  virtual void add_counts_to(task_totals& totals) const noexcept = 0;
  /// Takes no more, from the moment on at which the pool is shut down. If it stops, nothing is
  /// taken or queued again either: what runs then does not run again.
  virtual void close(bool stops) noexcept = 0;

  // --- without it

  /// What take_due() gave has been run; if it is to run again, it is still in `t`.
  virtual void after_run(const ticket& which, task& t, run_result result,
                         const task_harness& harness) noexcept = 0;
  /// After close(): ends those that are not to be run after shutdown.
  virtual void cancel_unwanted() noexcept = 0;
  /// After close(true): gives back all that wait, or cancels them.
  virtual void stop(task_list& unstarted, bool return_tasks) noexcept = 0;
  /// After stop(): waits for those who tell the observer of what they have cancelled.
  virtual void await_reports() noexcept = 0;

 protected:
  delayed_tasks() = default;
  virtual ~delayed_tasks() = default;

  /// Of those that who derives from this has in order; under its lock.
  void publish(time_point next, bool any) noexcept {
    const auto value = next.time_since_epoch().count();
    // relaxed: under the lock; release: the task, to who sees it
    if (next_.load(std::memory_order_relaxed) != value) {
      next_.store(value, std::memory_order_release);
    }
    if (any_.load(std::memory_order_relaxed) != any) any_.store(any, std::memory_order_release);
  }

  /// One was added, and is not in order yet; under the lock of those who add.
  void publish_arrival(time_point due) noexcept {
    const auto value = due.time_since_epoch().count();
    // relaxed: under the lock, which who sees it takes for the task
    if (value < arriving_.load(std::memory_order_relaxed)) {
      arriving_.store(value, std::memory_order_relaxed);
    }
    if (!arrives_.load(std::memory_order_relaxed)) arrives_.store(true, std::memory_order_relaxed);
  }
  /// All of them are in order, and published; under both locks.
  void publish_none_arrives() noexcept {
    // release: what was published, to who does not see them here any more
    arriving_.store(time_point::max().time_since_epoch().count(), std::memory_order_release);
    arrives_.store(false, std::memory_order_release);
  }
  [[nodiscard]] bool arrives() const noexcept {
    return arrives_.load(std::memory_order_acquire);  // acquire: as in next()
  }
  /// The earliest deadline of those that are not in order yet.
  [[nodiscard]] time_point arriving() const noexcept {
    // acquire: as in next()
    return time_point(time_point::duration(arriving_.load(std::memory_order_acquire)));
  }

 private:
  friend class ref_counted<delayed_tasks, cache_line>;

  // Atomic. Written by publish().
  alignas(cache_line) sync::atomic<bool> any_{false};
  sync::atomic<time_point::rep> next_{time_point::max().time_since_epoch().count()};
  // Atomic. Written by publish_arrival(), and seldom by others.
  alignas(cache_line) sync::atomic<bool> arrives_{false};
  sync::atomic<time_point::rep> arriving_{time_point::max().time_since_epoch().count()};
};

}  // namespace takt::inline TAKT_ABI

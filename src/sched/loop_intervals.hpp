/// Timers that precede all others of an event_loop with virtual time.
#pragma once

#include <chrono>
#include <map>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The intervals of an event_loop whose time stands still while it runs tasks. Intervals that are
/// due run before all other timers of the same time. Only a loop with virtual time has intervals.
///
/// Thread safety: none; for the thread of the loop.
class loop_intervals {
 public:
  /// Attaches itself to a loop, which it must outlive.
  void attach(event_loop& loop) noexcept { loop.intervals_ = this; }

  /// As loop.execute(due, t), for an interval. \throws the same.
  static timer_handle execute(event_loop& loop, clock::time_point due, task t) {
    if (loop.intervals_ == nullptr) return loop.execute(due, std::move(t));
    timer_handle& kept = loop.intervals_->timers_.emplace(due, timer_handle())->second;
    return kept = loop.execute(due, std::move(t));
  }

  /// Moves due intervals before the other timers, by 1 ns, which only affects the order. To be
  /// called before the loop runs a task. Handles of tasks that were cancelled or have run have no
  /// effect.
  void move_due(clock::time_point now) noexcept {
    while (!timers_.empty() && timers_.begin()->first <= now) {
      const auto due = timers_.begin();
      due->second.reschedule(due->first - std::chrono::nanoseconds(1));
      timers_.erase(due);
    }
  }

 private:
  std::multimap<clock::time_point, timer_handle> timers_;  // equal ones in the order of execute()
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

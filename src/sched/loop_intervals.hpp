/// Timers that go before the others of an event_loop, in virtual time.
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

/// The intervals of an event_loop whose time stands still while it works: those that are due go
/// before all other timers of that moment. A loop has none, unless who moves its time gives it one.
///
/// Thread safety: none; for the thread of the loop.
class loop_intervals {
 public:
  /// Gives itself to a loop, which it outlives.
  void attach(event_loop& loop) noexcept { loop.intervals_ = this; }

  /// As loop.execute(due, t), with an interval. \throws the same.
  static timer_handle execute(event_loop& loop, clock::time_point due, task t) {
    if (loop.intervals_ == nullptr) return loop.execute(due, std::move(t));
    timer_handle& kept = loop.intervals_->timers_.emplace(due, timer_handle())->second;
    return kept = loop.execute(due, std::move(t));
  }

  /// To be called before a task of the loop is run: moves what is due to the front, which nobody
  /// sees but by the order. What was cancelled or has run names nothing any more.
  void move_due(clock::time_point now) noexcept {
    while (!timers_.empty() && timers_.begin()->first <= now) {
      const auto due = timers_.begin();
      due->second.reschedule(due->first - std::chrono::nanoseconds(1));
      timers_.erase(due);
    }
  }

 private:
  std::multimap<clock::time_point, timer_handle> timers_;  // of equal ones as they were asked for
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

/// \file
/// The due time of a task.
#pragma once

#include <algorithm>
#include <chrono>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>

namespace takt::inline TAKT_ABI {

/// The due time of a task: a delay from now, or a point in time of takt::clock. Time points of
/// other clocks do not compile. Schedulers take it as a parameter; callers need not name it.
///
/// \code
/// timers.execute(30s, drop);                       // a delay, from now
/// timers.execute(timers.now() + 30s, drop);        // a point in time
/// \endcode
///
/// **Thread safety.** A plain value, not synchronized.
class due_time {
 public:
  /// Due after a delay; a negative delay means now, and takt::never means never. \throws
  /// std::invalid_argument if the delay is NaN.
  template <class Rep, class Period>
  due_time(std::chrono::duration<Rep, Period> delay)  // NOLINT(google-explicit-constructor)
      : count_(to_nanoseconds(delay)) {}
  /// Due at a point in time; time_point::max() means never.
  due_time(clock::time_point time) noexcept  // NOLINT(google-explicit-constructor)
      : count_(time.time_since_epoch()), absolute_(true) {}

  /// Returns true if this is a delay, false if it is a point in time.
  [[nodiscard]] bool is_delay() const noexcept { return !absolute_; }
  /// Returns the delay. Requires is_delay().
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return count_; }

  /// Returns the deadline on clock `c`; a delay begins at c.now().
  [[nodiscard]] clock::time_point on(const clock& c) const noexcept {
    if (absolute_) return clock::time_point(count_);
    return deadline_after(c.now(), std::max(count_, std::chrono::nanoseconds(0)));
  }

 private:
  // At most two words, so that it is passed in registers.
  std::chrono::nanoseconds count_;  // the delay, or the time since the epoch
  bool absolute_ = false;
};

}  // namespace takt::inline TAKT_ABI

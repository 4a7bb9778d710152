/// \file
/// When something is to happen.
#pragma once

#include <algorithm>
#include <chrono>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>

namespace takt::inline TAKT_ABI {

/// A moment: so long after now, or a time of takt::clock. Times of other clocks do not compile.
/// What schedulers take; nobody has to name it.
///
/// \code
/// timers.execute(30s, drop);                       // a duration: from now on
/// timers.execute(timers.now() + 30s, drop);        // a time
/// \endcode
///
/// **Thread safety**: as for an int.
class due_time {
 public:
  /// So long after now; less than 0 is now. \throws std::invalid_argument if it is not a number.
  template <class Rep, class Period>
  due_time(std::chrono::duration<Rep, Period> delay)  // NOLINT(google-explicit-constructor)
      : count_(to_nanoseconds(delay)) {}
  /// At that time; time_point::max() is never.
  due_time(clock::time_point time) noexcept  // NOLINT(google-explicit-constructor)
      : count_(time.time_since_epoch()), absolute_(true) {}

  /// Whether it is a delay, and which.
  [[nodiscard]] bool is_delay() const noexcept { return !absolute_; }
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return count_; }

  /// The time by that clock.
  [[nodiscard]] clock::time_point on(const clock& c) const noexcept {
    if (absolute_) return clock::time_point(count_);
    return deadline_after(c.now(), std::max(count_, std::chrono::nanoseconds(0)));
  }

 private:
  // No more than two words: those are passed in registers.
  std::chrono::nanoseconds count_;  // the delay, or the time since the epoch
  bool absolute_ = false;
};

}  // namespace takt::inline TAKT_ABI

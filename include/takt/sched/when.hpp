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
/// Copied like an int.
class when {
 public:
  template <class Rep, class Period>
  when(std::chrono::duration<Rep, Period> delay)  // NOLINT(google-explicit-constructor)
      : count_(to_nanoseconds(delay)) {}
  when(clock::time_point time) noexcept  // NOLINT(google-explicit-constructor)
      : count_(time.time_since_epoch()), absolute_(true) {}

  /// Whether it is a delay, and which.
  [[nodiscard]] bool is_delay() const noexcept { return !absolute_; }
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return count_; }

  /// By that clock.
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

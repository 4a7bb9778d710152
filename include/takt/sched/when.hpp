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
class when {
 public:
  template <class Rep, class Period>
  when(std::chrono::duration<Rep, Period> delay)  // NOLINT(google-explicit-constructor)
      : delay_(to_nanoseconds(delay)) {}
  when(clock::time_point time) noexcept  // NOLINT(google-explicit-constructor)
      : time_(time), absolute_(true) {}

  /// Whether it is a delay, and which.
  [[nodiscard]] bool is_delay() const noexcept { return !absolute_; }
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return delay_; }

  /// By that clock.
  [[nodiscard]] clock::time_point on(const clock& c) const noexcept {
    if (absolute_) return time_;
    return deadline_after(c.now(), std::max(delay_, std::chrono::nanoseconds(0)));
  }

 private:
  std::chrono::nanoseconds delay_{0};
  clock::time_point time_{};
  bool absolute_ = false;
};

}  // namespace takt::inline TAKT_ABI

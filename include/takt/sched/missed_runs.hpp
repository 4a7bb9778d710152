/// \file
/// The policy for runs of a periodic task that could not begin in time.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <takt/base/config.hpp>
#include <takt/clock/time.hpp>

namespace takt::inline TAKT_ABI {

/// The policy for a fixed-rate series that is behind. A series is behind if its last run took long,
/// if all threads were busy, or if the process was suspended.
///
/// \code
/// auto a = pool.schedule_at_fixed_rate(0s, 10ms, poll);  // the pool's policy
/// auto b = pool.schedule_at_fixed_rate(0s, 10ms, bill, {.missed = takt::catch_up});  // every run
/// auto c = pool.schedule_at_fixed_rate(0s, 10ms, draw, {.missed = takt::catch_up_within(0s)});
/// \endcode
///
/// The run that is due always takes place, however late. If the next run would be late by at most
/// the tolerance (one second by default), the series catches up: runs follow each other without a
/// pause. Otherwise all runs whose time has passed are skipped and counted as missed, and the
/// series continues with the next point of its grid. So a process that was suspended for an hour
/// does not make up for an hour of runs.
///
/// **Thread safety.** A plain value, not synchronized.
class missed_runs {
 public:
  /// Constructs the default: a tolerance of one second.
  constexpr missed_runs() noexcept = default;
  /// Constructs a policy with a tolerance. \throws std::invalid_argument if it is negative.
  constexpr explicit missed_runs(std::chrono::nanoseconds tolerance) : tolerance_(tolerance) {
    if (tolerance < std::chrono::nanoseconds(0)) {
      throw std::invalid_argument("takt::missed_runs: the tolerance is negative (" +
                                  std::to_string(tolerance.count()) + " ns)");
    }
  }
  [[nodiscard]] constexpr std::chrono::nanoseconds tolerance() const noexcept { return tolerance_; }

 private:
  std::chrono::nanoseconds tolerance_ = std::chrono::seconds(1);
};

/// Skips no run, however far behind the series is; as in java.util.concurrent.
inline constexpr missed_runs catch_up{never};

/// Catches up while the next run is late by at most `tolerance`. With 0, all runs that have passed
/// when a late run ends are skipped.
/// \throws std::invalid_argument if `tolerance` is negative or NaN.
template <class Rep, class Period>
[[nodiscard]] missed_runs catch_up_within(std::chrono::duration<Rep, Period> tolerance) {
  return missed_runs(to_nanoseconds(tolerance));
}

}  // namespace takt::inline TAKT_ABI

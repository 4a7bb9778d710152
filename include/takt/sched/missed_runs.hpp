/// \file
/// What becomes of the runs of a periodic task that could not begin in time.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <takt/base/config.hpp>
#include <takt/clock/time.hpp>

namespace takt::inline TAKT_ABI {

/// What a fixed rate does when it is behind: because its last run took long, all threads were busy,
/// or the process was stopped for a while.
///
/// \code
/// auto a = pool.schedule_at_fixed_rate(0s, 10ms, poll);  // the pool's policy
/// auto b = pool.schedule_at_fixed_rate(0s, 10ms, bill, {.missed = takt::catch_up});  // every one
/// auto c = pool.schedule_at_fixed_rate(0s, 10ms, draw, {.missed = takt::catch_up_within(0s)});
/// \endcode
///
/// The run that waits is made, however late it is. As long as the next one would be late by no more
/// than the tolerance, it catches up: runs follow each other without a pause. Otherwise all whose
/// time has passed are left out and counted, and it goes on with the next one of its grid. So a
/// process that was stopped for an hour does not wake up to a storm.
///
/// **Thread safety**: as for an int.
class missed_runs {
 public:
  /// Catches up while it is behind by one second at most.
  constexpr missed_runs() noexcept = default;
  /// \throws std::invalid_argument if it is negative.
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

/// No run is left out, however far behind it is; as in java.util.concurrent.
inline constexpr missed_runs catch_up{never};

/// Catches up while it is behind by no more than that; 0: after a late run, what has passed is left
/// out.
/// \throws std::invalid_argument if it is negative.
template <class Rep, class Period>
[[nodiscard]] missed_runs catch_up_within(std::chrono::duration<Rep, Period> tolerance) {
  return missed_runs(to_nanoseconds(tolerance));
}

}  // namespace takt::inline TAKT_ABI

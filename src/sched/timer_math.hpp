/// Due times of timers: slack, and the next run of a series.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/sched/timer_handle.hpp>

namespace takt::inline TAKT_ABI {

/// The binary logarithm of a slack, rounded down; 0 for a slack of 0. Requires a slack that is not
/// negative.
inline std::uint8_t slack_bits(std::chrono::nanoseconds slack) noexcept {
  return static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(slack.count()) | 1) -
                                   1);
}

/// Rounds `due` up to a multiple of 2^bits ns, so that near deadlines coincide. Returns `due`
/// itself if the result would be max(), which means never.
inline clock::time_point rounded(clock::time_point due, unsigned bits) noexcept {
  if (bits == 0) return due;
  const std::uint64_t below = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t up = -static_cast<std::uint64_t>(due.time_since_epoch().count()) & below;
  const auto next = deadline_after(due, std::chrono::nanoseconds(static_cast<std::int64_t>(up)));
  return next == clock::time_point::max() ? due : next;
}

/// The next deadline of a series whose run was due at `due` and has ended now, and how many runs it
/// skips.
inline std::pair<clock::time_point, std::uint64_t> next_run(const detail::period_state& p,
                                                            clock::time_point due,
                                                            clock::time_point now) noexcept {
  if (p.after_end) return {deadline_after(now, p.period), 0};
  const clock::time_point next = deadline_after(due, p.period);
  if (next >= now || time_between(next, now) <= p.missed.tolerance()) return {next, 0};
  // Unsigned, as the difference may exceed the range of a duration.
  const auto first = static_cast<std::uint64_t>(next.time_since_epoch().count());
  const auto late = static_cast<std::uint64_t>(now.time_since_epoch().count()) - first;
  const auto period = static_cast<std::uint64_t>(p.period.count());
  TAKT_ASSERT(period != 0);  // at a fixed rate
  const std::uint64_t before_last = (late - 1) / period;
  const clock::time_point last(
      std::chrono::nanoseconds(static_cast<std::int64_t>(first + period * before_last)));
  return {deadline_after(last, p.period), before_last + 1};
}

}  // namespace takt::inline TAKT_ABI

/// \file
/// Conversions of durations and deadlines without overflow.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <stdexcept>
#include <type_traits>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// The infinite delay. Durations too long for std::chrono::nanoseconds convert to it.
inline constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

/// Converts a duration to nanoseconds, rounded up, so that no wait for it ends early.
///
/// Durations longer than about 292 years, such as `std::chrono::hours::max()`, give `never`.
/// Durations below about -292 years give nanoseconds::min().
///
/// \code
/// takt::to_nanoseconds(std::chrono::duration<double, std::milli>(1.5));  // 1'500'000
/// takt::to_nanoseconds(std::chrono::hours::max());                       // takt::never
/// \endcode
///
/// \throws std::invalid_argument if the duration is NaN.
template <class Rep, class Period>
  requires std::is_arithmetic_v<Rep>
[[nodiscard]] constexpr std::chrono::nanoseconds to_nanoseconds(
    std::chrono::duration<Rep, Period> d) noexcept(std::integral<Rep>) {
  using std::chrono::nanoseconds;
  using factor = std::ratio_divide<Period, std::nano>;
  constexpr auto lowest = nanoseconds::min().count();
  constexpr auto highest = nanoseconds::max().count();
  if constexpr (std::same_as<std::chrono::duration<Rep, Period>, nanoseconds>) {
    return d;
  } else if constexpr (std::floating_point<Rep>) {
    const auto count = static_cast<long double>(d.count());
    if (count != count) {
      throw std::invalid_argument("takt: a duration is not a number (NaN)");
    }
    const long double exact = count * factor::num / factor::den;
    if (exact >= static_cast<long double>(highest)) return nanoseconds::max();
    if (exact <= static_cast<long double>(lowest)) return nanoseconds::min();
    auto whole = static_cast<std::int64_t>(exact);  // truncates, which rounds up a negative number
    if (static_cast<long double>(whole) < exact) ++whole;
    return nanoseconds(whole);
  } else {
    __extension__ using wide = __int128;  // holds any product of two 64-bit numbers
    const wide scaled = static_cast<wide>(d.count()) * factor::num;
    const wide whole = scaled / factor::den + (scaled > 0 && scaled % factor::den != 0 ? 1 : 0);
    if (whole >= highest) return nanoseconds::max();
    if (whole <= lowest) return nanoseconds::min();
    return nanoseconds(static_cast<nanoseconds::rep>(whole));
  }
}

/// Returns `now` + `delay`, rounded up. `never`, and any sum beyond the range, gives
/// time_point::max(); a sum below the range gives time_point::min(). It never wraps around.
///
/// \code
/// takt::deadline_after(takt::steady.now(), 30s);
/// takt::deadline_after(takt::steady.now(), std::chrono::hours::max());  // time_point::max()
/// \endcode
///
/// \throws std::invalid_argument if the delay is NaN.
template <class Clock, class Rep, class Period>
  requires std::is_arithmetic_v<Rep>
[[nodiscard]] constexpr std::chrono::time_point<Clock, std::chrono::nanoseconds> deadline_after(
    std::chrono::time_point<Clock, std::chrono::nanoseconds> now,
    std::chrono::duration<Rep, Period> delay) noexcept(std::integral<Rep>) {
  using time_point = std::chrono::time_point<Clock, std::chrono::nanoseconds>;
  const std::chrono::nanoseconds d = to_nanoseconds(delay);
  if (d == never) return time_point::max();
  if (d.count() >= 0 && now > time_point::max() - d) return time_point::max();
  if (d.count() < 0 && now < time_point::min() - d) return time_point::min();
  return now + d;
}

/// Returns `to` - `from`, negative if `to` is earlier. Differences beyond the range give `never` or
/// nanoseconds::min(). The time until time_point::max() is `never`.
///
/// \code
/// takt::time_between(takt::steady.now(), deadline);
/// \endcode
template <class Clock>
[[nodiscard]] constexpr std::chrono::nanoseconds time_between(
    std::chrono::time_point<Clock, std::chrono::nanoseconds> from,
    std::chrono::time_point<Clock, std::chrono::nanoseconds> to) noexcept {
  using time_point = std::chrono::time_point<Clock, std::chrono::nanoseconds>;
  if (to == time_point::max()) return never;
  const std::chrono::nanoseconds start = from.time_since_epoch();
  if (start.count() < 0 && to > time_point::max() + start) return never;
  if (start.count() > 0 && to < time_point::min() + start) return std::chrono::nanoseconds::min();
  return to - from;
}

}  // namespace takt::inline TAKT_ABI

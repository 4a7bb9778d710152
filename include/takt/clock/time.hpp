/// \file
/// Durations and deadlines that never overflow.
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

/// The delay that never ends. A duration that is too long to be counted in nanoseconds becomes it.
inline constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

/// The duration in nanoseconds, rounded up, so that nothing that waits for it is early.
///
/// Longer than about 292 years, as `std::chrono::hours::max()` is, gives `never`; shorter than
/// about -292 years gives nanoseconds::min().
///
/// \code
/// takt::to_nanoseconds(std::chrono::duration<double, std::milli>(1.5));  // 1'500'000
/// takt::to_nanoseconds(std::chrono::hours::max());                       // takt::never
/// \endcode
///
/// \throws std::invalid_argument if it is not a number (NaN).
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
    auto whole = static_cast<std::int64_t>(exact);  // towards zero, which is up if negative
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

/// The time `delay` after `now`, rounded up. `never` gives time_point::max(), and so does whatever
/// would be beyond it: no sum of a time and a delay wraps around.
///
/// \code
/// takt::deadline_after(takt::steady.now(), 30s);
/// takt::deadline_after(takt::steady.now(), std::chrono::hours::max());  // time_point::max()
/// \endcode
///
/// \throws std::invalid_argument if the delay is not a number (NaN).
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

/// How long it is from one time to another: below 0 if that is earlier. What is beyond counting is
/// the largest or the least number, and what is until time_point::max() is `never`.
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

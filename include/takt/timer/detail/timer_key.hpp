/// \file
/// Time as the orders of timers count it.
#pragma once

#include <chrono>
#include <cstdint>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A deadline of a timer: that of takt::clock. time_point::max() is never.
using timer_deadline = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

/// The deadline as orders have it: nanoseconds without a sign, from time_point::min() on. For
/// timer_set, and for who has an order without one.
///
/// \code
/// order.add(place, takt::timer_key(deadline));
/// const auto next = takt::timer_time(order.next());
/// \endcode
constexpr std::uint64_t timer_key(timer_deadline t) noexcept {
  return static_cast<std::uint64_t>(t.time_since_epoch().count()) ^ std::uint64_t{1} << 63;
}
/// And back. The largest key is time_point::max().
constexpr timer_deadline timer_time(std::uint64_t key) noexcept {
  return timer_deadline(
      std::chrono::nanoseconds(static_cast<std::int64_t>(key ^ std::uint64_t{1} << 63)));
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

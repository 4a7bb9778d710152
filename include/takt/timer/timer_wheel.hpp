/// \file
/// A hierarchical wheel of timers: for many timers, of any delay.
#pragma once

#include <takt/base/config.hpp>
#include <takt/timer/detail/wheel_order.hpp>
#include <takt/timer/timer_set.hpp>

namespace takt::inline TAKT_ABI {

/// Many timers, of any delay. Members: see timer_set.
template <class T>
using timer_wheel = timer_set<T, detail::wheel_order>;

}  // namespace takt::inline TAKT_ABI

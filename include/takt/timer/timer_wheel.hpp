/// \file
/// A hierarchical timing wheel.
#pragma once

#include <takt/base/config.hpp>
#include <takt/timer/detail/wheel_order.hpp>
#include <takt/timer/timer_set.hpp>

namespace takt::inline TAKT_ABI {

/// A hierarchical timing wheel (Varghese and Lauck): for many timers with any delays. Members: see
/// timer_set.
template <class T>
using timer_wheel = timer_set<T, detail::wheel_order>;

}  // namespace takt::inline TAKT_ABI

/// \file
/// A hashed timing wheel.
#pragma once

#include <takt/base/config.hpp>
#include <takt/timer/detail/hashed_order.hpp>
#include <takt/timer/hashed_wheel_options.hpp>
#include <takt/timer/timer_set.hpp>

namespace takt::inline TAKT_ABI {

/// A hashed timing wheel (Varghese and Lauck): for many timers, most of them due within one
/// revolution, `tick * slots`. Members: see timer_set; options: see hashed_wheel_options.
template <class T>
using hashed_wheel = timer_set<T, detail::hashed_order>;

}  // namespace takt::inline TAKT_ABI

/// \file
/// A wheel of many slots: for many timers, most of them nearer than a turn.
#pragma once

#include <takt/base/config.hpp>
#include <takt/timer/detail/hashed_order.hpp>
#include <takt/timer/hashed_wheel_options.hpp>
#include <takt/timer/timer_set.hpp>

namespace takt::inline TAKT_ABI {

/// Many timers, most of which are nearer than a turn. Members: see timer_set.
template <class T>
using hashed_wheel = timer_set<T, detail::hashed_order>;

}  // namespace takt::inline TAKT_ABI

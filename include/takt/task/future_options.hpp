/// \file
/// The options of futures.
#pragma once

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// Which clock a future waits with, and who hears of an error that nobody has seen. Both have to
/// outlive the future.
struct future_options {
  const clock* time = &steady;                                ///< for wait_for() and wait_until()
  const unhandled_hook* unhandled = &terminate_on_unhandled;  ///< see unhandled_hook
};

}  // namespace takt::inline TAKT_ABI

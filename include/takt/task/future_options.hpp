/// \file
/// The options of futures.
#pragma once

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a future. Both objects must outlive the future; null is std::invalid_argument.
struct future_options {
  const clock* time = &steady;  ///< Clock for wait_for() and wait_until().
  const unhandled_hook* unhandled = &terminate_on_unhandled;  ///< Receives unobserved errors.
};

}  // namespace takt::inline TAKT_ABI

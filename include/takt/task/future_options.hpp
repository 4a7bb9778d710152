/// \file
/// The options of futures.
#pragma once

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a future. Clock and hook must outlive the future. Neither may be null: promise and
/// future_task throw std::invalid_argument then.
struct future_options {
  const clock* time = &steady;  ///< Clock for wait_for() and wait_until().
  const unhandled_hook* unhandled = &terminate_on_unhandled;  ///< Receives unobserved errors.
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// The options of hashed_wheel.
#pragma once

#include <chrono>
#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// The options of a hashed_wheel<T>.
struct hashed_wheel_options {
  /// Width of a slot, at least 1 ns. Deadlines are not rounded to it: the timers of a slot are
  /// sorted when the slot is due.
  std::chrono::nanoseconds tick = std::chrono::milliseconds(10);

  /// Number of slots: a power of two, at most 2^24. One revolution of the wheel is `tick * slots`.
  std::size_t slots = 512;
};

}  // namespace takt::inline TAKT_ABI

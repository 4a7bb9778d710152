/// \file
/// The options of hashed_wheel.
#pragma once

#include <chrono>
#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// How a hashed_wheel<T> is made.
struct hashed_wheel_options {
  /// The width of a slot; at least 1 ns. It is what is sorted at once, and no rounding: deadlines
  /// are exact.
  std::chrono::nanoseconds tick = std::chrono::milliseconds(10);

  /// How many slots there are; a power of two, at most 2^24. A turn is as long as all of them.
  std::size_t slots = 512;
};

}  // namespace takt::inline TAKT_ABI

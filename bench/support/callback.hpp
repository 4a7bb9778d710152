/// \file
/// The callback of timers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tally.hpp"

namespace bench {

/// 32 bytes: a counter, and as much data as a time-out needs to refer to its object.
struct timer_callback {
  tally* fired;
  std::array<std::uint64_t, 3> words;

  void operator()() const { fired->add(); }
};
static_assert(sizeof(timer_callback) == 32);

}  // namespace bench

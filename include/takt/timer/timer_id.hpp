/// \file
/// Names timers.
#pragma once

#include <cstdint>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Names one timer of one timer_set, for as long as the set exists. Made by insert(); one that is
/// default-constructed names none: its generation is 0, which no timer has. When the timer is gone
/// the handle is stale, for ever: a generation has 64 bits and is not used again.
///
/// **Thread safety**: as for an int. **Destruction** does nothing to the timer.
struct timer_id {
  std::uint64_t generation = 0;
  std::uint32_t index = 0;

  friend bool operator==(const timer_id&, const timer_id&) = default;
};

}  // namespace takt::inline TAKT_ABI

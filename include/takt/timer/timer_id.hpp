/// \file
/// The handle of a timer in a timer_set.
#pragma once

#include <cstdint>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// The handle of one timer of one timer_set, returned by insert(). It may be passed to the set as
/// long as the set exists. When the timer is gone, the handle is stale for ever and refers to no
/// timer: a generation has 64 bits and is never reused. A default-constructed handle has generation
/// 0 and refers to no timer.
///
/// **Thread safety**: as for an int. **Destruction** does not affect the timer.
struct timer_id {
  std::uint64_t generation = 0;
  std::uint32_t index = 0;

  friend bool operator==(const timer_id&, const timer_id&) = default;
};

}  // namespace takt::inline TAKT_ABI

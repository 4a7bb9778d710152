// The heap of a run: detects blocks that are leaked or freed twice.
//
// Replaces the global operator new and delete of the model build. Memory freed during a run is kept
// until the run ends, so that a late use finds a dead object and not a new one at the same address.
// With ASan or TSan nothing is replaced: the heap is left to them.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

// Sets whether allocations from now on belong to the run or are the checker's own. Returns the
// previous setting.
bool track_allocations(bool on) noexcept;

struct allocations {
  std::size_t blocks = 0;
  std::size_t bytes = 0;
};
// Ends tracking and frees the memory that the run has freed. Returns the totals of the run's leaks,
// which stay allocated.
allocations end_of_allocations() noexcept;

}  // namespace model
}  // namespace takt::inline TAKT_ABI

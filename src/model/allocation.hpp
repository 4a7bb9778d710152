// The heap of a run: finds blocks that are not freed, or freed twice.
//
// Replaces the global operator new and delete of the model build. Memory that is freed during a run
// is kept until its end, so that a late use finds a dead object instead of a new one at the same
// address. With ASan or TSan nothing is replaced: the heap is left to them.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

// Whether allocations belong to the run from now on, or are the checker's own. Returns what it was
// until now.
bool track_allocations(bool on) noexcept;

struct allocations {
  std::size_t blocks = 0;
  std::size_t bytes = 0;
};
// Ends tracking and really frees what the run has freed. Returns what the run has not freed, which
// stays allocated.
allocations end_of_allocations() noexcept;

}  // namespace model
}  // namespace takt::inline TAKT_ABI

// Heap memory of a run: what it leaves behind, what it frees twice.
//
// Replaces the global operator new and delete of the model build. Memory freed during a run is
// kept until its end, so that a late use finds a dead object instead of a new one at the same
// address. With a sanitizer it does nothing: those do it better.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

// From here on allocations belong to the run, or else are the checker's own. What it was before.
bool track_allocations(bool on) noexcept;

struct allocations {
  std::size_t blocks = 0;
  std::size_t bytes = 0;
};
// Ends tracking, gives back what the run freed, and tells what it did not free. That stays
// allocated.
allocations end_of_allocations() noexcept;

}  // namespace model
}  // namespace takt::inline TAKT_ABI

#include <takt/observe/task_observer.hpp>

namespace takt::inline TAKT_ABI {

// Defined here as the key function: one vtable instead of one in each object file.
task_observer::~task_observer() = default;

}  // namespace takt::inline TAKT_ABI

#include <takt/observe/task_observer.hpp>

namespace takt::inline TAKT_ABI {

// Here, so that there is one table of virtual functions and not one in each user's object file.
task_observer::~task_observer() = default;

}  // namespace takt::inline TAKT_ABI

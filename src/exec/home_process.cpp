#include <takt/exec/home_process.hpp>

#include "os.hpp"

namespace takt::inline TAKT_ABI {

home_process::home_process() noexcept : id_(os::process_id()) {}
bool home_process::is_here() const noexcept { return id_ == os::process_id(); }

}  // namespace takt::inline TAKT_ABI

#include <takt/exec/detail/fork_guard.hpp>

#include "../base/os.hpp"

namespace takt::inline TAKT_ABI {

detail::fork_guard::fork_guard() noexcept : id_(os::process_id()) {}
bool detail::fork_guard::is_here() const noexcept { return id_ == os::process_id(); }

}  // namespace takt::inline TAKT_ABI

#include <takt/exec/thread_options.hpp>

#include <algorithm>

#include <takt/base/detail/sync.hpp>

#include "../base/os.hpp"

namespace takt::inline TAKT_ABI {

std::size_t default_pool_size() noexcept {
  std::size_t size = os::allowed_cpus();
  if (size == 0) size = sync::thread::hardware_concurrency();
  if (const std::size_t limit = os::cgroup_cpus(); limit != 0) size = std::min(size, limit);
  return std::max<std::size_t>(size, 1);
}

}  // namespace takt::inline TAKT_ABI

#include "tool_limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "tool.hpp"

namespace tool {

std::size_t free_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // on failure the limit is unchanged
  getrlimit(RLIMIT_NOFILE, &limit);
  std::error_code error;
  std::size_t used = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    ++used;
  }
  constexpr std::size_t own = 16;  // for signals, the output, and files opened later
  const std::size_t all = std::min<std::size_t>(limit.rlim_cur, 1'000'000);
  return all - std::min(all, std::max(used, std::size_t{3}) + own);
}

std::size_t parallel_limit(const parallel_work& work, std::size_t wanted, bool is_given) {
  const std::size_t possible = free_descriptors() / work.descriptors_each;
  if (wanted <= possible) return wanted;
  if (is_given || possible == 0) {
    throw misuse(work.doing + ' ' + std::to_string(wanted) + ' ' + work.things +
                 " at a time needs more open files than this process may have; they are enough " +
                 "for " + std::to_string(possible) + " (" + work.option + ", ulimit -n)");
  }
  return possible;
}

}  // namespace tool

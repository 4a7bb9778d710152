/// \file
/// A tree of children, the work of the workload spawn.
#pragma once

#include <cstdint>

#include <takt/exec/fork_join.hpp>
#include <takt/exec/stealing_pool.hpp>

namespace bench {

/// Counts the leaves of a binary tree by children of a task.
inline std::int64_t leaves(std::int64_t depth, takt::stealing_pool& pool) {
  if (depth == 0) return 1;
  std::int64_t left = 0;
  takt::fork_join children(pool);
  children.spawn([&] { left = leaves(depth - 1, pool); });
  const std::int64_t right = leaves(depth - 1, pool);
  children.join();
  return left + right;
}

}  // namespace bench

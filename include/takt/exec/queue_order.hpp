/// \file
/// How many tasks a queue takes, and in which order they leave it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// No limit: of a queue, of threads, of tasks in a row.
inline constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

/// In which order tasks leave a queue.
enum class queue_order : std::uint8_t {
  fifo,      ///< As they came.
  priority,  ///< The largest task_options::priority first; equals as they came.
};

}  // namespace takt::inline TAKT_ABI

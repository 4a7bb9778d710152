/// \file
/// Order and bounds of queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// No limit: for the capacity of a queue, a number of threads, the batch of a serial_executor.
inline constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

/// The order in which tasks leave a queue.
enum class queue_order : std::uint8_t {
  fifo,      ///< In order of submission.
  priority,  ///< Largest task_options::priority first; equal priorities in order of submission.
};

}  // namespace takt::inline TAKT_ABI

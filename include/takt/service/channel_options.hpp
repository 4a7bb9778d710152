/// \file
/// Options, statistics and results of a channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/service/when_full.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a channel.
struct channel_options {
  std::size_t capacity = 64;                ///< Maximum number of queued values; at least 1.
  when_full rejection = when_full::wait();  ///< Policy of push() for a full channel.
  const clock* time = &steady;              ///< Clock for deadlines. Must outlive the channel.
};

/// Totals of a channel, all of one moment.
struct channel_statistics {
  std::uint64_t accepted = 0;   ///< Values that were queued.
  std::uint64_t taken = 0;      ///< Accepted values that a consumer got.
  std::uint64_t discarded = 0;  ///< Accepted values removed by an abort.
  std::uint64_t dropped = 0;    ///< Values not accepted because the channel was full: drop().
  std::uint64_t refused = 0;    ///< Values not accepted for any other reason.
  std::size_t queued = 0;       ///< accepted - taken - discarded.
  std::size_t waiting = 0;      ///< Producers that wait for room.
};

/// Outcome of a push.
enum class push_result : std::uint8_t {
  accepted,  ///< The value is queued.
  full,      ///< There was no room by the deadline.
  stopped,   ///< Stop was requested before there was room.
  closed,    ///< The channel is closed or aborted.
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// What a channel is made with, and what it tells.
#pragma once

#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/service/when_full.hpp>

namespace takt::inline TAKT_ABI {

/// How a channel is made.
struct channel_options {
  std::size_t capacity = 64;                ///< How many values wait at most; at least 1.
  when_full rejection = when_full::wait();  ///< What push() does if there are as many.
  const clock* time = &steady;              ///< For waiting. Outlives the channel.
};

/// What a channel has seen. Plain values, of one moment.
struct channel_statistics {
  std::uint64_t accepted = 0;   ///< Values that were taken in.
  std::uint64_t taken = 0;      ///< Of them, those that a consumer has got.
  std::uint64_t discarded = 0;  ///< Of them, taken out by abort() or the last consumer's end.
  std::uint64_t dropped = 0;    ///< Not taken in: no room, with when_full::drop().
  std::uint64_t refused = 0;    ///< Not taken in for any other reason.
  std::size_t queued = 0;       ///< accepted - taken - discarded.
  std::size_t waiting = 0;      ///< Producers that wait for room.
};

/// What became of a value that was offered to a channel.
enum class push_result : std::uint8_t {
  accepted,  ///< It is in.
  full,      ///< There was no room by the deadline.
  stopped,   ///< Stop was requested before there was room.
  closed,    ///< The channel takes no more.
};

}  // namespace takt::inline TAKT_ABI

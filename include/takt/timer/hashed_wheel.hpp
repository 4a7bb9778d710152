/// \file
/// The order of timers in a wheel of one level: for many timers, most of them nearer than a turn.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/fwd.hpp>
#include <takt/timer/timer_hints.hpp>
#include <takt/timer/timer_set.hpp>
#include <takt/timer/timer_table.hpp>

namespace takt::inline TAKT_ABI {

/// How a hashed_wheel<T> is made.
struct hashed_wheel_options {
  /// The width of a slot; at least 1 ns. It is what is searched at once, and no rounding: deadlines
  /// are exact.
  std::chrono::nanoseconds tick = std::chrono::milliseconds(10);

  /// How many slots there are; a power of two, at most 2^24. A turn is as long as all of them.
  std::size_t slots = 512;
};

/// The order of hashed_wheel<T>: a ring of slots; a timer is in the slot of its tick, modulo the
/// number of slots, for as many turns as it takes. insert(), remove() and reschedule() take O(1).
/// Handing back takes O(1) and a part in sorting a slot, and each turn looks again at those timers
/// which share a slot with one that is due in this turn. next_deadline() takes up to O(slots).
/// hashed_wheel.cpp has the invariants.
///
/// \code
/// takt::hashed_wheel<int> wheel{{.tick = 1ms, .slots = 1024}};
/// wheel.insert(deadline, 42);
/// \endcode
///
/// For timer_set: timers are places of its table, deadlines are numbers. Only the constructor and
/// reserve() allocate. **Thread safety**: none. **Destruction**: nothing to it.
class hashed_order {
 public:
  using options = hashed_wheel_options;

  /// \throws std::invalid_argument for options that do not fit, with the value and the limit.
  explicit hashed_order(const options& chosen);

  /// Makes room for the places below `places`. Strong guarantee.
  void reserve(std::size_t places) { hints_.reserve(places); }

  /// The place is not pending.
  void add(std::uint32_t index, std::uint64_t key) noexcept {
    if (hints_.full()) [[unlikely]] {
      compact();
    }
    const timer_hint h = hints_.arm(index, key);
    const std::uint64_t tick = key / tick_;
    if (tick > cursor_) {
      const std::size_t at = slot_of(tick);
      slot& s = slots_[at];
      occupied_[at / 64] |= std::uint64_t{1} << at % 64;
      hints_.append(s.hints, h);
      s.least = std::min(s.least, key);
    } else {
      hints_.append(late_, h);
      late_least_ = std::min(late_least_, key);
    }
  }

  /// Does nothing if the place is not pending.
  void remove(std::uint32_t index) noexcept {
    if (hints_.pending(index) && hints_.disarm(index)) compact();
  }

  /// Makes those up to `now` expire, as many as fit. Sets the index of each handle only.
  std::size_t advance(std::uint64_t now, std::span<timer_id> expired) noexcept;

  /// A key that is not after the earliest; the largest number if there is none.
  [[nodiscard]] std::uint64_t next() const noexcept;

  /// How many are pending.
  [[nodiscard]] std::size_t size() const noexcept { return hints_.size(); }

  /// For tests and fuzzers.
  [[nodiscard]] bool check_invariants(std::uint64_t now) const;

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  struct slot {
    timer_hints::list hints;
    std::uint64_t least = none;  // no hint has a smaller key
  };

  [[nodiscard]] std::size_t slot_of(std::uint64_t tick) const noexcept {
    return static_cast<std::size_t>(tick) & (slots_.size() - 1);
  }

  [[nodiscard]] std::size_t gap(std::uint64_t tick, std::size_t most) const noexcept;
  void settle_late() noexcept;
  void collect(std::size_t at, std::uint64_t tick) noexcept;
  void open_next(std::uint64_t until) noexcept;
  void compact() noexcept;
  void note_if_empty(std::size_t at) noexcept;

  // Constant after construction.
  std::uint64_t tick_;

  std::vector<slot> slots_;
  std::vector<std::uint64_t> occupied_;  // a bit for each slot that has hints
  timer_hints hints_;
  std::uint64_t cursor_ = 0;  // a tick
  timer_hints::list due_;     // ordered
  timer_hints::list late_;    // not ordered
  std::uint64_t late_least_ = none;
};

}  // namespace takt::inline TAKT_ABI

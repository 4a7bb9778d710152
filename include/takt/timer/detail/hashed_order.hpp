/// \file
/// The order of timers in a wheel of many slots: for many timers, most of them nearer than a turn.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/timer/detail/slot_map.hpp>
#include <takt/timer/detail/wheel_buckets.hpp>
#include <takt/timer/hashed_wheel_options.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The order of hashed_wheel<T>: a ring of slots, one for each tick of the turn that is under way;
/// timers of later turns wait in a few lists, by how many turns they are away, and come nearer when
/// those turns begin: at most once for each factor of 16. insert(), remove() and reschedule() take
/// O(1), handing back O(1) and a part in sorting a slot. next_deadline() takes up to O(slots / 64).
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
  using options_type = hashed_wheel_options;

  /// \throws std::invalid_argument for options that do not fit, with the value and the limit.
  explicit hashed_order(const options_type& options);

  /// Makes room for the places below `places`. Strong guarantee.
  void reserve(std::size_t places) { hints_.reserve(places); }

  /// The place is not pending.
  void add(std::uint32_t index, std::uint64_t key) noexcept {
    if (hints_.full()) [[unlikely]] {
      compact();
    }
    const wheel_entry h = hints_.arm(index, key);
    const std::uint64_t tick = tick_of(key);
    if (tick > cursor_) {
      place(h, tick);
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
  // The number of a turn has digits of so many bits, of which each level of later turns has one.
  // Not more: there has to be room for a chunk in each slot.
  static constexpr unsigned digit_bits = 4;
  static constexpr std::size_t digits = std::size_t{1} << digit_bits;
  static constexpr std::size_t levels = (64 + digit_bits - 1) / digit_bits;

  struct slot {
    wheel_buckets::list hints;
    std::uint64_t least = none;  // no hint has a smaller key
  };
  struct level {
    std::uint64_t occupied = 0;  // a bit for each slot that has hints
    std::array<slot, digits> slots{};
  };

  [[nodiscard]] std::uint64_t tick_of(std::uint64_t key) const noexcept {
    return tick_ == 1 ? key : key / tick_;  // a division takes as long as all the rest
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t tick) const noexcept {
    return static_cast<std::size_t>(tick) & (slots_.size() - 1);
  }
  // Of a tick that is not in the cursor's turn: the highest digit that differs.
  [[nodiscard]] std::size_t level_of(std::uint64_t tick) const noexcept {
    return static_cast<std::size_t>(std::bit_width((tick ^ cursor_) >> turn_bits_) - 1) /
           digit_bits;
  }
  [[nodiscard]] std::size_t digit_of(std::uint64_t tick, std::size_t at) const noexcept {
    return static_cast<std::size_t>(tick >> turn_bits_ >> (at * digit_bits)) % digits;
  }

  void place(const wheel_entry& h, std::uint64_t tick) noexcept {
    slot* to = nullptr;
    if ((tick ^ cursor_) >> turn_bits_ == 0) {
      const std::size_t at = slot_of(tick);
      occupied_[at / 64] |= std::uint64_t{1} << at % 64;
      to = &slots_[at];
    } else {
      const std::size_t at = level_of(tick);
      const std::size_t digit = digit_of(tick, at);
      later_[at].occupied |= std::uint64_t{1} << digit;
      to = &later_[at].slots[digit];
    }
    hints_.append(to->hints, h);
    to->least = std::min(to->least, h.key);
  }

  [[nodiscard]] std::size_t first_slot() const noexcept;
  [[nodiscard]] std::size_t lowest_level() const noexcept;
  void settle_late() noexcept;
  bool open_next(std::uint64_t until) noexcept;
  void compact() noexcept;

  // Constant after construction.
  std::uint64_t tick_;
  unsigned turn_bits_;  // a turn has 2^turn_bits_ ticks

  std::vector<slot> slots_;
  std::vector<std::uint64_t> occupied_;  // a bit for each slot that has hints
  std::array<level, levels> later_{};    // turns
  wheel_buckets hints_;
  std::uint64_t cursor_ = 0;  // a tick
  wheel_buckets::list due_;   // ordered
  wheel_buckets::list late_;  // not ordered
  std::uint64_t late_least_ = none;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

/// \file
/// The order of timers in a hierarchical wheel: for many timers, of any delay.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/timer/detail/slot_map.hpp>
#include <takt/timer/detail/wheel_buckets.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The order of timer_wheel<T>: levels of 64 slots, each level 64 times as coarse as the one below.
/// insert(), remove() and reschedule() take O(1), handing back O(1) and a part in sorting a slot.
/// Deadlines are exact to the nanosecond, far ones need no list of their own, and there is no tick
/// that has to be driven: time may pass in steps of any size. timer_wheel.cpp has the invariants.
///
/// \code
/// takt::timer_wheel<int> wheel;
/// wheel.insert(deadline, 42);
/// \endcode
///
/// For timer_set: timers are places of its table, deadlines are numbers. Only reserve() allocates.
/// **Thread safety**: none. **Destruction**: nothing to it.
class wheel_order {
 public:
  /// There is nothing to choose.
  struct options_type {};

  explicit wheel_order(const options_type& /*options*/) noexcept : hints_(levels * slots + 2) {}

  /// Makes room for the places below `places`. Strong guarantee.
  void reserve(std::size_t places) { hints_.reserve(places); }

  /// The place is not pending.
  void add(std::uint32_t index, std::uint64_t key) noexcept {
    if (hints_.full()) [[unlikely]] {
      compact();
    }
    const wheel_entry h = hints_.arm(index, key);
    if (tick_of(key) > cursor_) {
      place(h);
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

  /// If a slot has gone into the lowest level since the last call, calls f(place) for each that is
  /// in that level now: their turn is soon, and who has their values may fetch them.
  template <class F>
  void for_new_near(F f) noexcept {
    if (!std::exchange(refilled_, false)) return;
    const level& l = levels_[0];
    for (std::uint64_t left = l.occupied; left != 0; left &= left - 1) {
      const auto digit = static_cast<std::size_t>(std::countr_zero(left));
      wheel_buckets::for_each(l.slot_of[digit].hints, [&](const wheel_entry& h) { f(h.index); });
    }
  }

  /// A key that is not after the earliest; the largest number if there is none.
  [[nodiscard]] std::uint64_t next() const noexcept;

  /// How many are pending.
  [[nodiscard]] std::size_t size() const noexcept { return hints_.size(); }

  /// For tests and fuzzers.
  [[nodiscard]] bool check_invariants(std::uint64_t now) const;

 private:
  // A slot of the lowest level is 2^tick_bits ns wide, a level has 2^digit_bits slots.
  static constexpr int tick_bits = 20;
  static constexpr int digit_bits = 6;
  static constexpr std::size_t slots = std::size_t{1} << digit_bits;
  static constexpr std::size_t levels = (64 - tick_bits + digit_bits - 1) / digit_bits;
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  struct slot {
    wheel_buckets::list hints;
    std::uint64_t least = none;  // no hint has a smaller key
  };
  struct level {
    std::uint64_t occupied = 0;  // a bit for each slot that has hints
    std::array<slot, slots> slot_of{};
  };

  static constexpr std::uint64_t tick_of(std::uint64_t key) noexcept { return key >> tick_bits; }

  // The place of a tick after the cursor: by its highest digit that differs from the cursor's.
  [[nodiscard]] std::size_t level_of(std::uint64_t tick) const noexcept {
    return static_cast<std::size_t>(std::bit_width(tick ^ cursor_) - 1) / digit_bits;
  }
  static constexpr std::size_t digit_of(std::uint64_t tick, std::size_t at) noexcept {
    return static_cast<std::size_t>(tick >> (at * digit_bits)) % slots;
  }

  void place(const wheel_entry& h) noexcept {
    const std::uint64_t tick = tick_of(h.key);
    const std::size_t at = level_of(tick);
    const std::size_t digit = digit_of(tick, at);
    level& l = levels_[at];
    l.occupied |= std::uint64_t{1} << digit;
    slot& s = l.slot_of[digit];
    hints_.append(s.hints, h);
    s.least = std::min(s.least, h.key);
  }

  [[nodiscard]] std::size_t lowest_level() const noexcept;
  [[nodiscard]] std::uint64_t start_of(std::size_t at, std::size_t digit) const noexcept;
  void settle_late() noexcept;
  void open(std::size_t at, std::size_t digit) noexcept;
  void compact() noexcept;

  wheel_buckets hints_;
  std::uint64_t cursor_ = 0;  // a tick
  wheel_buckets::list due_;   // ordered
  wheel_buckets::list late_;  // not ordered
  std::uint64_t late_least_ = none;
  std::array<level, levels> levels_{};
  bool refilled_ = false;  // for_new_near() does not know yet
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

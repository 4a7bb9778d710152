// Time is cut into ticks, and those into turns of as many ticks as there are slots. The number of a
// turn has digits of four bits; a level has a slot for each value of one digit. The hint of a timer
// travels:
//
//   late_   appended by add(), if its tick is not after the cursor
//   slots_  appended by add(), if its tick comes later in the turn of the cursor, at its place
//   later_  appended by add() otherwise; at the level of the highest digit in which its turn is not
//           that of the cursor, at the place which that digit says
//   due_    ready to be handed back
//
//   late_ -> due_             advance() first of all sorts what is late and merges it in
//   later_ -> lower levels,   open_next(): due_ and slots_ are empty, this is the earliest slot of
//             slots_, due_    all and time has come to its start, which the cursor moves to
//   slots_ -> due_            open_next(): due_ is empty, and the cursor moves to the tick
//   due_ -> handed back       advance(), if its key is not after now
//   anywhere -> dropped       when it is met and found stale
//
// Invariants
//   1. A hint in a slot has a tick after the cursor; in late_ and due_ none has. So due_ and late_
//      come before all slots.
//   2. A hint is in the slot that the cursor and its tick say. Hence all slots that are occupied
//      come after the cursor's, in slots_ and in each level; slots_ come before all levels, and
//      lower levels before higher ones.
//   3. The cursor does not pass the start of an occupied slot without opening it. So 2 remains true
//      when it moves: digits above those in which a tick differs stay the same.
//   4. Equal keys are in one list, in the order in which they were added, or the earlier ones in
//      due_ and the later ones in late_: slots are emptied as a whole, in order, and before
//      anything can be added to the lower ones. A stable sort by key is all that FIFO needs.
//   5. due_ is ordered by key.
//   6. A bit is set exactly if the slot has hints. least is not above any key in its slot, and
//      late_least_ not above any in late_.
#include <takt/timer/detail/hashed_order.hpp>

#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace takt::inline TAKT_ABI {
namespace detail {

namespace {

constexpr std::size_t most_slots = std::size_t{1} << 24;

std::uint64_t checked(std::chrono::nanoseconds tick) {
  if (tick < std::chrono::nanoseconds(1)) {
    throw std::invalid_argument("takt::hashed_wheel: a tick of " + std::to_string(tick.count()) +
                                " ns is below 1 ns");
  }
  return static_cast<std::uint64_t>(tick.count());
}

std::size_t checked(std::size_t slots) {
  if (!std::has_single_bit(slots) || slots > most_slots) {
    throw std::invalid_argument("takt::hashed_wheel: " + std::to_string(slots) +
                                " slots are not a power of two up to " +
                                std::to_string(most_slots));
  }
  return slots;
}

}  // namespace

hashed_order::hashed_order(const options_type& options)
    : tick_(checked(options.tick)),
      turn_bits_(static_cast<unsigned>(std::countr_zero(checked(options.slots)))),
      slots_(options.slots),
      occupied_((options.slots + 63) / 64),
      hints_(options.slots + levels * digits + 2) {}

std::size_t hashed_order::advance(std::uint64_t now, std::span<timer_id> expired) noexcept {
  settle_late();
  const std::uint64_t until = tick_of(now);
  std::size_t count = 0;
  for (;;) {
    while (!due_.empty()) {
      if (count == expired.size() || due_.front().key > now) return count;
      const wheel_entry h = hints_.pop_front(due_);
      if (!hints_.live(h)) continue;
      expired[count++].index = h.index;
      if (hints_.disarm(h.index)) compact();
    }
    if (count == expired.size()) return count;
    if (!open_next(until)) break;
  }
  cursor_ = std::max(cursor_, until);
  return count;
}

std::uint64_t hashed_order::next() const noexcept {
  if (size() == 0) return none;
  if (!due_.empty() || !late_.empty()) {
    return std::min(due_.empty() ? none : due_.front().key, late_least_);
  }
  const std::size_t near = first_slot();
  if (near != slots_.size()) return slots_[near].least;
  const level& l = later_[lowest_level()];
  return l.slots[static_cast<std::size_t>(std::countr_zero(l.occupied))].least;
}

// The number of slots if none is occupied.
std::size_t hashed_order::first_slot() const noexcept {
  for (std::size_t i = slot_of(cursor_) / 64; i < occupied_.size(); ++i) {
    if (occupied_[i] == 0) continue;
    return i * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[i]));
  }
  return slots_.size();
}

std::size_t hashed_order::lowest_level() const noexcept {
  std::size_t at = 0;
  while (at < levels && later_[at].occupied == 0) ++at;
  return at;
}

void hashed_order::settle_late() noexcept {
  if (late_.empty()) return;
  late_least_ = none;
  hints_.sort(late_);
  due_ = hints_.merge(std::exchange(due_, {}), std::exchange(late_, {}));
}

// \return whether there was a slot that begins by then.
bool hashed_order::open_next(std::uint64_t until) noexcept {
  const std::size_t near = first_slot();
  if (near != slots_.size()) {
    const std::uint64_t tick = (cursor_ >> turn_bits_ << turn_bits_) | near;
    if (tick > until) return false;
    cursor_ = tick;
    occupied_[near / 64] &= ~(std::uint64_t{1} << near % 64);
    slots_[near].least = none;
    due_ = std::exchange(slots_[near].hints, {});
    if (hints_.many_stale()) hints_.filter(due_);
    if (tick_ == 1) return true;  // all keys are the same
  } else {
    const std::size_t at = lowest_level();
    if (at == levels) return false;
    const auto digit = static_cast<std::size_t>(std::countr_zero(later_[at].occupied));
    const unsigned below = turn_bits_ + static_cast<unsigned>(at) * digit_bits;
    const std::uint64_t same = cursor_ >> below >> digit_bits << digit_bits;
    const std::uint64_t start = (same | digit) << below;
    if (start > until) return false;
    cursor_ = start;
    later_[at].occupied &= ~(std::uint64_t{1} << digit);
    slot& s = later_[at].slots[digit];
    s.least = none;
    hints_.drain(s.hints, [this](const wheel_entry& h) {
      const std::uint64_t tick = tick_of(h.key);
      if (tick == cursor_) {
        hints_.append(due_, h);
      } else {
        place(h, tick);
      }
    });
  }
  hints_.sort(due_);
  return true;
}

void hashed_order::compact() noexcept {
  hints_.filter(due_);
  hints_.filter(late_);
  if (late_.empty()) late_least_ = none;
  // \return what is left of the bits of some slots.
  const auto filtered = [this](std::uint64_t occupied, slot* first) {
    std::uint64_t kept = occupied;
    for (std::uint64_t left = occupied; left != 0; left &= left - 1) {
      const int digit = std::countr_zero(left);
      slot& s = first[digit];
      hints_.filter(s.hints);
      if (!s.hints.empty()) continue;
      s.least = none;
      kept &= ~(std::uint64_t{1} << digit);
    }
    return kept;
  };
  for (std::size_t i = 0; i < occupied_.size(); ++i) {
    occupied_[i] = filtered(occupied_[i], &slots_[i * 64]);
  }
  for (level& l : later_) l.occupied = filtered(l.occupied, l.slots.data());
}

bool hashed_order::check_invariants(std::uint64_t now) const {
  wheel_buckets::inspection all(hints_);
  bool good = all.add(due_, true) && all.add(late_) && cursor_ <= tick_of(now);
  std::uint64_t before = 0;
  wheel_buckets::for_each(due_, [&](const wheel_entry& h) {
    good = good && tick_of(h.key) <= cursor_ && before <= h.key;
    before = h.key;
  });
  wheel_buckets::for_each(late_, [&](const wheel_entry& h) {
    good = good && tick_of(h.key) <= cursor_ && late_least_ <= h.key;
  });
  if (late_.empty()) good = good && late_least_ == none;
  const auto check = [&](const slot& s, bool occupied, auto belongs) {
    good = good && all.add(s.hints) && occupied != s.hints.empty();
    wheel_buckets::for_each(s.hints, [&](const wheel_entry& h) {
      const std::uint64_t tick = tick_of(h.key);
      good = good && tick > cursor_ && s.least <= h.key && belongs(tick);
    });
  };
  const auto in_turn = [&](std::uint64_t tick) { return (tick ^ cursor_) >> turn_bits_ == 0; };
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    check(slots_[at], (occupied_[at / 64] >> at % 64 & 1) != 0,
          [&](std::uint64_t tick) { return in_turn(tick) && slot_of(tick) == at; });
  }
  for (std::size_t at = 0; at < levels; ++at) {
    for (std::size_t digit = 0; digit < digits; ++digit) {
      check(later_[at].slots[digit], (later_[at].occupied >> digit & 1) != 0,
            [&](std::uint64_t tick) {
              return !in_turn(tick) && level_of(tick) == at && digit_of(tick, at) == digit;
            });
    }
  }
  return good && all.complete();
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

// Time is cut into ticks of 2^20 ns, about a millisecond. A tick has digits of six bits; a level
// has a slot for each value of one digit. The hint of a timer travels:
//
//   late_  appended by add(), if its tick is not after the cursor
//   slot   appended by add() otherwise; of the level of the highest digit in which its tick differs
//          from the cursor, at the place which that digit says
//   due_   ready to be handed back
//
//   late_ -> due_                  advance() first of all sorts what is late and merges it in
//   slot -> slot of lower levels   open(): due_ is empty, the slot is the earliest and time has
//                                  come to its start, which the cursor moves to
//   slot -> due_                   open(), for those whose tick is now the cursor's
//   due_ -> handed back            advance(), if its key is not after now
//   anywhere -> dropped            when it is met and found stale
//
// Invariants
//   1. A hint in a slot has a tick after the cursor; in late_ and due_ none has. So due_ and late_
//      come before all slots.
//   2. A hint is in the slot that the cursor and its tick say. Hence all slots of a level that are
//      occupied come after the cursor's digit, those of a lower level come before those of a higher
//      one, and the earliest slot is the first one of the lowest level that is occupied.
//   3. The cursor does not pass the start of an occupied slot without opening it. So 2 remains true
//      when it moves: digits above those in which a tick differs stay the same.
//   4. Equal keys are always in one list, in the order in which they were added, or the earlier
//      ones in due_ and the later ones in late_: slots are emptied as a whole, in order, and before
//      anything can be added to the lower ones. A stable sort by key is all that FIFO needs.
//   5. due_ is ordered by key.
//   6. A bit of a level is set exactly if the slot has hints. least is not above any key in its
//      slot, and late_least_ not above any in late_.
#include <takt/timer/detail/wheel_order.hpp>

#include <utility>

namespace takt::inline TAKT_ABI {
namespace detail {

std::size_t wheel_order::advance(std::uint64_t now, std::span<timer_id> expired) noexcept {
  settle_late();
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
    const std::size_t at = lowest_level();
    if (at == levels) break;
    const auto digit = static_cast<std::size_t>(std::countr_zero(levels_[at].occupied));
    if (start_of(at, digit) > tick_of(now)) break;
    open(at, digit);
  }
  cursor_ = std::max(cursor_, tick_of(now));
  return count;
}

std::uint64_t wheel_order::next() const noexcept {
  if (size() == 0) return none;
  if (!due_.empty() || !late_.empty()) {
    return std::min(due_.empty() ? none : due_.front().key, late_least_);
  }
  const level& l = levels_[lowest_level()];
  return l.slot_of[static_cast<std::size_t>(std::countr_zero(l.occupied))].least;
}

std::size_t wheel_order::lowest_level() const noexcept {
  std::size_t at = 0;
  while (at < levels && levels_[at].occupied == 0) ++at;
  return at;
}

std::uint64_t wheel_order::start_of(std::size_t at, std::size_t digit) const noexcept {
  const std::size_t below = at * digit_bits;
  const std::uint64_t same = cursor_ >> below >> digit_bits;
  return (same << digit_bits | digit) << below;
}

void wheel_order::settle_late() noexcept {
  if (late_.empty()) return;
  late_least_ = none;
  hints_.sort(late_);
  due_ = hints_.merge(std::exchange(due_, {}), std::exchange(late_, {}));
}

void wheel_order::open(std::size_t at, std::size_t digit) noexcept {
  cursor_ = start_of(at, digit);
  levels_[at].occupied &= ~(std::uint64_t{1} << digit);
  slot& s = levels_[at].slot_of[digit];
  s.least = none;
  if (at == 0) {
    due_ = std::exchange(s.hints, {});
    if (hints_.many_stale()) hints_.filter(due_);
  } else {
    refilled_ = true;
    hints_.drain(s.hints, [this](const wheel_entry& h) {
      if (tick_of(h.key) == cursor_) {
        hints_.append(due_, h);
      } else {
        place(h);
      }
    });
  }
  hints_.sort(due_);
}

void wheel_order::compact() noexcept {
  hints_.filter(due_);
  hints_.filter(late_);
  if (late_.empty()) late_least_ = none;
  for (level& l : levels_) {
    for (std::uint64_t left = l.occupied; left != 0; left &= left - 1) {
      const auto digit = static_cast<std::size_t>(std::countr_zero(left));
      slot& s = l.slot_of[digit];
      hints_.filter(s.hints);
      if (!s.hints.empty()) continue;
      s.least = none;
      l.occupied &= ~(std::uint64_t{1} << digit);
    }
  }
}

bool wheel_order::check_invariants(std::uint64_t now) const {
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
  for (std::size_t at = 0; at < levels; ++at) {
    for (std::size_t digit = 0; digit < slots; ++digit) {
      const slot& s = levels_[at].slot_of[digit];
      const bool occupied = (levels_[at].occupied >> digit & 1) != 0;
      good = good && all.add(s.hints) && occupied != s.hints.empty();
      wheel_buckets::for_each(s.hints, [&](const wheel_entry& h) {
        const std::uint64_t tick = tick_of(h.key);
        good = good && tick > cursor_ && s.least <= h.key && level_of(tick) == at &&
               digit_of(tick, at) == digit;
      });
    }
  }
  return good && all.complete();
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

// Time is cut into ticks; tick t is in slot t % slots. The hint of a timer travels:
//
//   late_  appended by add(), if its tick is not after the cursor
//   slot   appended by add() otherwise
//   due_   ready to be handed back
//
//   late_ -> due_          advance() first of all sorts what is late and merges it in
//   slot -> due_           open_next(): due_ is empty. The cursor moves to the next tick that may
//                          have a timer, and those of the slot that are due in it are collected; if
//                          time has passed by a turn or more, those of all slots up to now at once
//   due_ -> handed back    advance(), if its key is not after now
//   anywhere -> dropped    when it is met and found stale
//
// Invariants
//   1. A hint in a slot has a tick after the cursor; in late_ and due_ none has. So due_ and late_
//      come before all slots.
//   2. Equal keys are in one list, in the order in which they were added, or the earlier ones in
//      due_ and the later ones in late_. A stable sort by key is all that FIFO needs.
//   3. due_ is ordered by key.
//   4. A bit is set exactly if the slot has hints. least is not above any key in its slot, and
//      late_least_ not above any in late_.
#include <takt/timer/hashed_wheel.hpp>

#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace takt::inline TAKT_ABI {

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

hashed_order::hashed_order(const options& chosen)
    : tick_(checked(chosen.tick)),
      slots_(checked(chosen.slots)),
      occupied_((chosen.slots + 63) / 64),
      hints_(chosen.slots + 2) {}

std::size_t hashed_order::advance(std::uint64_t now, std::span<timer_id> expired) noexcept {
  settle_late();
  const std::uint64_t until = now / tick_;
  std::size_t count = 0;
  for (;;) {
    while (!due_.empty()) {
      if (count == expired.size() || due_.front().key > now) return count;
      const timer_hint h = hints_.pop_front(due_);
      if (!hints_.live(h)) continue;
      expired[count++].index = h.index;
      if (hints_.disarm(h.index)) compact();
    }
    if (count == expired.size() || cursor_ >= until) return count;
    open_next(until);
  }
}

std::uint64_t hashed_order::next() const noexcept {
  if (size() == 0) return none;
  if (!due_.empty() || !late_.empty()) {
    return std::min(due_.empty() ? none : due_.front().key, late_least_);
  }
  // The first slot whose least is due in this turn has it; else the least of all.
  std::uint64_t least = none;
  for (std::size_t d = 1; d <= slots_.size(); ++d) {
    d += gap(cursor_ + d, slots_.size() - d);
    least = std::min(least, slots_[slot_of(cursor_ + d)].least);
    if (least / tick_ - cursor_ <= d) break;
  }
  return least;
}

// How many ticks there are from this one on until the next whose slot has hints; at most `most`.
std::size_t hashed_order::gap(std::uint64_t tick, std::size_t most) const noexcept {
  std::size_t passed = 0;
  while (passed < most) {
    const std::size_t at = slot_of(tick + passed);
    const std::uint64_t word = occupied_[at / 64] >> at % 64;
    if (word != 0) return std::min(passed + static_cast<std::size_t>(std::countr_zero(word)), most);
    passed += std::min<std::size_t>(64 - at % 64, slots_.size() - at);
  }
  return most;
}

void hashed_order::settle_late() noexcept {
  if (late_.empty()) return;
  late_least_ = none;
  hints_.sort(late_);
  due_ = hints_.merge(std::exchange(due_, {}), std::exchange(late_, {}));
}

// Appends those of a slot that are due up to the end of a tick.
void hashed_order::collect(std::size_t at, std::uint64_t tick) noexcept {
  slot& s = slots_[at];
  if (s.least / tick_ > tick) return;  // also if it has none
  s.least = none;
  timer_hints::list all = std::exchange(s.hints, {});
  hints_.drain(all, [&](const timer_hint& h) {
    if (h.key / tick_ <= tick) {
      hints_.append(due_, h);
    } else {
      hints_.append(s.hints, h);
      s.least = std::min(s.least, h.key);
    }
  });
  note_if_empty(at);
}

void hashed_order::open_next(std::uint64_t until) noexcept {
  if (until - cursor_ >= slots_.size()) {
    cursor_ = until;
    for (std::size_t at = 0; at < slots_.size(); ++at) collect(at, until);
  } else {
    ++cursor_;
    cursor_ += gap(cursor_, static_cast<std::size_t>(until - cursor_));
    collect(slot_of(cursor_), cursor_);
  }
  hints_.sort(due_);
}

void hashed_order::compact() noexcept {
  hints_.filter(due_);
  hints_.filter(late_);
  if (late_.empty()) late_least_ = none;
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    if (slots_[at].hints.empty()) continue;
    hints_.filter(slots_[at].hints);
    note_if_empty(at);
  }
}

void hashed_order::note_if_empty(std::size_t at) noexcept {
  if (!slots_[at].hints.empty()) return;
  slots_[at].least = none;
  occupied_[at / 64] &= ~(std::uint64_t{1} << at % 64);
}

bool hashed_order::check_invariants(std::uint64_t now) const {
  timer_hints::inspection all(hints_);
  bool good = all.add(due_, true) && all.add(late_) && cursor_ <= now / tick_;
  std::uint64_t before = 0;
  timer_hints::for_each(due_, [&](const timer_hint& h) {
    good = good && h.key / tick_ <= cursor_ && before <= h.key;
    before = h.key;
  });
  timer_hints::for_each(late_, [&](const timer_hint& h) {
    good = good && h.key / tick_ <= cursor_ && late_least_ <= h.key;
  });
  if (late_.empty()) good = good && late_least_ == none;
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    const slot& s = slots_[at];
    const bool occupied = (occupied_[at / 64] >> at % 64 & 1) != 0;
    good = good && all.add(s.hints) && occupied != s.hints.empty();
    timer_hints::for_each(s.hints, [&](const timer_hint& h) {
      const std::uint64_t tick = h.key / tick_;
      good = good && tick > cursor_ && s.least <= h.key && slot_of(tick) == at;
    });
  }
  return good && all.complete();
}

}  // namespace takt::inline TAKT_ABI

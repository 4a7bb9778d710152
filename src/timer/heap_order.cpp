// A place of the table is
//
//   near         it has a node in the heap; positions_[index] says where
//   far          it has a node in a slot; positions_[index] says in which place of which chunk
//   not pending  free or expired; positions_[index] is nowhere
//
//   not pending -> near, far   add(), add_again()
//   near -> far                spill(): the heap has grown too large
//   far -> near                refill(): the heap is empty, and it is in the first slot
//   near -> not pending        remove(), advance()
//   far -> not pending         remove(), which leaves the node in its slot: it is dead now
//
// Positions in the heap begin with 3, the root. So the children of a node are a family: four nodes,
// of 16 bytes, in one cache line.
//
// Slots are those of a wheel: a key has digits of six bits, a level has a slot for each value of
// one digit. A node lies in the level of the highest digit in which its key differs from the
// cursor, in the slot which that digit says. Unlike those of a wheel, slots have no order, and
// nobody drives them: a slot is opened when the heap is empty, and its nodes go into the heap, or
// into lower levels if they are too many.
//
// Invariants
//   1. No node is before its parent. So the one at the root is the earliest of the heap.
//   2. Nodes are ordered by key and then by the turn of their place, which no two pending places
//      share.
//   3. positions_[at(p).index] == p for all p from root up to, not including, end_; the position of
//      a far place is in_slot | chunk * per_chunk + its place in there; all others are
//      nowhere. So a node in a slot is dead if the position of its place is not where it lies.
//   4. What is in the chunks of the heap outside of that has the key none: it is never less than a
//      node.
//   5. Keys in the heap are not after last_near_, and those in slots are. If the heap is empty,
//      so are the slots: so the root is the earliest of all. If no place is far, the slots are
//      empty, of dead nodes, too, and last_near_ is none.
//   6. Keys in slots are not before the cursor, and last_near_ is in the cursor's slot of each
//      level that has nodes. So slots of lower levels come before those of higher ones, and opening
//      the first slot, to which the cursor moves, leaves all others where they are.
//   7. A bit of a level is set exactly if the slot has nodes.
//   8. There are chunks for as many nodes as there are places, and an eighth more: in the heap and
//      in the slots all chunks are full, but for two or three of the heap and one of each slot. So
//      if all are in use, as many as an eighth of the places are dead, and sweep() finds a chunk by
//      filling gaps. Nothing but reserve() allocates.
//   9. limit_ is at least twice the size that the heap had after the last spill() or refill(). So
//      these move a node a constant number of times, even if all keys are equal.
#include <takt/timer/detail/heap_order.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <takt/base/detail/prefetch.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

std::size_t heap_order::chunks_for(std::size_t places) const noexcept {
  const std::size_t nodes = root + places + places / 8;
  return nodes / per_chunk + 4 + (places > near_ ? levels * slots : 0);
}

void heap_order::reserve(std::size_t places) {
  const std::size_t chunks = chunks_for(places);
  if (chunks * per_chunk >= in_slot) throw std::length_error("takt::timer_set: too many timers");
  if (places > near_ && levels_ == nullptr) levels_ = std::make_unique<std::array<level, levels>>();
  if (heap_.capacity() < chunks) heap_.reserve(2 * chunks);
  if (heap_chunks_.capacity() < chunks) heap_chunks_.reserve(2 * chunks);
  while (below_.size() < chunks) {
    if (blocks_.size() * per_block == below_.size()) {
      blocks_.push_back(std::make_unique_for_overwrite<chunk[]>(per_block));
    }
    if (slots_.size() == below_.size()) slots_.push_back(no_slot);
    below_.push_back(free_);
    free_ = static_cast<std::uint32_t>(below_.size() - 1);
  }
  if (turns_.size() < places) turns_.resize(places);
  if (positions_.size() < places) positions_.resize(places, nowhere);
}

// There is one: see sweep().
std::uint32_t heap_order::take_chunk() noexcept {
  const std::uint32_t taken = std::exchange(free_, below_[free_]);
  prefetch(free_);
  return taken;
}

void heap_order::release_chunk(std::uint32_t number) noexcept {
  slots_[number] = no_slot;
  below_[number] = std::exchange(free_, number);
}

void heap_order::remove(std::uint32_t index) noexcept {
  const std::uint32_t position = std::exchange(positions_[index], nowhere);
  if (position == nowhere) return;
  if ((position & in_slot) == 0) {
    erase(position);
  } else if (--far_ == 0) {
    clear_slots();
  }
}

std::size_t heap_order::advance(std::uint64_t now, std::span<timer_id> expired) noexcept {
  std::size_t count = 0;
  while (count < expired.size() && size() != 0 && at(root).key <= now) {
    const std::uint32_t index = at(root).index;
    expired[count++].index = index;
    positions_[index] = nowhere;
    erase(root);
  }
  return count;
}

// --- the heap

// Behind the others, in no order.
void heap_order::append(node n) noexcept {
  if (end_ / per_chunk >= heap_.size()) {
    sweep();
    const std::uint32_t number = take_chunk();
    heap_chunks_.push_back(number);
    heap_.push_back(&chunk_at(number));
    heap_.back()->nodes.fill({none, 0});
  }
  put(end_++, n);
}

void heap_order::push(node n) noexcept {
  append(n);
  sift_up(end_ - 1, n);
}

heap_order::node heap_order::pop_last() noexcept {
  const node last = std::exchange(at(--end_), {none, 0});
  if (heap_.size() > end_ / per_chunk + 2) {
    release_chunk(heap_chunks_.back());
    heap_chunks_.pop_back();
    heap_.pop_back();
  }
  return last;
}

// The position of the least node of a family that has one. Without branches, which nobody could
// predict, as long as keys differ.
inline std::size_t heap_order::least_of(std::size_t first) const noexcept {
  const node* const nodes = &at(first);
  const auto left = static_cast<std::size_t>(nodes[1].key < nodes[0].key);
  const std::size_t right = 2 + static_cast<std::size_t>(nodes[3].key < nodes[2].key);
  const std::uint64_t left_key = std::min(nodes[0].key, nodes[1].key);
  const std::uint64_t right_key = std::min(nodes[2].key, nodes[3].key);
  std::size_t least = right_key < left_key ? right : left;
  const bool equal =
      (nodes[0].key == nodes[1].key) | (nodes[2].key == nodes[3].key) | (left_key == right_key);
  if (equal) [[unlikely]] {
    for (std::size_t i = 0; i < children && first + i < end_; ++i) {
      if (i != least && before(nodes[i], nodes[least])) least = i;
    }
  }
  return first + least;
}

void heap_order::sift_up(std::size_t position, node n) noexcept {
  while (position > root && before(n, at(parent(position)))) {
    put(position, at(parent(position)));
    position = parent(position);
  }
  put(position, n);
}

void heap_order::sift_down(std::size_t position, node n) noexcept {
  for (std::size_t first = 0; (first = first_child(position)) < end_;) {
    const std::size_t least = least_of(first);
    if (!before(at(least), n)) break;
    put(position, at(least));
    position = least;
  }
  put(position, n);
}

// Closes the gap that a node leaves whose place is not pending any more.
void heap_order::erase(std::size_t position) noexcept {
  const node last = pop_last();
  if (position != end_) {
    if (position > root && before(last, at(parent(position)))) {
      sift_up(position, last);
    } else {
      sift_down(position, last);
    }
  } else if (end_ == root && far_ != 0) {
    refill();
  }
}

// --- the slots

void heap_order::put_far(node n) noexcept {
  sweep();
  const std::size_t at = level_of(n.key);
  const std::size_t digit = digit_of(n.key, at);
  level& l = (*levels_)[at];
  slot& s = l.slot_of[digit];
  const std::uint32_t place = s.count++ % per_chunk;
  if (place == 0) {
    const std::uint32_t number = take_chunk();
    below_[number] = std::exchange(s.top, number);
    slots_[number] = static_cast<std::uint16_t>(at * slots + digit);
    l.occupied |= std::uint64_t{1} << digit;
  }
  put_into(s.top, place, n);
}

void heap_order::put_into(std::uint32_t number, std::uint32_t place, node n) noexcept {
  chunk_at(number).nodes[place] = n;
  positions_[n.index] = position_of(number, place);
  ++far_;
}

inline void heap_order::prefetch(std::uint32_t number) const noexcept {
  if (number == no_chunk) return;
  const auto* const bytes = reinterpret_cast<const char*>(&chunk_at(number));
  for (std::size_t i = 0; i < sizeof(chunk); i += cache_line) takt::detail::prefetch(bytes + i);
}

// Takes the last node out of a slot that has one. False if it was dead.
bool heap_order::pop_far(level& l, std::size_t digit, node& n) noexcept {
  slot& s = l.slot_of[digit];
  const std::uint32_t number = s.top;
  const std::uint32_t place = --s.count % per_chunk;
  n = chunk_at(number).nodes[place];
  if (place == per_chunk - 1) prefetch(below_[number]);
  if (place == 0) {
    s.top = below_[number];
    release_chunk(number);
    if (s.count == 0) l.occupied &= ~(std::uint64_t{1} << digit);
  }
  if (positions_[n.index] != position_of(number, place)) return false;
  --far_;
  return true;
}

// Sees to it that a chunk is free: the last nodes of a slot take the places of its dead ones. Goes
// round, chunk by chunk, and no further than it has to.
inline void heap_order::sweep() noexcept {
  while (free_ == no_chunk) [[unlikely]] {
    hand_ = (hand_ + 1) % static_cast<std::uint32_t>(below_.size());
    if (slots_[hand_] != no_slot) close_gaps(hand_);
  }
}

void heap_order::close_gaps(std::uint32_t number) noexcept {
  const std::size_t of = slots_[number];
  level& l = (*levels_)[of / slots];
  const slot& s = l.slot_of[of % slots];
  // The chunk may become shorter on the way, and go.
  for (std::uint32_t place = 0; place < per_chunk && slots_[number] == of;) {
    if (number == s.top && place > (s.count - 1) % per_chunk) return;
    node last = chunk_at(number).nodes[place];
    if (positions_[last.index] == position_of(number, place)) {
      ++place;
    } else if (pop_far(l, of % slots, last)) {
      put_into(number, place++, last);
    }
  }
}

// No place is far any more: what is left is dead.
void heap_order::clear_slots() noexcept {
  for (level& l : *levels_) {
    for (; l.occupied != 0; l.occupied &= l.occupied - 1) {
      slot& s = l.slot_of[static_cast<std::size_t>(std::countr_zero(l.occupied))];
      while (s.top != no_chunk) {
        const std::uint32_t number = std::exchange(s.top, below_[s.top]);
        release_chunk(number);
      }
      s.count = 0;
    }
  }
  last_near_ = none;
}

// Moves all that can be in slots out of the heap, and the first slot back.
void heap_order::spill() noexcept {
  if (far_ == 0) cursor_ = at(root).key;
  std::size_t kept = root;
  for (std::size_t p = root; p < end_; ++p) {
    if (at(p).key < cursor_) std::swap(at(p), at(kept++));
  }
  while (end_ != kept) put_far(pop_last());
  if (kept == root) {
    refill();
    return;
  }
  for (std::size_t p = root; p < end_; ++p) put(p, at(p));
  make_heap();
  last_near_ = far_ == 0 ? none : cursor_ - 1;
}

// The heap is empty, and the slots are not.
void heap_order::refill() noexcept {
  for (;;) {
    std::size_t at = 0;
    while ((*levels_)[at].occupied == 0) ++at;
    level& l = (*levels_)[at];
    const auto digit = static_cast<std::size_t>(std::countr_zero(l.occupied));
    const slot& first = l.slot_of[digit];
    const std::size_t below = at * digit_bits;
    cursor_ = (cursor_ >> below >> digit_bits << digit_bits | digit) << below;
    const bool last = at == 0 || first.count <= near_ / 8;
    for (node n{}; first.count != 0;) {
      if (!pop_far(l, digit, n)) continue;
      if (last) {
        append(n);
      } else {
        put_far(n);
      }
    }
    if (end_ == root) continue;  // all in lower levels now, or dead
    refilled_ = true;
    last_near_ = cursor_ + ((std::uint64_t{1} << below) - 1);
    if (far_ == 0) clear_slots();
    make_heap();
    return;
  }
}

// Of nodes in no order.
void heap_order::make_heap() noexcept {
  limit_ = std::max(near_, 2 * (end_ - root));
  if (end_ - root < 2) return;
  for (std::size_t p = parent(end_ - 1); p >= root; --p) sift_down(p, node(at(p)));
}

bool heap_order::check_invariants(std::uint64_t /*now*/) const {
  std::size_t pending = 0;
  std::size_t chunks = heap_.size();
  for (std::size_t p = 0; p < heap_.size() * per_chunk; ++p) {
    if (p < root || p >= end_) {
      if (at(p).key != none) return false;
      continue;
    }
    if (p > root && !before(at(parent(p)), at(p))) return false;
    if (positions_[at(p).index] != p || turns_[at(p).index] >= next_turn_) return false;
    if (at(p).key > last_near_) return false;
    ++pending;
  }
  for (std::size_t i = 0; levels_ != nullptr && i < levels * slots; ++i) {
    const level& l = (*levels_)[i / slots];
    const slot& s = l.slot_of[i % slots];
    if ((l.occupied >> i % slots & 1) != (s.count == 0 ? 0U : 1U)) return false;
    std::uint32_t number = s.top;
    for (std::uint32_t left = s.count; left != 0;) {
      const std::uint32_t place = --left % per_chunk;
      const node& n = chunk_at(number).nodes[place];
      if (n.key < cursor_ || n.key <= last_near_ || turns_[n.index] >= next_turn_) return false;
      if (level_of(n.key) != i / slots || digit_of(n.key, i / slots) != i % slots) return false;
      if (slots_[number] != i) return false;
      if (positions_[n.index] == position_of(number, place)) ++pending;
      if (place != 0) continue;
      ++chunks;
      number = below_[number];
    }
    if (number != no_chunk) return false;
  }
  for (std::uint32_t c = free_; c != no_chunk; c = below_[c]) {
    if (slots_[c] != no_slot) return false;
    ++chunks;
  }
  const auto absent = std::ranges::count(positions_, nowhere);
  return pending == size() && static_cast<std::size_t>(absent) + pending == positions_.size() &&
         chunks == below_.size() && heap_.size() == heap_chunks_.size() &&
         (far_ != 0 || last_near_ == none) && (far_ == 0 || end_ != root);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

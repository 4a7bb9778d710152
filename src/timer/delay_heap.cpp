// A place of the table is
//
//   pending      it has a node; positions_[index] says where
//   not pending  free or expired; positions_[index] is nowhere
//
//   not pending -> pending  add(), add_again()
//   pending -> not pending  remove(), advance()
//
// Positions begin with 3, the root. So the children of a node are a family: four nodes, of 16
// bytes, in one cache line.
//
// Invariants
//   1. No node is before its parent. So the one at the root is the earliest.
//   2. Nodes are ordered by key and then by the turn of their place, which no two pending places
//      share.
//   3. positions_[at(p).index] == p for all p from root up to, not including, end_; as many
//      positions are not nowhere.
//   4. What is in families_ outside of that has the key none: it is never less than a node.
//   5. There are families for as many nodes as there are places: add() does not allocate.
#include <takt/timer/delay_heap.hpp>

#include <algorithm>
#include <utility>

namespace takt::inline TAKT_ABI {

void heap_order::reserve(std::size_t places) {
  const std::size_t families = (root + places + children - 1) / children;
  if (families_.size() < families) families_.resize(families);
  if (turns_.size() < places) turns_.resize(places);
  if (positions_.size() < places) positions_.resize(places, nowhere);
}

void heap_order::add_again(std::uint32_t index, std::uint64_t key) noexcept {
  sift_up(end_++, {key, index});
}

std::size_t heap_order::advance(std::uint64_t now, std::span<timer_id> expired) noexcept {
  std::size_t count = 0;
  while (count < expired.size() && !empty() && at(root).key <= now) {
    const std::uint32_t index = at(root).index;
    expired[count++].index = index;
    positions_[index] = nowhere;
    erase(root);
  }
  return count;
}

bool heap_order::check_invariants(std::uint64_t /*now*/) const noexcept {
  if (!positions_.empty() && families_.size() * children < root + positions_.size()) return false;
  for (std::size_t p = 0; p < families_.size() * children; ++p) {
    if (p < root || p >= end_) {
      if (at(p).key != none) return false;
      continue;
    }
    if (p > root && !before(at(parent(p)), at(p))) return false;
    if (positions_[at(p).index] != p || turns_[at(p).index] >= next_turn_) return false;
  }
  const auto absent = std::ranges::count(positions_, nowhere);
  return static_cast<std::size_t>(absent) + size() == positions_.size();
}

void heap_order::put(std::size_t position, const node& n) noexcept {
  at(position) = n;
  positions_[n.index] = static_cast<std::uint32_t>(position);
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
      if (before(nodes[i], nodes[least])) least = i;
    }
  }
  return first + least;
}

void heap_order::sift_up(std::size_t position, const node& n) noexcept {
  while (position > root && before(n, at(parent(position)))) {
    put(position, at(parent(position)));
    position = parent(position);
  }
  put(position, n);
}

void heap_order::sift_down(std::size_t position, const node& n) noexcept {
  for (std::size_t first = 0; (first = first_child(position)) < end_;) {
    if (first_child(first + children - 1) < end_) {
      // All grandchildren come from memory while the least child is looked for.
      for (std::size_t i = 0; i < children; ++i) __builtin_prefetch(&at(first_child(first + i)));
    }
    const std::size_t least = least_of(first);
    if (!before(at(least), n)) break;
    put(position, at(least));
    position = least;
  }
  put(position, n);
}

// Closes the gap that a node leaves whose place is not pending any more.
void heap_order::erase(std::size_t position) noexcept {
  const node last = std::exchange(at(--end_), {});
  if (position == end_) return;
  if (position > root && before(last, at(parent(position)))) {
    sift_up(position, last);
  } else {
    sift_down(position, last);
  }
}

}  // namespace takt::inline TAKT_ABI

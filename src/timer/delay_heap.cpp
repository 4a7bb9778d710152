// A place of the table is
//
//   pending      it has a node; positions_[index] says where
//   not pending  free or expired; positions_[index] is nowhere
//
//   not pending -> pending  add()
//   pending -> not pending  remove(), advance()
//
// Invariants
//   1. No node is before its parent, the one at (position - 1) / 4. So the first node is the
//      earliest.
//   2. Nodes are ordered by key and then by sequence, which no two nodes share: equal deadlines
//      keep the order in which they came.
//   3. positions_[nodes_[p].index] == p, and as many positions as there are nodes are not nowhere.
//   4. nodes_ has capacity for as many nodes as positions_ has places: add() does not allocate.
#include <takt/timer/delay_heap.hpp>

#include <algorithm>

namespace takt::inline TAKT_ABI {

void heap_order::reserve(std::size_t places) {
  if (nodes_.capacity() < places) nodes_.reserve(std::max(places, 2 * nodes_.capacity()));
  if (positions_.size() < places) positions_.resize(places, nowhere);
}

void heap_order::add(std::uint32_t index, std::uint64_t key) noexcept {
  const node added{key, sequence_++, index};
  nodes_.push_back(added);
  sift_up(nodes_.size() - 1, added);
}

void heap_order::remove(std::uint32_t index) noexcept {
  if (positions_[index] != nowhere) erase(positions_[index]);
}

std::size_t heap_order::advance(std::uint64_t now, std::span<timer_id> expired) noexcept {
  std::size_t count = 0;
  while (count < expired.size() && !nodes_.empty() && nodes_.front().key <= now) {
    expired[count++].index = nodes_.front().index;
    erase(0);
  }
  return count;
}

bool heap_order::check_invariants(std::uint64_t /*now*/) const noexcept {
  if (nodes_.capacity() < positions_.size()) return false;
  for (std::size_t p = 0; p < nodes_.size(); ++p) {
    if (p > 0 && !nodes_[(p - 1) / children].before(nodes_[p])) return false;
    if (positions_[nodes_[p].index] != p || nodes_[p].sequence >= sequence_) return false;
  }
  const auto absent = std::ranges::count(positions_, nowhere);
  return static_cast<std::size_t>(absent) + nodes_.size() == positions_.size();
}

void heap_order::put(std::size_t position, const node& n) noexcept {
  nodes_[position] = n;
  positions_[n.index] = static_cast<std::uint32_t>(position);
}

void heap_order::sift_up(std::size_t position, const node& n) noexcept {
  while (position > 0) {
    const std::size_t parent = (position - 1) / children;
    if (!n.before(nodes_[parent])) break;
    put(position, nodes_[parent]);
    position = parent;
  }
  put(position, n);
}

void heap_order::sift_down(std::size_t position, const node& n) noexcept {
  for (;;) {
    const std::size_t first = position * children + 1;
    if (first >= nodes_.size()) break;
    std::size_t least = first;
    for (std::size_t c = first + 1; c < std::min(first + children, nodes_.size()); ++c) {
      if (nodes_[c].before(nodes_[least])) least = c;
    }
    if (!nodes_[least].before(n)) break;
    put(position, nodes_[least]);
    position = least;
  }
  put(position, n);
}

void heap_order::erase(std::size_t position) noexcept {
  positions_[nodes_[position].index] = nowhere;
  const node last = nodes_.back();
  nodes_.pop_back();
  if (position == nodes_.size()) return;
  if (position > 0 && last.before(nodes_[(position - 1) / children])) {
    sift_up(position, last);
  } else {
    sift_down(position, last);
  }
}

}  // namespace takt::inline TAKT_ABI

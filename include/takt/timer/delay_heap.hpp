/// \file
/// The order of timers in a heap: exact, and at home with few timers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/fwd.hpp>
#include <takt/timer/timer_set.hpp>
#include <takt/timer/timer_table.hpp>

namespace takt::inline TAKT_ABI {

/// The order of delay_heap<T>: a heap of four children that knows where each timer is. insert(),
/// remove(), reschedule() and handing back take O(log n), next_deadline() is exact and O(1).
/// delay_heap.cpp has the invariants.
///
/// \code
/// takt::delay_heap<int> heap;
/// heap.insert(deadline, 42);
/// \endcode
///
/// For timer_set: timers are places of its table, deadlines are numbers. Only reserve() allocates.
/// **Thread safety**: none. **Destruction**: nothing to it.
class heap_order {
 public:
  /// There is nothing to choose.
  struct options {};

  explicit heap_order(const options& /*chosen*/) noexcept {}

  /// Makes room for the places below `places`. Strong guarantee.
  void reserve(std::size_t places);

  /// The place is not pending. Among equal keys it comes last.
  void add(std::uint32_t index, std::uint64_t key) noexcept {
    turns_[index] = next_turn_++;
    add_again(index, key);
  }

  /// The place is not pending. Among equal keys it has the turn that add() gave it.
  void add_again(std::uint32_t index, std::uint64_t key) noexcept;

  /// Does nothing if the place is not pending.
  void remove(std::uint32_t index) noexcept {
    const std::uint32_t position = std::exchange(positions_[index], nowhere);
    if (position != nowhere) erase(position);
  }

  /// Makes those up to `now` expire, as many as fit. Sets the index of each handle only.
  std::size_t advance(std::uint64_t now, std::span<timer_id> expired) noexcept;

  /// The earliest key; the largest number if there is none.
  [[nodiscard]] std::uint64_t next() const noexcept { return empty() ? none : at(root).key; }

  /// How many are pending.
  [[nodiscard]] std::size_t size() const noexcept { return end_ - root; }

  /// For tests and fuzzers.
  [[nodiscard]] bool check_invariants(std::uint64_t now) const noexcept;

 private:
  static constexpr std::size_t children = 4;
  static constexpr std::size_t root = children - 1;
  static constexpr std::uint32_t nowhere = 0;
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  struct node {
    std::uint64_t key = none;
    std::uint32_t index = 0;
  };
  struct alignas(children * sizeof(node)) family {
    std::array<node, children> nodes;
  };

  static constexpr std::size_t first_child(std::size_t position) noexcept {
    return (position - root + 1) * children;
  }
  static constexpr std::size_t parent(std::size_t position) noexcept {
    return position / children + root - 1;
  }

  [[nodiscard]] bool empty() const noexcept { return end_ == root; }

  // Families are nodes in a row.
  [[nodiscard]] node& at(std::size_t position) noexcept {
    return reinterpret_cast<node*>(families_.data())[position];
  }
  [[nodiscard]] const node& at(std::size_t position) const noexcept {
    return reinterpret_cast<const node*>(families_.data())[position];
  }
  [[nodiscard]] bool before(const node& a, const node& b) const noexcept {
    return a.key != b.key ? a.key < b.key : turns_[a.index] < turns_[b.index];
  }

  void put(std::size_t position, const node& n) noexcept;
  [[nodiscard]] std::size_t least_of(std::size_t first) const noexcept;
  void sift_up(std::size_t position, const node& n) noexcept;
  void sift_down(std::size_t position, const node& n) noexcept;
  void erase(std::size_t position) noexcept;

  std::vector<family> families_;
  std::vector<std::uint32_t> positions_;  // by index
  std::vector<std::uint64_t> turns_;      // by index
  std::size_t end_ = root;
  std::uint64_t next_turn_ = 0;
};

}  // namespace takt::inline TAKT_ABI

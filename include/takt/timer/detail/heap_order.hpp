/// \file
/// The order of timers in a heap: exact, with any number of timers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/timer/detail/slot_map.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The order of delay_heap<T>: a heap of four children that knows where each timer is. If there are
/// many, only the earliest are in the heap, and those that are later lie in slots, without order,
/// until the heap has come to them. next_deadline() is exact and O(1); the rest takes O(log n) of
/// those in the heap, O(1) otherwise. What is removed from a slot leaves a gap there, which is
/// closed when room is needed. delay_heap.cpp has the invariants.
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
  struct options_type {
    /// How many timers there are in the heap before later ones go into slots. The default is as
    /// good as others; tests have less.
    std::size_t near = 4096;
  };

  explicit heap_order(const options_type& options) noexcept
      : near_(options.near), limit_(options.near) {}

  /// Makes room for the places below `places`. Strong guarantee. \throws std::bad_alloc;
  /// std::length_error beyond some 2^31 places.
  void reserve(std::size_t places);

  /// The place is not pending. Among equal keys it comes last.
  void add(std::uint32_t index, std::uint64_t key) noexcept {
    turns_[index] = next_turn_++;
    add_again(index, key);
  }

  /// The place is not pending. Among equal keys it has the turn that add() gave it.
  void add_again(std::uint32_t index, std::uint64_t key) noexcept {
    if (key > last_near_) {
      put_far({key, index});
    } else {
      push({key, index});
      if (end_ - root > limit_) spill();
    }
  }

  /// Does nothing if the place is not pending.
  void remove(std::uint32_t index) noexcept;

  /// Makes those up to `now` expire, as many as fit. Sets the index of each handle only.
  std::size_t advance(std::uint64_t now, std::span<timer_id> expired) noexcept;

  /// The earliest key; the largest number if there is none.
  [[nodiscard]] std::uint64_t next() const noexcept { return size() == 0 ? none : at(root).key; }

  /// If a slot has gone into the heap since the last call, calls f(place) for each that is in the
  /// heap now: their turn is soon, and who has their values may fetch them.
  template <class F>
  void for_new_near(F f) noexcept {
    if (!std::exchange(refilled_, false)) return;
    for (std::size_t p = root; p < end_; ++p) f(at(p).index);
  }

  /// How many are pending.
  [[nodiscard]] std::size_t size() const noexcept { return end_ - root + far_; }

  /// For tests and fuzzers.
  [[nodiscard]] bool check_invariants(std::uint64_t now) const;

 private:
  static constexpr std::size_t children = 4;
  static constexpr std::size_t root = children - 1;
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  // For positions_: anything else is a position in the heap, or in a chunk of a slot.
  static constexpr std::uint32_t nowhere = 0;
  static constexpr std::uint32_t in_slot = std::uint32_t{1} << 31;

  // Given by value, in registers: memory that is written in parts and read as one has to wait.
  struct node {
    std::uint64_t key;
    std::uint32_t index;
  };

  // Chunks are what both the heap and the slots are made of.
  static constexpr std::uint32_t per_chunk = 16;
  static constexpr std::size_t per_block = 64;  // chunks that are allocated together
  static constexpr std::uint32_t no_chunk = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint16_t no_slot = std::numeric_limits<std::uint16_t>::max();
  struct alignas(children * sizeof(node)) chunk {
    std::array<node, per_chunk> nodes;
  };

  // A slot is a stack of nodes: all chunks are full but for the top.
  struct slot {
    std::uint32_t top = no_chunk;
    std::uint32_t count = 0;
  };
  static constexpr std::size_t digit_bits = 6;
  static constexpr std::size_t slots = std::size_t{1} << digit_bits;
  static constexpr std::size_t levels = (64 + digit_bits - 1) / digit_bits;
  struct level {
    std::uint64_t occupied = 0;  // a bit for each slot that has nodes
    std::array<slot, slots> slot_of{};
  };

  static constexpr std::size_t first_child(std::size_t position) noexcept {
    return (position - root + 1) * children;
  }
  static constexpr std::size_t parent(std::size_t position) noexcept {
    return position / children + root - 1;
  }
  static constexpr std::size_t digit_of(std::uint64_t key, std::size_t at) noexcept {
    return static_cast<std::size_t>(key >> (at * digit_bits)) % slots;
  }
  [[nodiscard]] std::size_t level_of(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(std::bit_width((key ^ cursor_) | 1) - 1) / digit_bits;
  }

  static constexpr std::uint32_t position_of(std::uint32_t number, std::uint32_t place) noexcept {
    return in_slot | (number * per_chunk + place);
  }

  [[nodiscard]] node& at(std::size_t position) noexcept {
    return heap_[position / per_chunk]->nodes[position % per_chunk];
  }
  [[nodiscard]] const node& at(std::size_t position) const noexcept {
    return heap_[position / per_chunk]->nodes[position % per_chunk];
  }
  [[nodiscard]] chunk& chunk_at(std::uint32_t number) const noexcept {
    return blocks_[number / per_block][number % per_block];
  }
  [[nodiscard]] bool before(const node& a, const node& b) const noexcept {
    return a.key != b.key ? a.key < b.key : turns_[a.index] < turns_[b.index];
  }

  // --- the heap
  void put(std::size_t position, node n) noexcept {
    at(position) = n;
    positions_[n.index] = static_cast<std::uint32_t>(position);
  }
  void append(node n) noexcept;
  void push(node n) noexcept;
  node pop_last() noexcept;
  [[nodiscard]] std::size_t least_of(std::size_t first) const noexcept;
  void sift_up(std::size_t position, node n) noexcept;
  void sift_down(std::size_t position, node n) noexcept;
  void erase(std::size_t position) noexcept;
  void make_heap() noexcept;

  // --- the slots
  void put_far(node n) noexcept;
  void prefetch(std::uint32_t number) const noexcept;
  void put_into(std::uint32_t number, std::uint32_t place, node n) noexcept;
  bool pop_far(level& l, std::size_t digit, node& n) noexcept;
  void sweep() noexcept;
  void close_gaps(std::uint32_t number) noexcept;
  void clear_slots() noexcept;
  void spill() noexcept;
  void refill() noexcept;
  [[nodiscard]] std::uint32_t take_chunk() noexcept;
  void release_chunk(std::uint32_t number) noexcept;
  [[nodiscard]] std::size_t chunks_for(std::size_t places) const noexcept;

  // Constant after construction.
  std::size_t near_;

  std::vector<std::uint32_t> positions_;  // by index
  std::vector<std::uint64_t> turns_;      // by index
  std::uint64_t next_turn_ = 0;

  std::vector<chunk*> heap_;
  std::vector<std::uint32_t> heap_chunks_;  // their numbers
  std::size_t end_ = root;
  std::size_t limit_;               // of the heap; beyond it spill()
  std::uint64_t last_near_ = none;  // what is later is in a slot
  bool refilled_ = false;           // for_new_near() does not know yet

  std::unique_ptr<std::array<level, levels>> levels_;  // null as long as they cannot be needed
  std::uint64_t cursor_ = 0;
  std::size_t far_ = 0;

  // Memory of chunks. What is never used of a block is never touched.
  std::vector<std::unique_ptr<chunk[]>> blocks_;
  std::vector<std::uint32_t> below_;  // by chunk: the next one in its slot, or that is free
  std::vector<std::uint16_t> slots_;  // by chunk: the slot that it is in, or no_slot
  std::uint32_t free_ = no_chunk;
  std::uint32_t hand_ = 0;  // the chunk at which sweep() was last
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

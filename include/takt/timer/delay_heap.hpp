/// \file
/// The order of timers in a heap: exact, and at home with few timers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
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

  /// The place is not pending.
  void add(std::uint32_t index, std::uint64_t key) noexcept;

  /// Does nothing if the place is not pending.
  void remove(std::uint32_t index) noexcept;

  /// Makes those up to `now` expire, as many as fit. Sets the index of each handle only.
  std::size_t advance(std::uint64_t now, std::span<timer_id> expired) noexcept;

  /// The earliest key; the largest number if there is none.
  [[nodiscard]] std::uint64_t next() const noexcept {
    return nodes_.empty() ? std::numeric_limits<std::uint64_t>::max() : nodes_.front().key;
  }

  /// How many are pending.
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

  /// For tests and fuzzers.
  [[nodiscard]] bool check_invariants(std::uint64_t now) const noexcept;

 private:
  struct node {
    std::uint64_t key;
    std::uint64_t sequence;
    std::uint32_t index;

    [[nodiscard]] bool before(const node& other) const noexcept {
      return key != other.key ? key < other.key : sequence < other.sequence;
    }
  };
  static constexpr std::size_t children = 4;
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

  void put(std::size_t position, const node& n) noexcept;
  void sift_up(std::size_t position, const node& n) noexcept;
  void sift_down(std::size_t position, const node& n) noexcept;
  void erase(std::size_t position) noexcept;

  std::vector<node> nodes_;
  std::vector<std::uint32_t> positions_;  // by index
  std::uint64_t sequence_ = 0;
};

}  // namespace takt::inline TAKT_ABI

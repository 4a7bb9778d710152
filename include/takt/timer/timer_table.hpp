/// \file
/// Values in places that do not move, and handles that know when theirs is gone.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/assert.hpp>
#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Names one timer of one timer_set, for as long as the set exists. Made by insert(); one that is
/// default-constructed names none. When the timer is gone the handle is stale, for ever: a
/// generation has 64 bits and is not used again.
///
/// **Thread safety**: as for an int. **Destruction** does nothing to the timer.
struct timer_id {
  std::uint64_t generation = 0;
  std::uint32_t index = 0;

  friend bool operator==(const timer_id&, const timer_id&) = default;
};

/// A slab of values: a value stays where it is until it is taken, and its place is used again.
/// For timer_set; the order of the timers is not known here.
///
/// \code
/// takt::timer_table<std::string> table;
/// if (table.full()) table.grow();
/// const takt::timer_id id = table.add("later");
/// table.find(id);                             // points to "later"
/// table.take(id.index);                       // "later"
/// table.find(id);                             // nullptr
/// \endcode
///
/// Only grow() allocates. **Thread safety**: none. **Destruction** destroys the values.
template <class T>
class timer_table {
  // States of a place, by its generation:
  //
  //   even  free
  //   odd   used: holds a value
  //
  //   even -> odd   add()
  //   odd  -> even  take()
  //
  // Places are in blocks of 64, and add() goes on in one block while that has a free place: what
  // was freed in any order is used again in that of memory.
  //
  // Invariants
  //   1. Places have the numbers below places(). Bit i of free_[b] is set exactly if place i of
  //      block b is free; used_ counts the others.
  //   2. A block is on the stack open_, once, exactly if it has a free place.
  //   3. open_ has capacity for all blocks: take() does not allocate.
  static_assert(std::is_nothrow_move_constructible_v<T>, "T moves without throwing");
  static_assert(std::is_nothrow_destructible_v<T>, "T is destroyed without throwing");

 public:
  /// How many places grow() adds.
  static constexpr std::size_t step = 64;

  timer_table() = default;
  timer_table(const timer_table&) = delete;
  timer_table& operator=(const timer_table&) = delete;

  ~timer_table() {
    for (std::size_t i = 0; i < places(); ++i) {
      if (entry& e = at(i); e.generation % 2 != 0) std::destroy_at(&e.value);
    }
  }

  /// How many values there are.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

  /// How many values there is room for.
  [[nodiscard]] std::size_t places() const noexcept { return blocks_.size() * step; }

  /// Whether grow() has to be called before add().
  [[nodiscard]] bool full() const noexcept { return open_.empty(); }

  /// Adds `step` places. Strong guarantee. Throws std::length_error beyond 2^32 places.
  void grow() {
    if (places() + step > std::numeric_limits<std::uint32_t>::max()) {
      throw std::length_error("takt::timer_table: more than 2^32 timers");
    }
    const std::size_t blocks = blocks_.size() + 1;
    if (open_.capacity() < blocks) open_.reserve(std::max(blocks, 2 * open_.capacity()));
    if (free_.capacity() < blocks) free_.reserve(std::max(blocks, 2 * free_.capacity()));
    blocks_.push_back(std::make_unique<block>());
    free_.push_back(~std::uint64_t{0});
    open_.push_back(static_cast<std::uint32_t>(blocks - 1));
  }

  /// The table is not full.
  timer_id add(T&& value) noexcept {
    TAKT_ASSERT(!full());
    const std::uint32_t b = open_.back();
    const auto i = static_cast<std::uint32_t>(std::countr_zero(free_[b]));
    free_[b] &= free_[b] - 1;
    if (free_[b] == 0) open_.pop_back();
    entry& e = (*blocks_[b])[i];
    std::construct_at(&e.value, std::move(value));
    ++used_;
    return {++e.generation, static_cast<std::uint32_t>(b * step + i)};
  }

  /// The value, or nullptr if the handle is stale.
  [[nodiscard]] T* find(timer_id id) noexcept {
    if (id.index >= places()) return nullptr;
    entry& e = at(id.index);
    return e.generation == id.generation && id.generation % 2 != 0 ? &e.value : nullptr;
  }

  /// The first value in place `from` or behind it; an id that names none if there is none.
  [[nodiscard]] timer_id find_from(std::size_t from) const noexcept {
    for (std::size_t i = from; i < places(); ++i) {
      if (at(i).generation % 2 != 0) return {at(i).generation, static_cast<std::uint32_t>(i)};
    }
    return {};
  }

  /// The generation of a place that is used.
  [[nodiscard]] std::uint64_t generation(std::uint32_t index) const noexcept {
    return at(index).generation;
  }

  /// Takes the value out of a place that is used.
  std::optional<T> take(std::uint32_t index) noexcept {
    entry& e = at(index);
    TAKT_ASSERT(e.generation % 2 != 0);
    std::optional<T> value(std::move(e.value));
    std::destroy_at(&e.value);
    ++e.generation;
    std::uint64_t& freed = free_[index / step];
    if (freed == 0) open_.push_back(static_cast<std::uint32_t>(index / step));
    freed |= std::uint64_t{1} << index % step;
    --used_;
    return value;
  }

  /// For who is about to look at many places.
  void prefetch(std::uint32_t index) const noexcept {
    const entry& e = at(index);
    __builtin_prefetch(&e.generation, 1);
    __builtin_prefetch(&reinterpret_cast<const char*>(&e + 1)[-1], 1);
  }

  /// Walks all places, for tests and fuzzers.
  [[nodiscard]] bool check_invariants() const {
    if (open_.capacity() < blocks_.size() || free_.size() != blocks_.size()) return false;
    std::size_t used = 0;
    for (std::size_t i = 0; i < places(); ++i) {
      const bool is_free = (free_[i / step] >> i % step & 1) != 0;
      if (is_free == (at(i).generation % 2 != 0)) return false;
      if (!is_free) ++used;
    }
    std::vector<bool> open(blocks_.size());
    for (const std::uint32_t b : open_) {
      if (b >= open.size() || open[b] || free_[b] == 0) return false;
      open[b] = true;
    }
    for (std::size_t b = 0; b < open.size(); ++b) {
      if (!open[b] && free_[b] != 0) return false;
    }
    return used == used_;
  }

 private:
  struct entry {
    entry() noexcept {}
    ~entry() {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

    std::uint64_t generation = 0;
    union {
      T value;  // exists while the generation is odd
    };
  };
  using block = std::array<entry, step>;

  entry& at(std::size_t index) noexcept { return (*blocks_[index / step])[index % step]; }
  const entry& at(std::size_t index) const noexcept {
    return (*blocks_[index / step])[index % step];
  }

  std::vector<std::unique_ptr<block>> blocks_;
  std::vector<std::uint64_t> free_;  // by block
  std::vector<std::uint32_t> open_;
  std::size_t used_ = 0;
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// Values in places that do not move, and handles that know when theirs is gone.
#pragma once

#include <algorithm>
#include <array>
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
  //   even  free: fresh, from fresh_ on, or on the stack free_
  //   odd   used: holds a value
  //
  //   even -> odd   add()
  //   odd  -> even  take()
  //
  // Invariants
  //   1. Places have the numbers below places(). Those from fresh_ on were never used.
  //   2. A place below fresh_ is either used or exactly once on free_; used_ counts the former.
  //   3. free_ has capacity for all places: take() does not allocate.
  static_assert(std::is_nothrow_move_constructible_v<T>, "T moves without throwing");
  static_assert(std::is_nothrow_destructible_v<T>, "T is destroyed without throwing");

 public:
  /// How many places grow() adds.
  static constexpr std::size_t step = 64;

  timer_table() = default;
  timer_table(const timer_table&) = delete;
  timer_table& operator=(const timer_table&) = delete;

  ~timer_table() {
    for (std::size_t i = 0; i < fresh_; ++i) {
      if (entry& e = at(i); e.generation % 2 != 0) std::destroy_at(&e.value);
    }
  }

  /// How many values there are.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

  /// How many values there is room for.
  [[nodiscard]] std::size_t places() const noexcept { return blocks_.size() * step; }

  /// Whether grow() has to be called before add().
  [[nodiscard]] bool full() const noexcept { return used_ == places(); }

  /// Adds `step` places. Strong guarantee. Throws std::length_error beyond 2^32 places.
  void grow() {
    if (places() + step > std::numeric_limits<std::uint32_t>::max()) {
      throw std::length_error("takt::timer_table: more than 2^32 timers");
    }
    if (free_.capacity() < places() + step) {
      free_.reserve(std::max(places() + step, 2 * free_.capacity()));
    }
    blocks_.push_back(std::make_unique<block>());
  }

  /// The table is not full.
  timer_id add(T&& value) noexcept {
    TAKT_ASSERT(!full());
    std::uint32_t index = 0;
    if (free_.empty()) {
      index = fresh_++;
    } else {
      index = free_.back();
      free_.pop_back();
      // Freed places are scattered. By the time they are used again, they are in the cache.
      if (free_.size() >= ahead) prefetch(free_[free_.size() - ahead]);
    }
    entry& e = at(index);
    std::construct_at(&e.value, std::move(value));
    ++used_;
    return {++e.generation, index};
  }

  /// The value, or nullptr if the handle is stale.
  [[nodiscard]] T* find(timer_id id) noexcept {
    if (id.index >= fresh_) return nullptr;
    entry& e = at(id.index);
    return e.generation == id.generation && id.generation % 2 != 0 ? &e.value : nullptr;
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
    free_.push_back(index);
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
    if (fresh_ > places() || free_.capacity() < places()) return false;
    std::vector<bool> freed(fresh_);
    for (const std::uint32_t index : free_) {
      if (index >= fresh_ || freed[index]) return false;
      freed[index] = true;
    }
    std::size_t used = 0;
    for (std::size_t i = 0; i < fresh_; ++i) {
      const bool is_used = at(i).generation % 2 != 0;
      if (is_used == freed[i]) return false;
      if (is_used) ++used;
    }
    return used == used_;
  }

 private:
  static constexpr std::size_t ahead = 8;

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
  std::vector<std::uint32_t> free_;
  std::uint32_t fresh_ = 0;
  std::size_t used_ = 0;
};

}  // namespace takt::inline TAKT_ABI

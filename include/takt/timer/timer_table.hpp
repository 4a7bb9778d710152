/// \file
/// Values in places that do not move, and handles that know when theirs is gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/assert.hpp>
#include <takt/base/config.hpp>
#include <takt/timer/free_places.hpp>

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
  // Invariants
  //   1. A place is free in free_ exactly if its generation is even.
  //   2. There is a block for all places of free_.
  static_assert(std::is_nothrow_move_constructible_v<T>, "T moves without throwing");
  static_assert(std::is_nothrow_destructible_v<T>, "T is destroyed without throwing");

 public:
  /// How many places grow() adds.
  static constexpr std::size_t step = free_places::step;

  timer_table() = default;
  timer_table(const timer_table&) = delete;
  timer_table& operator=(const timer_table&) = delete;

  ~timer_table() {
    for (std::size_t i = 0; i < places(); ++i) {
      if (entry& e = at(i); e.generation % 2 != 0) std::destroy_at(&e.value);
    }
  }

  /// How many values there are.
  [[nodiscard]] std::size_t size() const noexcept { return free_.places() - free_.size(); }

  /// How many values there is room for.
  [[nodiscard]] std::size_t places() const noexcept { return free_.places(); }

  /// Whether grow() has to be called before add().
  [[nodiscard]] bool full() const noexcept { return free_.empty(); }

  /// Adds `step` places. Strong guarantee. Throws std::length_error beyond 2^32 places.
  void grow() {
    if (blocks_.size() * step == places()) blocks_.push_back(std::make_unique<block>());
    free_.grow();
  }

  /// The table is not full.
  timer_id add(T&& value) noexcept {
    const std::uint32_t index = free_.take();
    entry& e = at(index);
    std::construct_at(&e.value, std::move(value));
    return {++e.generation, index};
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

  /// The generation of a place.
  [[nodiscard]] std::uint64_t generation(std::size_t index) const noexcept {
    return at(index).generation;
  }

  /// Takes the value out of a place that is used.
  std::optional<T> take(std::uint32_t index) noexcept {
    entry& e = at(index);
    TAKT_ASSERT(e.generation % 2 != 0);
    std::optional<T> value(std::move(e.value));
    std::destroy_at(&e.value);
    ++e.generation;
    free_.put(index);
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
    if (!free_.check_invariants() || blocks_.size() * step < places()) return false;
    for (std::size_t i = 0; i < places(); ++i) {
      if (free_.is_free(i) == (generation(i) % 2 != 0)) return false;
    }
    return true;
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
  free_places free_;
};

}  // namespace takt::inline TAKT_ABI

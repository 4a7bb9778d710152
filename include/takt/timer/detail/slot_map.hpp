/// \file
/// Values in places that do not move, and handles that know when theirs is gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/prefetch.hpp>
#include <takt/timer/detail/slot_bitmap.hpp>
#include <takt/timer/timer_id.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A slab of values: a value stays where it is until it is taken, and its place is used again.
/// For timer_set; the order of the timers is not known here.
///
/// \code
/// takt::slot_map<std::string> table;
/// if (table.full()) table.grow();
/// const takt::timer_id id = table.add(std::string("later"));
/// table.find(id);                             // points to "later"
/// table.take(id.index);                       // "later"
/// table.find(id);                             // nullptr
/// \endcode
///
/// Only grow() allocates. **Thread safety**: none. **Destruction** destroys the values.
template <class T>
class slot_map {
  // A place is
  //
  //   free     in free_; its generation is that of the value to come
  //   used     holds a value, whose generation it has
  //   retired  the value is gone, and its generation with it; the place is not free yet
  //
  //   free -> used      add()
  //   used -> retired   retire(), the first part of drop()
  //   retired -> free   reuse(), the second part
  //
  // Invariants
  //   1. Generations are odd, and only retire() changes them. So what adds a value writes to none,
  //      and who looks for a value reads nothing else of a place that has not got it.
  //   2. There is a block for all places of free_.
  static_assert(std::is_nothrow_move_constructible_v<T>, "T moves without throwing");
  static_assert(std::is_nothrow_destructible_v<T>, "T is destroyed without throwing");

 public:
  /// How many places grow() adds.
  static constexpr std::size_t step = slot_bitmap::step;

  slot_map() = default;
  slot_map(const slot_map&) = delete;
  slot_map& operator=(const slot_map&) = delete;

  ~slot_map() {
    for (std::size_t i = 0; i < places(); ++i) {
      if (!free_.is_free(i)) std::destroy_at(&at(i).value);
    }
  }

  /// How many values there are.
  [[nodiscard]] std::size_t size() const noexcept { return free_.places() - free_.size(); }

  /// How many values there is room for.
  [[nodiscard]] std::size_t places() const noexcept { return free_.places(); }

  /// Whether grow() has to be called before add().
  [[nodiscard]] bool full() const noexcept { return free_.empty(); }

  /// Adds `step` places. Strong guarantee. \throws std::bad_alloc; std::length_error as
  /// slot_bitmap::grow().
  void grow() {
    if (blocks_.size() * step == places()) blocks_.push_back(std::make_unique<block>());
    free_.grow();
  }

  /// The table is not full. The value is made in its place, of these.
  template <class... Args>
  timer_id add(Args&&... args) noexcept {
    static_assert(noexcept(T(std::forward<Args>(args)...)), "a value is made without throwing");
    const std::uint32_t index = free_.take();
    entry& e = at(index);
    ::new (static_cast<void*>(&e.value)) T(std::forward<Args>(args)...);
    return {e.generation, index};
  }

  /// The value, or nullptr if the handle is stale.
  [[nodiscard]] T* find(timer_id id) noexcept {
    T* const found = look_up(id);
    return found != nullptr && !free_.is_free(id.index) ? found : nullptr;
  }
  /// The same for a handle that add() has made, or that names none: does not look at what is free,
  /// which another thread may be changing.
  [[nodiscard]] T* look_up(timer_id id) noexcept {
    if (id.index >= places()) return nullptr;
    entry& e = at(id.index);
    return e.generation == id.generation ? &e.value : nullptr;
  }

  /// The value in a place that is used.
  [[nodiscard]] T& value(std::uint32_t index) noexcept { return at(index).value; }

  /// The first value in place `from` or behind it; an id that names none if there is none.
  [[nodiscard]] timer_id find_from(std::size_t from) const noexcept {
    for (std::size_t i = from; i < places(); ++i) {
      if (!free_.is_free(i)) return {at(i).generation, static_cast<std::uint32_t>(i)};
    }
    return {};
  }

  /// The generation of a place.
  [[nodiscard]] std::uint64_t generation(std::size_t index) const noexcept {
    return at(index).generation;
  }

  /// Takes the value out of a place that is used.
  std::optional<T> take(std::uint32_t index) noexcept {
    std::optional<T> value(std::move(at(index).value));
    drop(index);
    return value;
  }

  /// Destroys the value in a place that is used.
  void drop(std::uint32_t index) noexcept {
    TAKT_ASSERT(!free_.is_free(index));
    retire(index);
    reuse(index);
  }
  /// The same in two parts: after the first one its handles are stale, after the second one the
  /// place is used again.
  void retire(std::uint32_t index) noexcept {
    entry& e = at(index);
    std::destroy_at(&e.value);
    e.generation += 2;
  }
  void reuse(std::uint32_t index) noexcept { free_.put(index); }

  /// For who is about to look at many places.
  void prefetch(std::uint32_t index) const noexcept {
    const entry& e = at(index);
    takt::detail::prefetch(&e.generation);
    takt::detail::prefetch(&reinterpret_cast<const char*>(&e + 1)[-1]);
  }

  /// For who is about to add more.
  void prefetch_free() const noexcept {
    if (!full()) prefetch(free_.next());
  }

  /// Walks all places, for tests and fuzzers.
  [[nodiscard]] bool check_invariants() const {
    if (!free_.check_invariants() || blocks_.size() * step < places()) return false;
    for (std::size_t i = 0; i < places(); ++i) {
      if (generation(i) % 2 == 0) return false;
    }
    return true;
  }

 private:
  struct entry {
    entry() noexcept {}
    ~entry() {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

    std::uint64_t generation = 1;
    union {
      T value;  // exists while the place is used
    };
  };
  using block = std::array<entry, step>;

  entry& at(std::size_t index) noexcept { return (*blocks_[index / step])[index % step]; }
  const entry& at(std::size_t index) const noexcept {
    return (*blocks_[index / step])[index % step];
  }

  std::vector<std::unique_ptr<block>> blocks_;
  slot_bitmap free_{slot_bitmap::reuse::in_turn};
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

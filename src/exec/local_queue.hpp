// Each slot has a state of its own, and whoever changes it from `full` owns what is in the slot:
//
//   free     -> full(i)   push(), by the owner, as element number i
//   full(i)  -> free      pop(), by the owner, which takes the newest
//   full(i)  -> busy(i)   steal(), by whoever is first, which takes the oldest
//   busy(i)  -> free      steal(), when the task has been moved out
//
// Invariants
//   1. Elements are numbered; number i lives in slot i % capacity. oldest_ <= tail_, and full are
//      only slots with numbers from oldest_ up to, not including, tail_.
//   2. Element i is stolen only while oldest_ is i, and then oldest_ becomes i + 1, by the thief or
//      by another one that finds it busy. So elements are stolen in order, and if the newest one is
//      gone, all are: the owner never goes back to a number that was stolen.
//   3. A slot is used again only when it is free: a thief moves its task out undisturbed.
//   4. push() and the operations of empty() are seq_cst: one that adds and then looks whether
//      anybody sleeps, and one that says that it sleeps and then looks here, do not miss each
//      other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// The tasks that one worker has for itself: it adds and takes at one end, the newest first; others
/// take at the other end, the oldest first. Holds a fixed number.
///
/// **Thread safety**: has_room(), push(), next_slot(), push_next(), add_next() and pop() belong to
/// the owner; the rest is for anyone.
template <std::size_t Capacity>
class local_queue {
  static_assert((Capacity & (Capacity - 1)) == 0, "numbers wrap around");

 public:
  local_queue() = default;
  local_queue(const local_queue&) = delete;
  local_queue& operator=(const local_queue&) = delete;

  /// Whether there is room for one more. It does not go away.
  [[nodiscard]] bool has_room() const noexcept {
    const std::uint64_t i = tail_.load(std::memory_order_relaxed);  // relaxed: its own
    // acquire: a thief has moved out what was there
    return slots_[i % Capacity].state.load(std::memory_order_acquire) == free;
  }

  /// Adds a task, with a mark that pop() tells. There is room.
  void push(task&& t, bool marked = false) noexcept {
    ::new (static_cast<void*>(&next_slot())) task(std::move(t));  // where an empty one was
    push_next(marked);
  }

  /// The same in two steps: the place for the task, which is empty, and then, when it is there.
  [[nodiscard]] task& next_slot() noexcept {
    // relaxed: its own
    return slots_[tail_.load(std::memory_order_relaxed) % Capacity].held;
  }
  void push_next(bool marked) noexcept { add(marked, std::memory_order_seq_cst); }  // see 4
  /// For who looks itself for those that sleep.
  void add_next() noexcept { add(false, std::memory_order_release); }  // release: the task

  /// Takes the newest. Empty if there is none.
  [[nodiscard]] task pop(bool* marked = nullptr) noexcept {
    const std::uint64_t i = tail_.load(std::memory_order_relaxed) - 1;  // relaxed: its own
    slot& s = slots_[i % Capacity];
    std::uint64_t word = s.state.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    if ((word & ~mark) != full(i)) return {};
    // relaxed: the task is its own
    if (!s.state.compare_exchange_strong(word, free, std::memory_order_relaxed)) return {};
    if (marked != nullptr) *marked = (word & mark) != 0;
    tail_.store(i, std::memory_order_relaxed);  // relaxed: as above
    return std::move(s.held);
  }

  /// Takes the oldest. False if there is none.
  bool steal(task& t, bool* marked = nullptr) noexcept {
    for (;;) {
      const std::uint64_t i = oldest_.load();  // seq_cst: as in empty()
      slot& s = slots_[i % Capacity];
      std::uint64_t word = s.state.load();  // seq_cst: as in empty()
      if ((word & ~mark) == full(i)) {
        // acquire: the task
        if (!s.state.compare_exchange_strong(word, busy(i), std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
          continue;
        }
        advance(i);
        t = std::move(s.held);
        if (marked != nullptr) *marked = (word & mark) != 0;
        s.state.store(free, std::memory_order_release);  // release: the task has been moved out
        return true;
      }
      if (word == busy(i)) {
        advance(i);
      } else if (oldest_.load() == i) {  // seq_cst: as in empty()
        return false;
      }
    }
  }

  /// Whether steal() would find nothing.
  [[nodiscard]] bool empty() const noexcept {
    for (;;) {
      const std::uint64_t i = oldest_.load();                                // seq_cst: see 4
      const std::uint64_t word = slots_[i % Capacity].state.load() & ~mark;  // seq_cst: see 4
      if (word == full(i)) return false;
      if (word == busy(i)) {
        advance(i);                      // does not wait for the thief, which may be held up
      } else if (oldest_.load() == i) {  // seq_cst: see 4
        return true;
      }
    }
  }

  /// How many there are, about.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::uint64_t from = oldest_.load(std::memory_order_relaxed);  // relaxed: an estimate
    const std::uint64_t to = tail_.load(std::memory_order_relaxed);      // relaxed: an estimate
    return to > from ? static_cast<std::size_t>(to - from) : 0;
  }

 private:
  static constexpr std::uint64_t free = 0;
  static constexpr std::uint64_t mark = 4;
  static constexpr std::uint64_t full(std::uint64_t i) noexcept { return i << 3 | 1; }
  static constexpr std::uint64_t busy(std::uint64_t i) noexcept { return i << 3 | 2; }

  struct slot {
    // Atomic. See the top of the file.
    sync::atomic<std::uint64_t> state{free};
    task held;
  };

  void add(bool marked, std::memory_order order) noexcept {
    const std::uint64_t i = tail_.load(std::memory_order_relaxed);  // relaxed: its own
    slots_[i % Capacity].state.store(full(i) | (marked ? mark : 0), order);
    tail_.store(i + 1, std::memory_order_relaxed);  // relaxed: others only estimate with it
  }

  void advance(std::uint64_t i) const noexcept {
    std::uint64_t expected = i;
    oldest_.compare_exchange_strong(expected, i + 1);  // seq_cst: see 4
  }

  // Atomic. Written by the owner.
  alignas(cache_line) sync::atomic<std::uint64_t> tail_{0};
  // Atomic. Written by who steals, and by empty().
  alignas(cache_line) mutable sync::atomic<std::uint64_t> oldest_{0};
  std::array<slot, Capacity> slots_;
};

}  // namespace takt::inline TAKT_ABI

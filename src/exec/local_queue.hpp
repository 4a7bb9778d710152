// A ring of slots for one producer, its owner, and many thieves. It replaces a Chase-Lev deque:
// each slot has a state of its own, and the thread that changes it from `full` owns the task in the
// slot.
//
//   free     -> full(i)   push(), by the owner, as element number i
//   full(i)  -> free      pop(), by the owner, which takes the newest element
//   full(i)  -> busy(i)   steal(), by the first thief, which takes the oldest element
//   busy(i)  -> free      steal(), when the task has been moved out
//
// Invariants
//   1. Elements are numbered; element i lives in slot i % capacity. oldest_ <= tail_, and only
//   slots
//      of elements in [oldest_, tail_) are full.
//   2. Element i is stolen only while oldest_ is i. Then oldest_ becomes i + 1, by the thief or by
//      another thread that finds the slot busy. So elements are stolen in order, and if the newest
//      element is stolen, so are all older ones: the owner never reuses a number that was stolen.
//   3. A slot is used again only when it is free: a thief moves its task out undisturbed.
//   4. push() and the operations of empty() are seq_cst. So of a worker that pushes and then loads
//      wake_hint_, and a thread that sets wake_hint_ and then calls empty(), one sees the other.
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

/// The local queue of a worker, of fixed capacity. The owner pushes and pops the newest task; other
/// workers steal the oldest one. Lock-free.
///
/// **Thread safety**: has_room(), push(), next_slot(), push_next(), add_next() and pop() are for
/// the owner only, all other members for any thread.
template <std::size_t Capacity>
class local_queue {
  static_assert((Capacity & (Capacity - 1)) == 0, "element numbers wrap around");

 public:
  local_queue() = default;
  local_queue(const local_queue&) = delete;
  local_queue& operator=(const local_queue&) = delete;

  /// Returns whether a task can be pushed. Stays true until the owner pushes one.
  [[nodiscard]] bool has_room() const noexcept {
    const std::uint64_t i = tail_.load(std::memory_order_relaxed);  // relaxed: the owner writes it
    // acquire: the thief has moved its task out of the slot
    return slots_[i % Capacity].state.load(std::memory_order_acquire) == free;
  }

  /// Pushes a task, with a mark that pop() and steal() return. Requires has_room().
  void push(task&& t, bool marked = false) noexcept {
    ::new (static_cast<void*>(&next_slot())) task(std::move(t));  // over an empty task
    push_next(marked);
  }

  /// push() in two steps: the caller moves a task into next_slot(), which holds an empty one, and
  /// calls push_next() or add_next(). Requires has_room().
  [[nodiscard]] task& next_slot() noexcept {
    // relaxed: the owner writes it
    return slots_[tail_.load(std::memory_order_relaxed) % Capacity].held;
  }
  void push_next(bool marked) noexcept { add(marked, std::memory_order_seq_cst); }  // see 4
  /// As push_next(false), but without 4: for a caller that does not rely on wake_hint_.
  void add_next() noexcept { add(false, std::memory_order_release); }  // release: the task

  /// Takes the newest task. \return an empty task if there is none.
  [[nodiscard]] task pop(bool* marked = nullptr) noexcept {
    // relaxed: the owner writes it
    const std::uint64_t i = tail_.load(std::memory_order_relaxed) - 1;
    slot& s = slots_[i % Capacity];
    std::uint64_t word = s.state.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    if ((word & ~mark) != full(i)) return {};
    // relaxed: the owner has written the task itself
    if (!s.state.compare_exchange_strong(word, free, std::memory_order_relaxed)) return {};
    if (marked != nullptr) *marked = (word & mark) != 0;
    tail_.store(i, std::memory_order_relaxed);  // relaxed: as above
    return std::move(s.held);
  }

  /// Takes the oldest task. \return false if there is none.
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

  /// Returns whether steal() would find no task.
  [[nodiscard]] bool empty() const noexcept {
    for (;;) {
      const std::uint64_t i = oldest_.load();                                // seq_cst: see 4
      const std::uint64_t word = slots_[i % Capacity].state.load() & ~mark;  // seq_cst: see 4
      if (word == full(i)) return false;
      if (word == busy(i)) {
        advance(i);                      // for the thief, which may be suspended
      } else if (oldest_.load() == i) {  // seq_cst: see 4
        return true;
      }
    }
  }

  /// Returns the number of tasks, as an estimate.
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
    const std::uint64_t i = tail_.load(std::memory_order_relaxed);  // relaxed: the owner writes it
    slots_[i % Capacity].state.store(full(i) | (marked ? mark : 0), order);
    tail_.store(i + 1, std::memory_order_relaxed);  // relaxed: other threads only estimate with it
  }

  void advance(std::uint64_t i) const noexcept {
    std::uint64_t expected = i;
    oldest_.compare_exchange_strong(expected, i + 1);  // seq_cst: see 4
  }

  // Atomic. Written by the owner.
  alignas(cache_line) sync::atomic<std::uint64_t> tail_{0};
  // Atomic. Written by thieves, and by empty().
  alignas(cache_line) mutable sync::atomic<std::uint64_t> oldest_{0};
  std::array<slot, Capacity> slots_;
};

}  // namespace takt::inline TAKT_ABI

/// Numbers on their way from many threads to one: how timers get into a wheel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/sync.hpp>

namespace takt::inline TAKT_ABI {

/// A ring of numbers. Who adds one takes the next turn, and then fills the slot of that turn; in
/// between there is a gap, behind which nothing is taken out yet.
///
/// Memory ordering: a turn is taken in the one order of all seq_cst operations. So of two threads,
/// of which one adds and then looks at a flag, and the other sets the flag and then takes out what
/// is there (both seq_cst), at least one sees what the other has done. What was done before
/// try_push() happens before take(number).
///
/// Thread safety: try_push() from any thread, without a lock; take_all() by one thread at a time.
class timer_inbox {
 public:
#if defined(TAKT_MODEL)
  static constexpr std::size_t size = 2;
#else
  static constexpr std::size_t size = 4096;
#endif

  /// Adds a number, unless it is full.
  bool try_push(std::uint32_t number) noexcept {
    std::size_t turn = tail_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    do {
      // acquire: the slots that it has emptied
      if (turn - head_.load(std::memory_order_acquire) >= size) return false;
      // seq_cst: see above
    } while (!tail_.compare_exchange_weak(turn, turn + 1, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    // relaxed: the turn has published the timer
    slots_[turn % size].store(number + 1, std::memory_order_relaxed);
    return true;
  }

  /// Takes out what is there when it begins, in order, and calls take(number) for each.
  /// \return whether it came to the end; otherwise there is a gap.
  template <class Take>
  bool take_all(Take take) noexcept {
    const std::size_t end = tail_.load(std::memory_order_seq_cst);  // seq_cst: see above
    std::size_t turn = head_.load(std::memory_order_relaxed);       // relaxed: its own
    bool filled = true;
    for (; turn != end; ++turn) {
      slot& s = slots_[turn % size];
      const std::uint32_t number = s.load(std::memory_order_relaxed);  // relaxed: as in try_push()
      filled = number != 0;
      if (!filled) break;
      s.store(0, std::memory_order_relaxed);  // relaxed: head_ publishes it
      take(number - 1);
    }
    head_.store(turn, std::memory_order_release);  // release: the empty slots
    return filled;
  }

 private:
  using slot = sync::atomic<std::uint32_t>;  // 0: empty; else the number + 1

  // Atomic. Written by who adds.
  alignas(cache_line) sync::atomic<std::size_t> tail_{0};
  // Atomic. Written by who takes out.
  alignas(cache_line) sync::atomic<std::size_t> head_{0};
  alignas(cache_line) std::array<slot, size> slots_{};
};

}  // namespace takt::inline TAKT_ABI

// A part of the inbox:
//
//   free     on the list of free parts
//   open     where turns are taken, exactly one
//   ended    no more turns: it was full, or was ended before that; it has the time of that moment
//
//   free -> open     open_next(), with slots that are empty
//   open -> ended    open_next() if it is full, end_part() otherwise; the next one is open then
//   ended -> free    take() has taken all of it
//
// Invariants
//   1. Who has got a turn below `size` has a slot of his own, in a part that is open or ended, and
//      fills it. Until then there is a gap, and the part does not become free.
//   2. A part that is not open has `size` turns or more: who comes to it late gets none, or, if it
//      is open again by then, one like all others.
//   3. From oldest_ on parts are in the order in which they were opened, the open one is the last.
//   4. No two parts that are open or ended have the same name: there are fewer parts than names,
//      which come round in turn.
/// Numbers on their way from many threads to one: how timers get into a wheel.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>

namespace takt::inline TAKT_ABI {

/// A queue of numbers in parts. Who adds one takes the next turn in the open part, and then fills
/// the slot of that turn; in between there is a gap, behind which nothing is taken out yet. Parts
/// that have ended know when: turns in them were taken before that.
///
/// Memory ordering: a turn is taken in the one order of all seq_cst operations. So of two threads,
/// of which one takes a turn and then looks at a flag, and the other sets the flag and then takes
/// out what is there (both seq_cst), at least one sees what the other has done: a gap is seen, too.
/// What was done before fill() happens before take(number).
///
/// Thread safety: turns from any thread, without a lock; all others under one lock.
class timer_inbox {
 public:
  using time_point = clock::time_point;
  enum class how_far : std::uint8_t { one_part, all };
  /// What a part is called, for as long as something is in it. Never 0.
  using part_name = std::uint16_t;

  /// A place in the queue, to be filled without delay: others wait for that.
  class turn {
   public:
    turn() noexcept = default;
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    /// Where it is.
    [[nodiscard]] part_name part() const noexcept { return part_; }
    void fill(std::uint32_t number) const noexcept {
      slot_->store(number + 1, std::memory_order_release);  // release: see above
    }

   private:
    friend class timer_inbox;
    turn(sync::atomic<std::uint32_t>& slot, part_name part) noexcept : slot_(&slot), part_(part) {}
    sync::atomic<std::uint32_t>* slot_ = nullptr;
    part_name part_ = 0;
  };

  timer_inbox() {
    reserve(0);
    oldest_ = open_free_part();
  }
  timer_inbox(const timer_inbox&) = delete;
  timer_inbox& operator=(const timer_inbox&) = delete;

  /// Takes a turn. None if open_next() has to be called before.
  turn try_take_turn() noexcept {
    part& p = *open_.load(std::memory_order_acquire);  // acquire: the part
    // seq_cst: see above; and so it has the empty slots, and the name, of a part that is open again
    const std::uint32_t number = p.turns.fetch_add(1, std::memory_order_seq_cst);
    return number < size ? turn(p.slots[number], p.name) : turn();
  }

  /// Makes room for almost as many numbers, below that, that come round in turn: when one comes
  /// again, its last one has just been taken out. Strong guarantee.
  void reserve(std::size_t numbers) {
    const std::size_t parts =
        std::clamp((numbers - numbers / 32) / size, least_parts, std::size_t{last_name});
    parts_.reserve(parts);
    while (parts_.size() < parts) {
      parts_.push_back(std::make_unique<part>());
      put_free(*parts_.back());
    }
  }

  /// Opens a part if the open one is full, and has it end as of now(). \return whether there is an
  /// open one that is not full; otherwise take() has to be called.
  template <class Now>
  bool open_next(Now now) noexcept {
    part& p = *newest();
    // acquire: what was added began before now()
    if (p.turns.load(std::memory_order_acquire) < size) return true;
    if (free_ == nullptr) return false;
    end(p, size, now());
    return true;
  }

  /// Has the open part end as of now(), if something is in it that has not been taken out.
  /// \return whether there is nothing left in the open part; otherwise take() has to be called.
  template <class Now>
  bool end_part(Now now) noexcept {
    if (!has_open()) return true;
    if (free_ == nullptr) return false;
    part& p = *newest();
    // acq_rel: as in open_next(); and who adds later comes to the next one
    const std::uint32_t turns = p.turns.fetch_add(size, std::memory_order_acq_rel);
    end(p, std::min(turns, size), now());
    return true;
  }

  /// Whether there is something in the open part.
  [[nodiscard]] bool has_open() const noexcept {
    const part& p = *newest();
    return std::min(p.turns.load(std::memory_order_seq_cst), size) !=
           p.taken;  // seq_cst: see above
  }

  /// Takes out what is there when it begins, in order, and calls take(number, part, time) for each,
  /// with the time when its part has ended, or null if that is open. ahead(number) is called some
  /// time before. \return whether it came to the end, or as far as it was to; otherwise there is a
  /// gap.
  template <class Ahead, class Take>
  bool take(how_far until, Ahead ahead, Take take) noexcept {
    constexpr std::uint32_t distance = 8;
    for (;;) {
      part& p = *oldest_;
      const bool is_open = &p == newest();
      // seq_cst: see above
      const std::uint32_t end =
          is_open ? std::min(p.turns.load(std::memory_order_seq_cst), size) : p.end;
      for (; p.taken != end; ++p.taken) {
        // acquire: see above
        const std::uint32_t number = p.slots[p.taken].load(std::memory_order_acquire);
        if (number == 0) return false;
        const std::uint32_t later = p.taken + distance;
        if (later < end) {
          const std::uint32_t next = p.slots[later].load(std::memory_order_acquire);  // as above
          if (next != 0) ahead(next - 1);
        }
        take(number - 1, p.name, is_open ? nullptr : &p.time);
      }
      if (is_open) return true;
      oldest_ = p.next;
      put_free(p);
      if (until == how_far::one_part) return true;
    }
  }

 private:
#if defined(TAKT_MODEL) && !defined(TAKT_MODEL_FULL_SIZE)
  static constexpr std::uint32_t size = 2;
  static constexpr std::size_t least_parts = 2;
#else
  static constexpr std::uint32_t size = 4080;  // rarely a lock
  static constexpr std::size_t least_parts = 3;
#endif
  static constexpr part_name last_name = std::numeric_limits<part_name>::max();

  struct alignas(cache_line) part {
    // NOLINTNEXTLINE(*-member-init): memory that no timer uses is not touched
    part() noexcept {}

    // Atomic. Written by who adds, and by who ends or opens it.
    sync::atomic<std::uint32_t> turns;
    // Constant while it is open or ended.
    part_name name;
    // Guarded by the lock.
    std::uint32_t taken;
    std::uint32_t end;  // if it has ended
    part* next;
    time_point time;  // if it has ended
    // Atomic. 0: empty; else the number + 1
    alignas(cache_line) std::array<sync::atomic<std::uint32_t>, size> slots;
  };

  // relaxed: written under the lock
  [[nodiscard]] part* newest() const noexcept { return open_.load(std::memory_order_relaxed); }

  void put_free(part& p) noexcept { p.next = std::exchange(free_, &p); }

  part* open_free_part() noexcept {
    part* const p = std::exchange(free_, free_->next);
    p->next = nullptr;
    p->taken = 0;
    p->name = newest_name_ = newest_name_ == last_name ? part_name{1} : newest_name_ + part_name{1};
    // relaxed: turns, below
    for (auto& each : p->slots) each.store(0, std::memory_order_relaxed);
    p->turns.store(0, std::memory_order_release);  // release: the empty slots, the name
    open_.store(p, std::memory_order_release);     // release: the part
    return p;
  }

  void end(part& p, std::uint32_t turns, time_point now) noexcept {
    p.end = turns;
    p.time = now;
    p.next = open_free_part();
  }

  // Atomic. Written under the lock.
  alignas(cache_line) sync::atomic<part*> open_{nullptr};
  // Guarded by the lock.
  alignas(cache_line) part* oldest_ = nullptr;
  part* free_ = nullptr;
  part_name newest_name_ = 0;
  std::vector<std::unique_ptr<part>> parts_;
};

}  // namespace takt::inline TAKT_ABI

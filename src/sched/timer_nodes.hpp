// Groups of places: cancels << 33 | closed << 32 | free, where a bit of `free` is set for each
// place that nobody has. at_hand_: the number of a group << 32 | those of its places that are
// claimed and not used yet.
//
//   bit 1 -> 0   take_free(): all of a group at once, which are at hand then
//   at hand      claim(), one by one
//   bit 0 -> 1   give_back(), which counts it if its timer was cancelled
//
// Invariants
//   1. A place belongs to who has claimed it, until that one gives it back.
//   2. cursor_ is where the next group is looked for. It only moves on; at the end of the places it
//      begins again if many of the first are free, or more are made if fewer than an eighth are. So
//      between two looks at all groups a good part of them has been claimed.
//   3. After close() of all groups, each place is counted in left_ until it is free: either close()
//      finds it free or at hand, or who gives it back finds its group closed.
/// Places of timers, which many threads claim and give back without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <takt/base/config.hpp>
#include <takt/base/detail/prefetch.hpp>
#include <takt/base/detail/sync.hpp>

#include "timer_node.hpp"

namespace takt::inline TAKT_ABI {

/// Thread safety: all members from any thread, except make_room() and close().
class timer_nodes {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;

 private:
#if defined(TAKT_MODEL) && !defined(TAKT_MODEL_FULL_SIZE)
  static constexpr std::size_t per_group = 2;
  static constexpr std::size_t per_slab = 4;
  static constexpr std::size_t per_page = 4;
  static constexpr std::size_t pages = 2;
#else
  static constexpr std::size_t per_group = 32;
  static constexpr std::size_t per_slab = 8192;
  static constexpr std::size_t per_page = 1024;
  static constexpr std::size_t pages = 511;
#endif
  static_assert(per_slab * per_page * pages < none);
  static constexpr std::uint64_t all_free = (std::uint64_t{1} << per_group) - 1;
  static constexpr std::uint64_t closed = std::uint64_t{1} << 32;
  static constexpr std::uint64_t one_cancel = std::uint64_t{1} << 33;
  static constexpr std::uint64_t all_cancels = ~(one_cancel - 1);

  struct slab {
    // NOLINTNEXTLINE(*-member-init): memory that no timer uses is not touched
    slab() noexcept {}
    std::array<sync::atomic<std::uint64_t>, per_slab / per_group> groups{};
    std::array<timer_node, per_slab> nodes;
    std::array<timer_closure, per_slab> closures;
    alignas(timer_details) std::array<std::byte, per_slab * sizeof(timer_details)> details;
  };

 public:
  timer_nodes() = default;
  timer_nodes(const timer_nodes&) = delete;
  timer_nodes& operator=(const timer_nodes&) = delete;
  ~timer_nodes() {
    for (std::size_t i = 0; i < slabs(); ++i) delete slab_at(i);
    for (auto& each : directory_) delete[] each.load(std::memory_order_relaxed);  // relaxed: alone
  }

  /// One that was claimed, and where it is. Two words, which go in registers.
  class place {
   public:
    place() noexcept = default;
    [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
    [[nodiscard]] timer_node& node() const noexcept { return slab_->nodes[index_ % per_slab]; }
    [[nodiscard]] void* closure() const noexcept {
      return slab_->closures[index_ % per_slab].bytes;
    }

   private:
    friend class timer_nodes;
    place(slab& s, std::uint32_t index) noexcept : slab_(&s), index_(index) {}
    slab* slab_ = nullptr;
    std::uint32_t index_ = none;
  };

  /// Claims a place. \return none if make_room() has to be called before.
  place claim() noexcept {
    // acquire: as in take_free()
    std::uint64_t at_hand = at_hand_.load(std::memory_order_acquire);
    for (;;) {
      if ((at_hand & all_free) == 0) {
        const std::uint64_t found = take_free();
        if (found == 0) return {};
        // acq_rel: what the last owners of these places did; acquire: as above
        if (!at_hand_.compare_exchange_strong(at_hand, found, std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
          put_free(found);
          continue;
        }
        at_hand = found;
      }
      const auto index = static_cast<std::uint32_t>(
          (at_hand >> 32) * per_group + static_cast<std::size_t>(std::countr_zero(at_hand)));
      // Before the exchange, which nothing that comes after it overtakes.
      slab& s = of(index);
      // acquire: as above
      if (at_hand_.compare_exchange_weak(at_hand, at_hand & (at_hand - 1),
                                         std::memory_order_acquire, std::memory_order_acquire)) {
        return {s, index};
      }
    }
  }

  /// After claim() gave none: has it look elsewhere, or makes places. Under a lock. Calls
  /// reserve(places) before there are more. \throws std::bad_alloc, std::length_error.
  template <class Reserve>
  void make_room(Reserve reserve) {
    const std::size_t end = groups_.load(std::memory_order_relaxed);  // relaxed: under the lock
    std::size_t at = cursor_.load(std::memory_order_relaxed);         // relaxed: as above
    while (at != end && free_in(at) == 0) ++at;
    if (at == end && begins_with_free(end)) {
      at = 0;
    } else if (at == end) {
      if (to_make_ == 0) {
        std::size_t free = 0;
        for (std::size_t g = 0; g != end; ++g) free += free_in(g);
        if (free < end * per_group / 8 + 1) to_make_ = slabs() / 8 + 1;
      }
      if (to_make_ == 0) {
        at = 0;
      } else {
        reserve(end * per_group + per_slab);
        add_slab();
        --to_make_;
      }
    }
    cursor_.store(at, std::memory_order_relaxed);  // relaxed: a hint
  }

  /// Whether nobody has that place, at some moment after it was told to the caller.
  [[nodiscard]] bool is_free(std::uint32_t index) const noexcept {
    // relaxed: who claimed it before is known to the caller
    return (group(index / per_group).load(std::memory_order_relaxed) >> index % per_group & 1) != 0;
  }

  /// Gives a place back. \return whether this was the last one, after close().
  [[nodiscard]] bool give_back(std::uint32_t index, bool was_cancelled) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << index % per_group;
    // release: what its owner did, to who claims it; acquire: if it was the last one
    const std::uint64_t before =
        group(index / per_group)
            .fetch_add(was_cancelled ? bit + one_cancel : bit, std::memory_order_acq_rel);
    if (was_cancelled && before >= all_cancels) {
      cancels_.fetch_add(all_cancels / one_cancel + 1, std::memory_order_relaxed);  // a count
    }
    if ((before & closed) == 0) return false;
    // acq_rel: what the others did, to who is the last
    return left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  /// When no more are claimed. \return whether all are free; else the last give_back() says so.
  [[nodiscard]] bool close() noexcept {
    const std::size_t end = groups_.load(std::memory_order_relaxed);  // relaxed: nobody adds
    left_.store(end * per_group + 1, std::memory_order_relaxed);      // relaxed: the groups publish
    // relaxed: nobody claims
    const std::uint64_t unused = at_hand_.load(std::memory_order_relaxed) & all_free;
    std::size_t free = 1 + static_cast<std::size_t>(std::popcount(unused));
    for (std::size_t g = 0; g != end; ++g) {
      // acq_rel: what was done with those that are free; left_
      const std::uint64_t before = group(g).fetch_or(closed, std::memory_order_acq_rel);
      free += static_cast<std::size_t>(std::popcount(before & all_free));
    }
    // acq_rel: as in give_back()
    return left_.fetch_sub(free, std::memory_order_acq_rel) == free;
  }

  [[nodiscard]] std::uint32_t places() const noexcept {
    // acquire: the slabs
    return static_cast<std::uint32_t>(groups_.load(std::memory_order_acquire) * per_group);
  }

  /// How many were claimed so far.
  [[nodiscard]] std::uint64_t claims() const noexcept {
    // First, so that none of those that are used is missing. acquire: they are counted
    const std::uint64_t unused = at_hand_.load(std::memory_order_acquire) & all_free;
    return claims_.load(std::memory_order_relaxed) -  // relaxed: a count
           static_cast<std::uint64_t>(std::popcount(unused));
  }
  /// How many were given back as cancelled.
  [[nodiscard]] std::uint64_t cancels() const noexcept {
    // acquire: what was carried over is not counted twice
    const std::uint64_t before = cancels_.load(std::memory_order_acquire);
    return before + sum_of_cancels();
  }

  [[nodiscard]] timer_node& operator[](std::uint32_t index) const noexcept {
    return of(index).nodes[index % per_slab];
  }
  [[nodiscard]] void* closure(std::uint32_t index) const noexcept {
    return of(index).closures[index % per_slab].bytes;
  }
  [[nodiscard]] timer_details& details(std::uint32_t index) const noexcept {
    std::byte* const first = of(index).details.data();
    return *reinterpret_cast<timer_details*>(first + index % per_slab * sizeof(timer_details));
  }
  /// For who is about to look at many places.
  void prefetch(std::uint32_t index) const noexcept {
    const slab& s = of(index);
    takt::detail::prefetch(&s.nodes[index % per_slab]);
    takt::detail::prefetch(&s.closures[index % per_slab]);
  }

 private:
  using slab_pointer = sync::atomic<slab*>;

  [[nodiscard]] std::size_t slabs() const noexcept {
    // relaxed: under the lock
    return groups_.load(std::memory_order_relaxed) / (per_slab / per_group);
  }
  // relaxed: who knows the number has acquired what is there
  [[nodiscard]] slab* slab_at(std::size_t number) const noexcept {
    const slab_pointer* const page = directory_[number / per_page].load(std::memory_order_relaxed);
    return page[number % per_page].load(std::memory_order_relaxed);
  }
  [[nodiscard]] slab& of(std::uint32_t index) const noexcept { return *slab_at(index / per_slab); }
  [[nodiscard]] sync::atomic<std::uint64_t>& group(std::size_t g) const noexcept {
    constexpr std::size_t per = per_slab / per_group;
    return slab_at(g / per)->groups[g % per];
  }
  [[nodiscard]] std::size_t free_in(std::size_t g) const noexcept {
    // relaxed: as of some moment
    return static_cast<std::size_t>(
        std::popcount(group(g).load(std::memory_order_relaxed) & all_free));
  }

  // All free places of some group, as at_hand_ has them. 0 if there are none from the cursor on.
  std::uint64_t take_free() noexcept {
    const std::size_t end = groups_.load(std::memory_order_acquire);  // acquire: the slabs
    // relaxed, all but one: hints
    for (std::size_t g = cursor_.load(std::memory_order_relaxed); g < end; ++g) {
      sync::atomic<std::uint64_t>& word = group(g);
      if ((word.load(std::memory_order_relaxed) & all_free) == 0) continue;
      // acquire: all that the last owners did
      const std::uint64_t found = word.fetch_and(~all_free, std::memory_order_acquire) & all_free;
      if (found == 0) continue;
      cursor_.store(g, std::memory_order_relaxed);
      // relaxed: at_hand_ publishes it
      claims_.fetch_add(static_cast<std::uint64_t>(std::popcount(found)),
                        std::memory_order_relaxed);
      return std::uint64_t{g} << 32 | found;
    }
    return 0;
  }
  void put_free(std::uint64_t taken) noexcept {
    const std::uint64_t found = taken & all_free;
    claims_.fetch_sub(static_cast<std::uint64_t>(std::popcount(found)), std::memory_order_relaxed);
    group(taken >> 32).fetch_or(found, std::memory_order_release);  // release: as in give_back()
  }

  // Whether as many are free as a slab has, without looking far.
  [[nodiscard]] bool begins_with_free(std::size_t end) const noexcept {
    constexpr std::size_t far = 4 * per_slab / per_group;
    std::size_t free = 0;
    for (std::size_t g = 0; g != std::min(end, far) && free < per_slab; ++g) free += free_in(g);
    return free >= per_slab;
  }

  [[nodiscard]] std::uint64_t sum_of_cancels() const noexcept {
    const std::size_t end = groups_.load(std::memory_order_acquire);  // acquire: the slabs
    std::uint64_t all = 0;
    for (std::size_t g = 0; g != end; ++g) {
      // acquire: what the owners of the places did
      all += group(g).load(std::memory_order_acquire) / one_cancel;
    }
    return all;
  }

  void add_slab() {
    const std::size_t number = slabs();
    if (number == per_page * pages) {
      throw std::length_error("takt::wheel_scheduler: more than " +
                              std::to_string(per_page * pages * per_slab) + " timers");
    }
    std::unique_ptr<slab> made(new slab);
    // relaxed, all: groups_ publishes them
    for (auto& each : made->groups) each.store(all_free, std::memory_order_relaxed);
    slab_pointer* page = directory_[number / per_page].load(std::memory_order_relaxed);
    if (page == nullptr) {
      page = new slab_pointer[per_page]{};
      directory_[number / per_page].store(page, std::memory_order_relaxed);
    }
    page[number % per_page].store(made.release(), std::memory_order_relaxed);
    // release: all that
    groups_.store((number + 1) * (per_slab / per_group), std::memory_order_release);
  }

  // Guarded by the lock of who calls make_room().
  std::size_t to_make_ = 0;  // slabs, before it looks again at what is free

  // Atomic. Written by who claims.
  alignas(cache_line) sync::atomic<std::uint64_t> at_hand_{0};
  sync::atomic<std::size_t> cursor_{0};
  sync::atomic<std::uint64_t> claims_{0};
  // Atomic. Written by add_slab().
  alignas(cache_line) sync::atomic<std::size_t> groups_{0};
  std::array<sync::atomic<slab_pointer*>, pages> directory_{};
  // Atomic. Written when a group has counted as far as it can.
  sync::atomic<std::uint64_t> cancels_{0};
  // Atomic. Written by close(), and by who gives back after that.
  sync::atomic<std::size_t> left_{0};
};

}  // namespace takt::inline TAKT_ABI

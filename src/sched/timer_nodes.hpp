// Groups of places: cancels << 49 | claims << 33 | closed << 32 | free, where a bit of `free` is
// set for each place that nobody has.
//
//   bit 1 -> 0   claim(), which counts it
//   bit 0 -> 1   give_back(), which counts it if its timer was cancelled
//
// Invariants
//   1. A place belongs to who has claimed it, until that one gives it back.
//   2. cursor_ is where the next place is looked for. It only moves on; at the end of the places it
//      begins again, or more are made if fewer than an eighth are free. So between two looks at all
//      groups a good part of them has been claimed.
//   3. After close() of all groups, each place is counted in left_ until it is free: either close()
//      finds it free, or who gives it back finds its group closed.
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
#include <takt/base/sync.hpp>

#include "timer_node.hpp"

namespace takt::inline TAKT_ABI {

/// Thread safety: all members from any thread, except make_room() and close().
class timer_nodes {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;

  timer_nodes() = default;
  timer_nodes(const timer_nodes&) = delete;
  timer_nodes& operator=(const timer_nodes&) = delete;
  ~timer_nodes() {
    for (std::size_t i = 0; i < slabs(); ++i) delete slab_at(i);
    for (auto& each : directory_) delete[] each.load(std::memory_order_relaxed);  // relaxed: alone
  }

  /// Claims a place. \return none if make_room() has to be called before.
  std::uint32_t claim() noexcept {
    std::size_t g = cursor_.load(std::memory_order_relaxed);          // relaxed: a hint
    const std::size_t end = groups_.load(std::memory_order_acquire);  // acquire: the slabs
    for (bool moved = false; g < end; ++g, moved = true) {
      sync::atomic<std::uint64_t>& word = group(g);
      std::uint64_t w = word.load(std::memory_order_relaxed);  // relaxed: the exchange decides
      while ((w & all_free) != 0) {
        const std::uint64_t bit = w & (~w + 1);
        // acquire: all that its last owner did
        const bool full = (w & all_claims) == all_claims;
        // Before, so that none of those that are counted is ever missing. relaxed: the exchange
        // publishes it
        if (full) claims_.fetch_add(all_claims / one_claim + 1, std::memory_order_relaxed);
        if (!word.compare_exchange_weak(w, (full ? w & ~all_claims : w + one_claim) - bit,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
          if (full) claims_.fetch_sub(all_claims / one_claim + 1, std::memory_order_relaxed);
          continue;
        }
        if (moved) cursor_.store(g, std::memory_order_relaxed);  // relaxed: as above
        return static_cast<std::uint32_t>(g * per_group +
                                          static_cast<std::size_t>(std::countr_zero(bit)));
      }
    }
    return none;
  }

  /// After claim() gave none: has it look elsewhere, or makes places. Under a lock. Calls
  /// reserve(places) before there are more. \throws std::bad_alloc, std::length_error.
  template <class Reserve>
  void make_room(Reserve reserve) {
    const std::size_t end = groups_.load(std::memory_order_relaxed);  // relaxed: under the lock
    std::size_t at = cursor_.load(std::memory_order_relaxed);         // relaxed: as above
    while (at != end && free_in(at) == 0) ++at;
    if (at == end) {
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
    std::size_t free = 1;
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
    const std::uint64_t here = sum(all_claims, one_claim);  // first: see claim()
    return here + claims_.load(std::memory_order_relaxed);  // relaxed: a count
  }
  /// How many were given back as cancelled.
  [[nodiscard]] std::uint64_t cancels() const noexcept {
    // acquire: what was carried over is not counted twice
    const std::uint64_t before = cancels_.load(std::memory_order_acquire);
    return before + sum(all_cancels, one_cancel);
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
    __builtin_prefetch(&s.nodes[index % per_slab], 1);
    __builtin_prefetch(&s.closures[index % per_slab], 1);
  }

 private:
#if defined(TAKT_MODEL)
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
  static constexpr std::uint64_t one_claim = std::uint64_t{1} << 33;
  static constexpr std::uint64_t one_cancel = std::uint64_t{1} << 49;
  static constexpr std::uint64_t all_claims = one_cancel - one_claim;
  static constexpr std::uint64_t all_cancels = ~(one_cancel - 1);

  struct slab {
    // NOLINTNEXTLINE(*-member-init): memory that no timer uses is not touched
    slab() noexcept {}
    std::array<sync::atomic<std::uint64_t>, per_slab / per_group> groups{};
    std::array<timer_node, per_slab> nodes;
    std::array<timer_closure, per_slab> closures;
    alignas(timer_details) std::array<std::byte, per_slab * sizeof(timer_details)> details;
  };
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

  [[nodiscard]] std::uint64_t sum(std::uint64_t field, std::uint64_t unit) const noexcept {
    const std::size_t end = groups_.load(std::memory_order_acquire);  // acquire: the slabs
    std::uint64_t all = 0;
    for (std::size_t g = 0; g != end; ++g) {
      // acquire: what the owners of the places did
      all += (group(g).load(std::memory_order_acquire) & field) / unit;
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
  alignas(cache_line) sync::atomic<std::size_t> cursor_{0};
  // Atomic. Written by add_slab().
  alignas(cache_line) sync::atomic<std::size_t> groups_{0};
  std::array<sync::atomic<slab_pointer*>, pages> directory_{};
  // Atomic. Written when a group has counted as far as it can.
  sync::atomic<std::uint64_t> claims_{0};
  sync::atomic<std::uint64_t> cancels_{0};
  // Atomic. Written by close(), and by who gives back after that.
  sync::atomic<std::size_t> left_{0};
};

}  // namespace takt::inline TAKT_ABI

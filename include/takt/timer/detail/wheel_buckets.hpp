/// \file
/// Lists of hints where a timer is: what the slots of a wheel hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/prefetch.hpp>
#include <takt/timer/detail/slot_bitmap.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Says that the timer in place `index` may have its deadline at `key`. It is live while the place
/// has that version, and stale afterwards.
struct wheel_entry {
  std::uint64_t key;
  std::uint32_t index;
  std::uint32_t version;
};

/// The hints of one wheel: which are live, and the memory of the lists that they are in. A list is
/// a chain of chunks of 31 hints, 512 bytes. wheel_buckets.cpp has the states and the invariants.
///
/// \code
/// takt::wheel_buckets hints(1);                 // for one list
/// hints.reserve(64);                          // and places 0 to 63
/// takt::wheel_buckets::list slot;
/// hints.append(slot, hints.arm(3, key));      // place 3 is pending
/// const bool used_up = hints.disarm(3);       // not any more: its hint is stale
/// hints.filter(slot);                         // the slot is empty
/// \endcode
///
/// Only reserve() allocates; it makes room enough for whatever the rest does as long as all hints
/// are in the number of lists that the constructor was told.
///
/// **Thread safety**: none. **Destruction** frees all chunks; lists are then without meaning.
class wheel_buckets {
 public:
  /// How many hints a chunk has room for.
  static constexpr std::size_t per_chunk = 31;

  /// Hints from `first` up to, not including, `end`.
  struct chunk {
    chunk* next;
    std::uint16_t first;
    std::uint16_t end;
    std::uint32_t number;  // while it is in use
    std::array<wheel_entry, per_chunk> hints;
  };

  /// A queue of hints. Every chunk has at least one; all but the first and the last are full; the
  /// first one is full but for what pop_front() took.
  struct list {
    chunk* head = nullptr;
    chunk* tail = nullptr;

    [[nodiscard]] bool empty() const noexcept { return head == nullptr; }
    [[nodiscard]] const wheel_entry& front() const noexcept { return head->hints[head->first]; }
    [[nodiscard]] const wheel_entry& back() const noexcept { return tail->hints[tail->end - 1]; }
  };

  /// For a wheel with that many lists.
  explicit wheel_buckets(std::size_t lists) noexcept : lists_(lists) {}
  wheel_buckets(const wheel_buckets&) = delete;
  wheel_buckets& operator=(const wheel_buckets&) = delete;

  /// Makes room for the places below `places`. Strong guarantee.
  void reserve(std::size_t places);

  /// Whether the lists have to be filtered, all of them, before the next arm().
  [[nodiscard]] bool full() const noexcept { return count_ == capacity_; }

  /// Makes a place pending that is not. \return its hint, to be appended to a list.
  [[nodiscard]] wheel_entry arm(std::uint32_t index, std::uint64_t key) noexcept {
    TAKT_ASSERT(!full() && !pending(index));
    ++count_;
    ++pending_;
    return {key, index, ++versions_[index]};
  }

  /// Makes a place not pending that is, and its hint stale. \return whether its versions are used
  /// up: the lists have to be filtered, all of them, before it is armed again.
  [[nodiscard]] bool disarm(std::uint32_t index) noexcept {
    TAKT_ASSERT(pending(index));
    --pending_;
    return ++versions_[index] == 0;
  }

  /// Whether a place is.
  [[nodiscard]] bool pending(std::uint32_t index) const noexcept {
    return versions_[index] % 2 != 0;
  }
  /// Whether a hint is that of its place.
  [[nodiscard]] bool live(const wheel_entry& h) const noexcept {
    return versions_[h.index] == h.version;
  }

  /// How many places are pending.
  [[nodiscard]] std::size_t size() const noexcept { return pending_; }

  /// Adds a hint at the end.
  void append(list& to, const wheel_entry& h) noexcept {
    chunk* c = to.tail;
    if (c == nullptr || c->end == per_chunk) c = extend(to);
    c->hints[c->end++] = h;
  }

  /// Takes the first hint away. The list is not empty.
  wheel_entry pop_front(list& from) noexcept {
    --count_;
    return take_front(from);
  }

  /// Takes all hints out of a list, in order: keep(hint) is called for each, and puts it into
  /// another list. Stale ones are dropped if looking for them pays.
  template <class Keep>
  void drain(list& from, Keep keep) noexcept {
    const bool look = many_stale();
    std::size_t stale = 0;
    for (chunk* c = std::exchange(from, {}).head; c != nullptr;) {
      prefetch(c->next);
      for (std::uint32_t i = c->first; i < c->end; ++i) {
        if (!look || live(c->hints[i])) {
          keep(c->hints[i]);
        } else {
          ++stale;
        }
      }
      chunk* const next = c->next;
      release(c);
      c = next;
    }
    count_ -= stale;
  }

  /// Whether so many hints are stale that it pays to look for them. A look at a place is likely to
  /// miss the cache; to move a hint is not.
  [[nodiscard]] bool many_stale() const noexcept { return count_ - pending_ > count_ / 8; }

  /// Drops the stale hints of a list.
  void filter(list& l) noexcept;

  /// Orders a list by key; hints with equal keys keep their order.
  void sort(list& l) noexcept;

  /// Makes one of two ordered lists; of equal keys those of `a` come first.
  [[nodiscard]] list merge(list a, list b) noexcept;

  /// Calls f(hint) for each hint of a list.
  template <class F>
  static void for_each(const list& l, F f) {
    for (const chunk* c = l.head; c != nullptr; c = c->next) {
      for (std::uint32_t i = c->first; i < c->end; ++i) f(c->hints[i]);
    }
  }

  /// For tests and fuzzers: counts what all lists of the wheel hold, one after the other.
  class inspection {
   public:
    explicit inspection(const wheel_buckets& hints)
        : hints_(hints), seen_(hints.versions_.size()) {}

    /// \return whether the list is in order as such. `popped`: hints may be missing in front.
    [[nodiscard]] bool add(const list& l, bool popped = false);

    /// \return whether all hints were met, and each pending place has one that is live.
    [[nodiscard]] bool complete() const noexcept;

   private:
    const wheel_buckets& hints_;
    std::vector<bool> seen_;
    std::size_t count_ = 0;
    std::size_t live_ = 0;
    std::size_t chunks_ = 0;
  };

 private:
  [[nodiscard]] std::size_t chunks_for(std::size_t hints) const noexcept;
  chunk* extend(list& l) noexcept;
  static void sort_chunk(chunk& c) noexcept;

  // All of the chunk that comes next, if there is one.
  static void prefetch(const chunk* c) noexcept {
    if (c == nullptr) return;
    const auto* const bytes = reinterpret_cast<const char*>(c);
    for (std::size_t i = 0; i < sizeof(chunk); i += cache_line) takt::detail::prefetch(bytes + i);
  }

  void release(const chunk* c) noexcept { free_.put(c->number); }

  wheel_entry take_front(list& from) noexcept {
    chunk* const c = from.head;
    const wheel_entry h = c->hints[c->first++];
    if (c->first == c->end) {
      from.head = c->next;
      if (from.head == nullptr) from.tail = nullptr;
      release(c);
    }
    return h;
  }

  // Constant after construction.
  std::size_t lists_;

  std::vector<std::uint32_t> versions_;  // by index
  std::size_t pending_ = 0;
  std::size_t count_ = 0;     // hints that are in lists
  std::size_t capacity_ = 0;  // how many may be
  slot_bitmap free_;          // chunks
  // Memory of chunks. What is never used of a block is never touched.
  static constexpr std::size_t per_block = 16 * slot_bitmap::step;
  std::vector<std::unique_ptr<chunk[]>> blocks_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

/// \file
/// Which places of a slab are free.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The numbers of places, in blocks of 64, and which of them are free. take() goes on in one block
/// while that has a free place: what was freed in any order is used again in that of memory, which
/// caches like.
///
/// \code
/// takt::slot_bitmap places;
/// if (places.empty()) places.grow();
/// const std::uint32_t place = places.take();  // 0
/// places.put(place);                          // free again
/// \endcode
///
/// Only grow() allocates. **Thread safety**: none. **Destruction**: nothing to it.
class slot_bitmap {
  // Invariants
  //   1. Bit i % 64 of word i / 64 of level 0 is set exactly if place i is free; free_ counts them.
  //   2. The same bit of a higher level is set exactly if word i of the level below is not 0.
  //   3. A level has words for all words of the level below; the last one has one word.
 public:
  /// How many places a block has.
  static constexpr std::size_t step = 64;

  /// Which block comes next when one has no free place any more.
  enum class reuse : std::uint8_t {
    lowest,   ///< The first that has one: little memory is touched.
    in_turn,  ///< The next that has one, and behind the last the first: more of it is free by then.
  };

  explicit slot_bitmap(reuse order = reuse::lowest) noexcept : order_(order) {}

  /// How many places there are.
  [[nodiscard]] std::size_t places() const noexcept { return levels_[0].size() * step; }

  /// How many of them are free.
  [[nodiscard]] std::size_t size() const noexcept { return free_; }

  /// Whether none is.
  [[nodiscard]] bool empty() const noexcept { return free_ == 0; }

  /// Whether that place is; there is such a place.
  [[nodiscard]] bool is_free(std::size_t place) const noexcept {
    return (levels_[0][place / step] >> place % step & 1) != 0;
  }

  /// Adds a block of free places. Strong guarantee. \throws std::bad_alloc; std::length_error
  /// beyond 2^32 - 64 places.
  void grow() {
    const std::size_t blocks = levels_[0].size();
    if (places() + step > std::numeric_limits<std::uint32_t>::max()) {
      throw std::length_error("takt::timer_set: more than 2^32 timers");
    }
    std::size_t words = blocks;
    for (std::size_t i = 1; i < levels_.size(); ++i) {
      words /= step;
      if (levels_[i].size() == words) levels_[i].push_back(0);
    }
    levels_[0].push_back(~std::uint64_t{0});
    free_ += step;
    note_free(blocks);
  }

  /// What take() will take; there is one.
  [[nodiscard]] std::uint32_t next() const noexcept {
    const std::size_t block = levels_[0][block_] == 0 ? block_after(block_) : block_;
    return static_cast<std::uint32_t>(
        block * step + static_cast<std::size_t>(std::countr_zero(levels_[0][block])));
  }

  /// Takes a free place; there is one.
  std::uint32_t take() noexcept {
    TAKT_ASSERT(!empty());
    --free_;
    const std::uint32_t place = next();
    block_ = place / step;
    std::uint64_t& word = levels_[0][block_];
    word &= word - 1;
    if (word == 0) note_used(block_);
    return place;
  }

  /// Gives a place back that was taken.
  void put(std::uint32_t place) noexcept {
    TAKT_ASSERT(!is_free(place));
    ++free_;
    std::uint64_t& word = levels_[0][place / step];
    if (word == 0) note_free(place / step);
    word |= std::uint64_t{1} << place % step;
  }

  /// Walks all places, for tests and fuzzers.
  [[nodiscard]] bool check_invariants() const noexcept {
    std::size_t count = 0;
    for (const std::uint64_t word : levels_[0])
      count += static_cast<std::size_t>(std::popcount(word));
    for (std::size_t i = 1; i < levels_.size(); ++i) {
      if (levels_[i].size() < (levels_[i - 1].size() + step - 1) / step) return false;
      for (std::size_t at = 0; at < levels_[i].size() * step; ++at) {
        const bool some = at < levels_[i - 1].size() && levels_[i - 1][at] != 0;
        if (some != ((levels_[i][at / step] >> at % step & 1) != 0)) return false;
      }
    }
    return count == free_ && levels_.back().size() <= 1;
  }

 private:
  // The first block of the word `at` of that level, which is not 0.
  [[nodiscard]] std::size_t first_block(std::size_t level, std::size_t at) const noexcept {
    for (std::size_t i = level; i > 0; --i) {
      at = at * step + static_cast<std::size_t>(std::countr_zero(levels_[i][at]));
    }
    return at;
  }

  // The block to be used when that one has no free place; there is one that has.
  [[nodiscard]] std::size_t block_after(std::size_t block) const noexcept {
    if (order_ == reuse::in_turn) {
      std::size_t at = block + 1;
      for (std::size_t i = 1; i < levels_.size() && at / step < levels_[i].size(); ++i) {
        const std::uint64_t rest = levels_[i][at / step] >> at % step << at % step;
        if (rest != 0) {
          at = at / step * step + static_cast<std::size_t>(std::countr_zero(rest));
          return first_block(i - 1, at);
        }
        at = at / step + 1;
      }
    }
    return first_block(levels_.size() - 1, 0);
  }

  void note_free(std::size_t at) noexcept {
    for (std::size_t i = 1; i < levels_.size(); ++i, at /= step) {
      const std::uint64_t before = levels_[i][at / step];
      levels_[i][at / step] |= std::uint64_t{1} << at % step;
      if (before != 0) break;
    }
  }

  void note_used(std::size_t at) noexcept {
    for (std::size_t i = 1; i < levels_.size(); ++i, at /= step) {
      levels_[i][at / step] &= ~(std::uint64_t{1} << at % step);
      if (levels_[i][at / step] != 0) break;
    }
  }

  // Constant after construction.
  reuse order_;

  std::array<std::vector<std::uint64_t>, 6> levels_;  // 64^6 is more than 2^32
  std::size_t free_ = 0;
  std::size_t block_ = 0;  // where take() is
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

/// The items of a work queue in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/service/work_queue.hpp>

namespace takt::inline TAKT_ABI {

/// For all implementations of work_queue that keep keys in memory. Not thread-safe.
class work_book {
 public:
  /// Position of an item in the order of acceptance. Files identify items by it.
  using number = std::uint64_t;

  /// Adds items whose keys are new; they get the highest numbers. \return how many. If it throws,
  /// nothing was added.
  std::size_t add(std::span<const work_item> items);
  /// For reading a file: adds an item with its number. \return false if the key exists or the
  /// number is not higher than all others.
  [[nodiscard]] bool restore(number which, std::string_view key, std::string_view data);
  /// Removes the last `count` items, which must be waiting, as if they had not been added.
  void remove_last(std::size_t count) noexcept;

  [[nodiscard]] std::optional<work_item> claim();
  /// \throws std::logic_error if the key is not claimed.
  [[nodiscard]] number find_claimed(std::string_view key) const;
  void release(number claimed) noexcept;
  void complete(number claimed) noexcept;
  /// For reading a file: completes a waiting item. \return false if no waiting item has the number.
  [[nodiscard]] bool complete_waiting(number waiting) noexcept;

  [[nodiscard]] number next() const noexcept { return next_; }
  [[nodiscard]] work_counts counts() const noexcept;
  [[nodiscard]] std::vector<work_item> incomplete() const;
  /// Keys of completed items, in the order of acceptance.
  [[nodiscard]] std::vector<std::string> completed_keys() const;

  /// Calls f(number, key, data) for waiting items with numbers from `first` on, in order.
  template <class F>
  void each_waiting_from(number first, F f) const {
    for (auto at = waiting_.lower_bound(first); at != waiting_.end(); ++at) {
      f(at->first, at->second->first, at->second->second.data);
    }
  }
  /// Calls f(number, key, data, is_completed) for all items with numbers below `end`, in order.
  template <class F>
  void each_below(number end, F f) const {
    for (const node* n : sorted()) {
      const entry& e = n->second;
      if (e.position < end) f(e.position, n->first, e.data, e.is == state::completed);
    }
  }
  /// Calls f(number, key, data, is_completed) for all items, in no particular order.
  template <class F>
  void each(F f) const {
    for (const auto& [key, e] : entries_) f(e.position, key, e.data, e.is == state::completed);
  }

 private:
  enum class state : std::uint8_t { waiting, claimed, completed };
  struct entry {
    number position = 0;
    state is = state::waiting;
    std::string data;  // empty once completed
  };
  // Lookup by string_view, without making a string.
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using entries = std::unordered_map<std::string, entry, hash, std::equal_to<>>;
  using node = entries::value_type;
  using node_map = std::map<number, node*>;

  [[nodiscard]] std::vector<const node*> sorted() const;
  static void complete_in(node_map& from, node_map::iterator at) noexcept;

  number next_ = 0;
  entries entries_;  // its nodes do not move
  // Map nodes move between the two, so that claiming and releasing need no memory for the maps.
  node_map waiting_;
  node_map claimed_;
};

}  // namespace takt::inline TAKT_ABI

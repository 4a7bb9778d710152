// An accepted item is in `entries_`, and in at most one of the two maps:
//
//   waiting    in `waiting_`   -> claimed     claim()
//                              -> completed   complete_waiting()
//   claimed    in `claimed_`   -> waiting     release()
//                              -> completed   complete()
//   completed  in neither
//
// Invariants
//   1. A key is in `entries_` once. It leaves only by remove_last().
//   2. Numbers rise in the order of acceptance. They have gaps only where a file has lost items.
//      Files identify items by number, and an item never changes its number.
//   3. claim() returns the waiting item with the smallest number.
#include "work_book.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include <takt/base/detail/assert.hpp>

namespace takt::inline TAKT_ABI {

namespace {

// Of items in a file; items accepted later have larger numbers.
constexpr work_book::number largest_in_file = std::numeric_limits<work_book::number>::max() / 2;

}  // namespace

std::size_t work_book::add(std::span<const work_item> items) {
  std::size_t added = 0;
  try {
    for (const work_item& item : items) {
      const auto [at, is_new] = entries_.try_emplace(item.key);
      if (!is_new) continue;
      try {
        at->second = {.position = next_, .data = item.data};
        waiting_.emplace_hint(waiting_.end(), next_, &*at);
      } catch (...) {
        entries_.erase(at);
        throw;
      }
      ++next_;
      ++added;
    }
  } catch (...) {
    remove_last(added);
    throw;
  }
  return added;
}

bool work_book::restore(number which, std::string_view key, std::string_view data) {
  if (which < next_ || which > largest_in_file) return false;
  const number before = std::exchange(next_, which);
  try {
    const work_item item{.key = std::string(key), .data = std::string(data)};
    if (add({&item, 1}) == 1) return true;
  } catch (...) {
    next_ = before;
    throw;
  }
  next_ = before;
  return false;
}

void work_book::remove_last(std::size_t count) noexcept {
  for (; count != 0; --count) {
    const auto last = std::prev(waiting_.end());
    TAKT_ASSERT(last->first + 1 == next_);
    entries_.erase(entries_.find(last->second->first));
    waiting_.erase(last);
    --next_;
  }
}

std::optional<work_item> work_book::claim() {
  if (waiting_.empty()) return std::nullopt;
  const auto first = waiting_.begin();
  work_item item{.key = first->second->first, .data = first->second->second.data};
  first->second->second.is = state::claimed;
  claimed_.insert(waiting_.extract(first));
  return item;
}

work_book::number work_book::find_claimed(std::string_view key) const {
  const auto at = entries_.find(key);
  if (at == entries_.end() || at->second.is != state::claimed) {
    throw std::logic_error("takt::work_queue: '" + std::string(key) + "' is not claimed");
  }
  return at->second.position;
}

void work_book::release(number claimed) noexcept {
  const auto at = claimed_.find(claimed);
  at->second->second.is = state::waiting;
  waiting_.insert(claimed_.extract(at));
}

void work_book::complete(number claimed) noexcept { complete_in(claimed_, claimed_.find(claimed)); }

bool work_book::complete_waiting(number waiting) noexcept {
  const auto at = waiting_.find(waiting);
  if (at == waiting_.end()) return false;
  complete_in(waiting_, at);
  return true;
}

void work_book::complete_in(node_map& from, node_map::iterator at) noexcept {
  at->second->second.is = state::completed;
  std::string().swap(at->second->second.data);
  from.erase(at);
}

work_counts work_book::counts() const noexcept {
  return {.waiting = waiting_.size(),
          .claimed = claimed_.size(),
          .completed = entries_.size() - waiting_.size() - claimed_.size()};
}

std::vector<work_item> work_book::incomplete() const {
  node_map all = waiting_;
  all.insert(claimed_.begin(), claimed_.end());
  std::vector<work_item> items;
  items.reserve(all.size());
  for (const auto& [position, what] : all) {
    items.push_back({.key = what->first, .data = what->second.data});
  }
  return items;
}

std::vector<const work_book::node*> work_book::sorted() const {
  std::vector<const node*> all;
  all.reserve(entries_.size());
  for (const node& n : entries_) all.push_back(&n);
  std::ranges::sort(all, {}, [](const node* n) { return n->second.position; });
  return all;
}

std::vector<std::string> work_book::completed_keys() const {
  std::vector<std::string> keys;
  keys.reserve(entries_.size() - waiting_.size() - claimed_.size());
  each_below(next_, [&](number, const std::string& key, const std::string&, bool is_completed) {
    if (is_completed) keys.push_back(key);
  });
  return keys;
}

}  // namespace takt::inline TAKT_ABI

// A place of the table is pending while its version is odd:
//
//   even -> odd   arm(): it gets a hint with this version, which is live
//   odd  -> even  disarm(): the timer expires, is removed or gets another deadline. The hint is now
//                 stale. It stays in its list until somebody meets it there
//
// So nothing has to be found in order to be removed, and a list needs links in one direction only.
// The price are stale hints. When there is no room left, the wheel filters all of its lists; at
// least half of all hints are stale then, see 3.
//
// Invariants
//   1. A pending place has exactly one live hint, another one none.
//   2. No hint has a version above that of its place, so none becomes live again: when a place has
//      used its last version, all lists are filtered. Place 0 begins shortly before that, so that
//      every test comes across it.
//   3. count_ <= capacity_, and capacity_ is twice the number of places, plus 64. Pending are at
//      most as many as there are places: the rest is stale. Memory for the rest is not touched as
//      long as there is none.
//   4. With at most capacity_ hints, all lists together never need more chunks than there are. A
//      list has full chunks but for its ends, and every chunk has a hint. So chunks in use are at
//      most one per hint, and at most capacity_ / 31 and one per list; merging and draining need up
//      to four more while they last.
#include <takt/timer/detail/wheel_buckets.hpp>

#include <algorithm>
#include <utility>

namespace takt::inline TAKT_ABI {
namespace detail {

namespace {

constexpr std::uint32_t near_the_last_version = std::numeric_limits<std::uint32_t>::max() - 15;
static_assert(near_the_last_version % 2 == 0);

// Enough for lists of 2^40 chunks.
constexpr std::size_t run_sizes = 40;

}  // namespace

std::size_t wheel_buckets::chunks_for(std::size_t hints) const noexcept {
  return std::min(hints / per_chunk + lists_, hints) + 4;
}

void wheel_buckets::reserve(std::size_t places) {
  const std::size_t capacity = 2 * places + 64;
  while (free_.places() < chunks_for(capacity)) {
    if (blocks_.size() * per_block == free_.places()) {
      blocks_.push_back(std::make_unique_for_overwrite<chunk[]>(per_block));
    }
    free_.grow();
  }
  if (versions_.size() < places) {
    const bool first = versions_.empty();
    versions_.resize(places);
    if (first) versions_.front() = near_the_last_version;
  }
  capacity_ = std::max(capacity_, capacity);
}

wheel_buckets::chunk* wheel_buckets::extend(list& l) noexcept {
  const std::size_t number = free_.take();
  chunk* const c = &blocks_[number / per_block][number % per_block];
  if (number % per_block + 1 < per_block) prefetch(c + 1);  // the next, most likely
  c->next = nullptr;
  c->first = c->end = 0;
  c->number = static_cast<std::uint32_t>(number);
  (l.tail == nullptr ? l.head : l.tail->next) = c;
  l.tail = c;
  return c;
}

void wheel_buckets::filter(list& l) noexcept {
  if (l.empty()) return;
  std::size_t dropped = 0;
  chunk* to = l.head;  // where the next one that is kept goes, not after where it comes from
  std::uint16_t end = 0;
  for (chunk* c = l.head; c != nullptr; c = c->next) {
    prefetch(c->next);
    const std::uint32_t from = c->first;
    const std::uint32_t until = c->end;
    for (std::uint32_t i = from; i < until; ++i) {
      const wheel_entry h = c->hints[i];
      if (!live(h)) {
        ++dropped;
        continue;
      }
      if (end == per_chunk) {
        to->first = 0;
        to->end = end;
        to = to->next;
        end = 0;
      }
      to->hints[end++] = h;
    }
  }
  count_ -= dropped;
  chunk* rest = nullptr;
  if (end == 0) {  // then nothing was kept at all
    rest = l.head;
    l = {};
  } else {
    to->first = 0;
    to->end = end;
    rest = std::exchange(to->next, nullptr);
    l.tail = to;
  }
  while (rest != nullptr) release(std::exchange(rest, rest->next));
}

void wheel_buckets::sort_chunk(chunk& c) noexcept {
  for (std::uint32_t i = c.first + 1; i < c.end; ++i) {
    const wheel_entry h = c.hints[i];
    std::uint32_t at = i;
    for (; at > c.first && h.key < c.hints[at - 1].key; --at) c.hints[at] = c.hints[at - 1];
    c.hints[at] = h;
  }
}

void wheel_buckets::sort(list& l) noexcept {
  if (l.empty()) return;
  if (l.head == l.tail) {
    sort_chunk(*l.head);
    return;
  }
  // runs[i] is empty or has 2^i chunks; what is in a later one came earlier.
  std::array<list, run_sizes> runs;
  for (chunk* c = std::exchange(l, {}).head; c != nullptr;) {
    chunk* const next = std::exchange(c->next, nullptr);
    sort_chunk(*c);
    list run{c, c};
    std::size_t i = 0;
    for (; !runs[i].empty(); ++i) run = merge(std::exchange(runs[i], {}), run);
    runs[i] = run;
    c = next;
  }
  for (const list& run : runs) l = merge(run, l);
}

wheel_buckets::list wheel_buckets::merge(list a, list b) noexcept {
  if (a.empty()) return b;
  if (b.empty()) return a;
  list merged;
  if (a.back().key <= b.front().key) {
    merged = std::exchange(a, {});
  } else {
    while (!a.empty() && !b.empty()) {
      append(merged, take_front(b.front().key < a.front().key ? b : a));
    }
  }
  // What is left comes after all that is merged. It is linked where that leaves no gap.
  list& rest = a.empty() ? b : a;
  while (!rest.empty()) {
    if (merged.tail->end == per_chunk && rest.head->first == 0) {
      merged.tail->next = rest.head;
      merged.tail = rest.tail;
      break;
    }
    append(merged, take_front(rest));
  }
  return merged;
}

bool wheel_buckets::inspection::add(const list& l, bool popped) {
  if (l.empty()) return l.tail == nullptr;
  for (const chunk* c = l.head; c != nullptr; c = c->next) {
    ++chunks_;
    if (c->first >= c->end || c->end > per_chunk) return false;
    if (c->first != 0 && !(popped && c == l.head)) return false;
    if (c->next == nullptr ? c != l.tail : c->end != per_chunk) return false;
    for (std::uint32_t i = c->first; i < c->end; ++i) {
      ++count_;
      const wheel_entry& h = c->hints[i];
      if (h.version % 2 == 0 || h.index >= seen_.size()) return false;
      if (h.version > hints_.versions_[h.index]) return false;
      if (!hints_.live(h)) continue;
      if (seen_[h.index]) return false;
      seen_[h.index] = true;
      ++live_;
    }
  }
  return true;
}

bool wheel_buckets::inspection::complete() const noexcept {
  const std::size_t unused = hints_.free_.size();
  const auto pending = std::ranges::count_if(hints_.versions_, [](auto v) { return v % 2 != 0; });
  return count_ == hints_.count_ && count_ <= hints_.capacity_ && live_ == hints_.pending_ &&
         live_ == static_cast<std::size_t>(pending) && hints_.free_.check_invariants() &&
         chunks_ + unused == hints_.free_.places() &&
         chunks_ <= hints_.chunks_for(hints_.capacity_) &&
         (hints_.capacity_ == 0 || hints_.chunks_for(hints_.capacity_) <= chunks_ + unused);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

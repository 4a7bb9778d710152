#include <takt/timer/detail/wheel_buckets.hpp>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../base/counting_new.hpp"

namespace {

using takt::detail::wheel_buckets;
using takt::detail::wheel_entry;

using pairs = std::vector<std::pair<std::uint64_t, std::uint32_t>>;  // key, index

// Hints with these keys, of the places from `first` on.
wheel_buckets::list list_of(wheel_buckets& hints, const std::vector<std::uint64_t>& keys,
                            std::uint32_t first = 0) {
  wheel_buckets::list l;
  for (const std::uint64_t key : keys) hints.append(l, hints.arm(first++, key));
  return l;
}

pairs content(const wheel_buckets::list& l) {
  pairs found;
  wheel_buckets::for_each(l, [&](const wheel_entry& h) { found.emplace_back(h.key, h.index); });
  return found;
}

pairs numbered(const std::vector<std::uint64_t>& keys, std::uint32_t first = 0) {
  pairs all;
  for (const std::uint64_t key : keys) all.emplace_back(key, first++);
  return all;
}

// What a stable sort by key gives, where places are numbered in the order in which they came.
void stable_sort(pairs& all) { std::ranges::sort(all); }

std::vector<std::uint64_t> random_keys(std::size_t count, std::uint64_t below, std::mt19937_64& r) {
  std::vector<std::uint64_t> keys(count);
  std::ranges::generate(keys, [&] { return r() % below; });
  return keys;
}

bool in_order(const wheel_buckets& hints, const wheel_buckets::list& a,
              const wheel_buckets::list& b = {}) {
  wheel_buckets::inspection all(hints);
  return all.add(a, true) && all.add(b, true) && all.complete();
}

TEST(wheel_buckets, a_list_is_a_queue) {
  wheel_buckets hints(2);
  hints.reserve(128);
  wheel_buckets::list l = list_of(hints, {5, 3, 4});
  EXPECT_EQ(l.front().key, 5U);
  EXPECT_EQ(l.back().key, 4U);
  EXPECT_EQ(hints.pop_front(l).key, 5U);
  EXPECT_EQ(hints.pop_front(l).key, 3U);
  EXPECT_EQ(hints.pop_front(l).key, 4U);
  EXPECT_TRUE(l.empty());
}

TEST(wheel_buckets, sort_is_stable) {
  std::mt19937_64 random{1};
  for (const std::size_t size :
       {0U, 1U, 2U, 15U, 30U, 31U, 32U, 61U, 62U, 63U, 124U, 125U, 240U, 1000U}) {
    for (const std::uint64_t below : {1U, 2U, 7U, 1000U}) {
      wheel_buckets hints(2);
      hints.reserve(1024);
      const auto keys = random_keys(size, below, random);
      wheel_buckets::list l = list_of(hints, keys);
      hints.sort(l);
      pairs expected = numbered(keys);
      stable_sort(expected);
      EXPECT_EQ(content(l), expected) << size << " keys below " << below;
      EXPECT_TRUE(in_order(hints, l)) << size;
    }
  }
}

TEST(wheel_buckets, sort_of_what_is_in_order_or_reversed) {
  std::vector<std::uint64_t> keys(500);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i / 3;
  for (int turn = 0; turn < 2; ++turn) {
    wheel_buckets hints(2);
    hints.reserve(512);
    wheel_buckets::list l = list_of(hints, keys);
    hints.sort(l);
    pairs expected = numbered(keys);
    stable_sort(expected);
    EXPECT_EQ(content(l), expected);
    EXPECT_TRUE(in_order(hints, l));
    std::ranges::reverse(keys);
  }
}

TEST(wheel_buckets, merge_is_stable) {
  std::mt19937_64 random{2};
  for (const std::size_t left : {0U, 1U, 30U, 31U, 32U, 70U, 200U}) {
    for (const std::size_t right : {0U, 1U, 31U, 63U, 200U}) {
      for (const std::uint64_t below : {1U, 3U, 1000U}) {
        wheel_buckets hints(2);
        hints.reserve(512);
        const auto a = random_keys(left, below, random);
        const auto b = random_keys(right, below, random);
        wheel_buckets::list la = list_of(hints, a);
        wheel_buckets::list lb = list_of(hints, b, 256);
        hints.sort(la);
        hints.sort(lb);
        pairs expected = content(la);
        if (left > 20) {  // a list that something was taken from
          hints.pop_front(la);
          expected.erase(expected.begin());
        }
        for (const auto& each : content(lb)) expected.push_back(each);
        stable_sort(expected);
        EXPECT_EQ(content(hints.merge(la, lb)), expected) << left << ' ' << right << ' ' << below;
      }
    }
  }
}

TEST(wheel_buckets, lists_that_are_merged_again_and_again_stay_packed) {
  wheel_buckets hints(2);
  hints.reserve(640);
  std::mt19937_64 random{3};
  wheel_buckets::list due;
  for (std::uint32_t i = 0; i < 640; ++i) {
    due = hints.merge(due, list_of(hints, {random() % 100}, i));
    ASSERT_TRUE(in_order(hints, due));
  }
}

TEST(wheel_buckets, filter_drops_what_is_stale) {
  for (const std::uint32_t modulus : {1U, 2U, 3U, 10U, 1000U}) {
    for (const std::size_t popped : {0U, 1U, 30U, 31U, 33U}) {
      wheel_buckets hints(2);
      hints.reserve(128);
      wheel_buckets::list l = list_of(hints, std::vector<std::uint64_t>(100, 7));
      for (std::size_t i = 0; i < popped; ++i) {
        ASSERT_FALSE(l.empty());
        EXPECT_FALSE(hints.disarm(hints.pop_front(l).index));
      }
      pairs expected;
      for (auto i = static_cast<std::uint32_t>(popped); i < 100; ++i) {
        if (i % modulus == 0) {
          EXPECT_FALSE(hints.disarm(i));
        } else {
          expected.emplace_back(7, i);
        }
      }
      hints.filter(l);
      EXPECT_EQ(content(l), expected) << modulus;
      EXPECT_EQ(hints.size(), expected.size());
      EXPECT_TRUE(in_order(hints, l));
    }
  }
}

TEST(wheel_buckets, a_place_says_when_its_versions_are_used_up) {
  wheel_buckets hints(2);
  hints.reserve(64);
  wheel_buckets::list l;
  int uses = 0;
  for (bool used_up = false; !used_up; ++uses) {
    ASSERT_LT(uses, 64);
    hints.append(l, hints.arm(0, 1));
    used_up = hints.disarm(0);
  }
  EXPECT_EQ(uses, 8) << "place 0 begins near its last version";
  hints.filter(l);
  EXPECT_TRUE(l.empty());
}

TEST(wheel_buckets, work_without_memory) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  wheel_buckets hints(8);
  hints.reserve(1024);
  std::mt19937_64 random{4};
  const auto keys = random_keys(1000, 500, random);
  const takt::no_memory here;
  wheel_buckets::list l;
  for (std::uint32_t i = 0; i < 1000; ++i) hints.append(l, hints.arm(i, keys[i]));
  hints.sort(l);
  hints.filter(l);
  EXPECT_EQ(hints.size(), 1000U);
}

}  // namespace

// What the heap and the wheels promise alike.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "../base/counting_new.hpp"
#include "timer_kinds.hpp"

namespace {

using namespace std::chrono_literals;
using takt::timer_id;
using time_point = takt::delay_heap<int>::time_point;

const time_point start{1000h};

std::chrono::nanoseconds power_of_two(std::size_t exponent) {
  return std::chrono::nanoseconds(std::int64_t{1} << exponent);
}

template <class Kind>
class timer_set : public testing::Test {
 protected:
  using set = typename Kind::template set<int>;

  // What expires up to now, by value, and goes.
  std::vector<int> take_expired(time_point now, std::size_t budget = 16) {
    std::vector<int> values;
    std::vector<timer_id> expired(budget);
    std::size_t count = 0;
    do {
      count = timers.advance_to(now, expired);
      EXPECT_TRUE(timers.check_invariants());
      for (const timer_id id : std::span(expired).first(count)) {
        values.push_back(timers.remove(id).value());
      }
    } while (count == budget);
    return values;
  }

  using list = std::vector<int>;

  set timers;
};

TYPED_TEST_SUITE(timer_set, kinds::all, kinds::names);

TYPED_TEST(timer_set, is_empty_at_first) {
  EXPECT_TRUE(this->timers.empty());
  EXPECT_EQ(this->timers.size(), 0U);
  EXPECT_EQ(this->timers.next_deadline(), time_point::max());
  EXPECT_EQ(this->take_expired(start), (std::vector<int>{}));
  EXPECT_EQ(this->take_expired(time_point::max()), (std::vector<int>{}));
  EXPECT_EQ(this->timers.find({}), nullptr);
  EXPECT_EQ(this->timers.remove({}), std::nullopt);
  EXPECT_FALSE(this->timers.reschedule({}, start));
  EXPECT_TRUE(this->timers.check_invariants());
}

TYPED_TEST(timer_set, hands_back_by_deadline) {
  for (const int i : {5, 1, 9, 3, 7, 2, 8, 4, 6}) this->timers.insert(start + i * 1ms, i);
  EXPECT_EQ(this->timers.size(), 9U);
  EXPECT_EQ(this->timers.next_deadline(), start + 1ms);
  EXPECT_EQ(this->take_expired(start + 4ms), (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(this->timers.size(), 5U);
  EXPECT_EQ(this->timers.next_deadline(), start + 5ms);
  EXPECT_EQ(this->take_expired(start + 1h), (std::vector{5, 6, 7, 8, 9}));
  EXPECT_TRUE(this->timers.empty());
}

TYPED_TEST(timer_set, orders_within_a_slot_to_the_nanosecond) {
  for (const int i : {5, 1, 9, 3, 7, 2, 8, 4, 6}) this->timers.insert(start + i * 1ns, i);
  EXPECT_EQ(this->take_expired(start + 4ns), (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(this->timers.next_deadline(), start + 5ns);
  EXPECT_EQ(this->take_expired(start + 5ns), (std::vector{5}));
  EXPECT_EQ(this->take_expired(start + 9ns), (std::vector{6, 7, 8, 9}));
}

TYPED_TEST(timer_set, equal_deadlines_keep_their_order) {
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) {
    this->timers.insert(start + 20s, i);
    this->timers.insert(start + 20s + 1ns, 1000 + i);
    expected.push_back(i);
  }
  this->take_expired(start + 10s);  // so that later ones are put elsewhere than the earlier ones
  for (int i = 100; i < 200; ++i) {
    this->timers.insert(start + 20s, i);
    expected.push_back(i);
  }
  this->take_expired(start + 20s - 1ns);
  for (int i = 200; i < 300; ++i) {
    this->timers.insert(start + 20s, i);
    expected.push_back(i);
  }
  EXPECT_EQ(this->take_expired(start + 20s), expected);
  EXPECT_EQ(this->timers.size(), 100U);
}

TYPED_TEST(timer_set, is_never_early) {
  for (const auto delay : {1ns, 2ns, 65'535ns, 65'536ns, 65'537ns, 10'000'000ns, 4'194'304ns}) {
    typename TestFixture::set own;
    std::array<timer_id, 4> expired;
    own.advance_to(start, expired);
    const timer_id id = own.insert(start + delay, 1);
    EXPECT_EQ(own.advance_to(start + delay - 1ns, expired), 0U);
    EXPECT_EQ(own.next_deadline(), start + delay);
    ASSERT_EQ(own.advance_to(start + delay, expired), 1U);
    EXPECT_EQ(expired[0], id);
  }
}

TYPED_TEST(timer_set, a_budget_of_one) {
  for (const int i : {3, 1, 2}) this->timers.insert(start + i * 1s, i);
  std::array<timer_id, 1> expired;
  for (const int i : {1, 2, 3}) {
    ASSERT_EQ(this->timers.advance_to(start + 1h, expired), 1U);
    EXPECT_EQ(*this->timers.find(expired[0]), i);
    EXPECT_EQ(this->timers.size(), static_cast<std::size_t>(3 - i));
    EXPECT_TRUE(this->timers.check_invariants());
  }
  EXPECT_EQ(this->timers.advance_to(start + 1h, expired), 0U);
}

TYPED_TEST(timer_set, a_budget_of_none) {
  this->timers.insert(start, 1);
  EXPECT_EQ(this->timers.advance_to(start + 1h, {}), 0U);
  EXPECT_EQ(this->timers.size(), 1U);
  EXPECT_LE(this->timers.next_deadline(), start);
  EXPECT_EQ(this->take_expired(start + 1h), (std::vector{1}));
}

TYPED_TEST(timer_set, one_in_the_past_takes_its_place_among_those_left) {
  for (const int i : {10, 20, 30, 40}) this->timers.insert(start + i * 1s, i);
  std::array<timer_id, 2> expired;
  EXPECT_EQ(this->timers.advance_to(start + 35s, expired), 2U);
  this->timers.insert(start + 25s, 25);
  this->timers.insert(start - 5s, -5);
  this->timers.insert(start + 33s, 33);
  this->timers.insert(start + 30s, 31);
  EXPECT_LE(this->timers.next_deadline(), start - 5s);
  EXPECT_EQ(this->take_expired(start + 35s), (std::vector{-5, 25, 30, 31, 33}));
  this->timers.insert(start, 0);
  EXPECT_EQ(this->timers.next_deadline(), start);
  EXPECT_EQ(this->take_expired(start + 35s), (std::vector{0}));
  EXPECT_EQ(this->take_expired(start + 40s), (std::vector{40}));
}

TYPED_TEST(timer_set, time_that_goes_back_changes_nothing) {
  std::array<timer_id, 4> expired;
  this->timers.advance_to(start, expired);
  this->timers.insert(start - 2s, 1);
  EXPECT_EQ(this->timers.advance_to(start - 1s, expired), 0U);
  EXPECT_EQ(this->timers.advance_to(time_point::min(), expired), 0U);
  EXPECT_EQ(this->timers.size(), 1U);
  EXPECT_TRUE(this->timers.check_invariants());
  EXPECT_EQ(this->take_expired(start), (std::vector{1}));
}

TYPED_TEST(timer_set, reschedules_a_pending_one) {
  const timer_id a = this->timers.insert(start + 1s, 1);
  const timer_id b = this->timers.insert(start + 2s, 2);
  this->timers.insert(start + 3s, 3);
  EXPECT_TRUE(this->timers.reschedule(a, start + 2500ms));  // later
  EXPECT_TRUE(this->timers.reschedule(b, start + 500ms));   // earlier
  EXPECT_EQ(this->timers.size(), 3U);
  EXPECT_LE(this->timers.next_deadline(), start + 500ms);
  EXPECT_EQ(this->take_expired(start + 2s), (std::vector{2}));
  EXPECT_EQ(this->take_expired(start + 1h), (std::vector{1, 3}));
}

TYPED_TEST(timer_set, reschedules_one_that_is_due_but_not_handed_back) {
  for (const int i : {1, 2, 3, 4}) this->timers.insert(start, i);
  std::array<timer_id, 1> expired;
  EXPECT_EQ(this->timers.advance_to(start, expired), 1U);
  const timer_id late = this->timers.insert(start, 5);
  EXPECT_EQ(this->timers.advance_to(start, expired), 1U);
  EXPECT_TRUE(this->timers.reschedule(late, start + 1ns));
  EXPECT_EQ(this->take_expired(start), (std::vector{3, 4}));
  EXPECT_EQ(this->take_expired(start + 1ns), (std::vector{5}));
}

TYPED_TEST(timer_set, a_periodic_one_is_rescheduled_when_it_has_expired) {
  const timer_id id = this->timers.insert(start, 7);
  std::array<timer_id, 4> expired;
  for (int i = 0; i < 100; ++i) {
    const time_point due = start + i * 10ms;
    ASSERT_EQ(this->timers.advance_to(due, expired), 1U) << i;
    EXPECT_EQ(expired[0], id) << "the handle stays the same";
    EXPECT_TRUE(this->timers.empty());
    EXPECT_EQ(this->timers.next_deadline(), time_point::max());
    ASSERT_TRUE(this->timers.reschedule(id, due + 10ms));
    EXPECT_EQ(this->timers.next_deadline(), due + 10ms);
    ASSERT_TRUE(this->timers.check_invariants());
  }
  EXPECT_EQ(this->timers.remove(id), 7);
}

TYPED_TEST(timer_set, rescheduling_counts_as_an_insertion) {
  const timer_id a = this->timers.insert(start, 1);
  this->timers.insert(start, 2);
  this->timers.reschedule(a, start);
  EXPECT_EQ(this->take_expired(start), (std::vector{2, 1}));
}

TYPED_TEST(timer_set, an_expired_one_stays_until_it_is_removed) {
  const timer_id id = this->timers.insert(start, 7);
  std::array<timer_id, 4> expired;
  EXPECT_EQ(this->timers.advance_to(start, expired), 1U);
  EXPECT_EQ(this->timers.advance_to(start + 1s, expired), 0U) << "it is handed back once";
  EXPECT_TRUE(this->timers.empty());
  ASSERT_NE(this->timers.find(id), nullptr);
  EXPECT_EQ(this->timers.remove(id), 7);
  EXPECT_EQ(this->timers.find(id), nullptr);
  EXPECT_EQ(this->timers.remove(id), std::nullopt);
  EXPECT_TRUE(this->timers.check_invariants());
}

TYPED_TEST(timer_set, a_stale_handle_does_nothing) {
  const timer_id id = this->timers.insert(start, 1);
  EXPECT_EQ(this->timers.remove(id), 1);
  const timer_id other = this->timers.insert(start, 2);
  EXPECT_EQ(other.index, id.index);
  EXPECT_EQ(this->timers.remove(id), std::nullopt);
  EXPECT_EQ(this->timers.find(id), nullptr);
  EXPECT_FALSE(this->timers.reschedule(id, start + 1h));
  EXPECT_EQ(this->take_expired(start), (std::vector{2}));
}

TYPED_TEST(timer_set, what_is_removed_does_not_expire) {
  std::vector<timer_id> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(this->timers.insert(start + i % 10 * 1s, i));
  for (std::size_t i = 0; i < 1000; ++i) {
    if (i == 500) continue;
    EXPECT_EQ(this->timers.remove(ids[i]), static_cast<int>(i));
  }
  EXPECT_EQ(this->timers.size(), 1U);
  EXPECT_LE(this->timers.next_deadline(), start);
  EXPECT_EQ(this->take_expired(start + 1h), (std::vector{500}));
}

TYPED_TEST(timer_set, a_place_does_not_inherit_the_deadline_of_the_one_before) {
  const timer_id id = this->timers.insert(start + 1s, 1);
  this->timers.remove(id);
  this->timers.insert(start + 2s, 2);
  EXPECT_EQ(this->take_expired(start + 1s), (std::vector<int>{}));
  EXPECT_EQ(this->take_expired(start + 2s), (std::vector{2}));
}

TYPED_TEST(timer_set, deadlines_reach_from_one_end_of_time_to_the_other) {
  const time_point last = time_point::max() - 1ns;
  this->timers.insert(last, 6);
  this->timers.insert(time_point::min(), 1);
  this->timers.insert(time_point(0ns), 4);
  this->timers.insert(time_point(-1ns), 3);
  this->timers.insert(time_point::min() + 1ns, 2);
  this->timers.insert(time_point(1ns), 5);
  EXPECT_EQ(this->timers.next_deadline(), time_point::min());
  EXPECT_EQ(this->take_expired(time_point::min()), (std::vector{1}));
  EXPECT_EQ(this->take_expired(time_point(-2ns)), (std::vector{2}));
  EXPECT_EQ(this->take_expired(time_point(-1ns)), (std::vector{3}));
  EXPECT_EQ(this->take_expired(time_point(0ns)), (std::vector{4}));
  EXPECT_EQ(this->timers.next_deadline(), time_point(1ns));
  EXPECT_EQ(this->take_expired(time_point(1s)), (std::vector{5}));
  EXPECT_EQ(this->timers.next_deadline(), last);
  EXPECT_EQ(this->take_expired(last - 1ns), (std::vector<int>{}));
  EXPECT_EQ(this->take_expired(last), (std::vector{6}));
}

TYPED_TEST(timer_set, the_last_deadline_means_never) {
  const timer_id id = this->timers.insert(time_point::max(), 1);
  const timer_id other = this->timers.insert(time_point::max() - 1ns, 2);
  EXPECT_EQ(this->take_expired(time_point::max()), (std::vector{2}));
  EXPECT_EQ(this->timers.find(other), nullptr);
  EXPECT_EQ(this->timers.size(), 1U);
  EXPECT_EQ(this->timers.next_deadline(), time_point::max());
  EXPECT_TRUE(this->timers.reschedule(id, start));
  EXPECT_EQ(this->timers.next_deadline(), start);
  EXPECT_EQ(this->take_expired(time_point::max()), (std::vector{1}));
}

TYPED_TEST(timer_set, time_may_jump_by_years) {
  std::vector<int> expected;
  for (int i = 0; i < 200; ++i) {
    this->timers.insert(start + (200 - i) * 8766h / 2, i);  // half a year
    expected.insert(expected.begin(), i);
  }
  EXPECT_EQ(this->take_expired(start + 100 * 8766h), expected);
  this->timers.insert(start + 100 * 8766h + 1ns, 1);
  EXPECT_EQ(this->take_expired(start + 100 * 8766h), (std::vector<int>{}));
  EXPECT_EQ(this->take_expired(start + 101 * 8766h), (std::vector{1}));
}

TYPED_TEST(timer_set, next_deadline_leads_to_the_next_timer) {
  std::vector<timer_id> ids;
  for (int i = 0; i < 300; ++i) {
    ids.push_back(this->timers.insert(start + i * i * 1ms, i));
  }
  for (std::size_t i = 0; i < 300; ++i) {
    if (i % 3 != 0) this->timers.remove(ids[i]);
  }
  std::vector<int> seen;
  std::array<timer_id, 4> expired;
  int steps = 0;
  while (!this->timers.empty()) {
    ASSERT_LT(++steps, 1000);
    const time_point next = this->timers.next_deadline();
    const std::size_t count = this->timers.advance_to(next, expired);
    for (std::size_t i = 0; i < count; ++i) {
      seen.push_back(this->timers.remove(expired[i]).value());
      EXPECT_EQ(next, start + seen.back() * seen.back() * 1ms) << "just in time";
    }
  }
  EXPECT_EQ(seen.size(), 100U);
}

TYPED_TEST(timer_set, values_are_moved_and_destroyed_once) {
  const auto counted = std::make_shared<int>(0);
  {
    typename TypeParam::template set<std::shared_ptr<int>> own;
    std::vector<timer_id> ids;
    for (int i = 0; i < 100; ++i) ids.push_back(own.insert(start + i * 1ms, counted));
    EXPECT_EQ(counted.use_count(), 101);
    for (std::size_t i = 0; i < 30; ++i) own.remove(ids[3 * i]);
    EXPECT_EQ(counted.use_count(), 71);
    std::array<timer_id, 64> expired;
    EXPECT_GT(own.advance_to(start + 50ms, expired), 0U);
    EXPECT_EQ(counted.use_count(), 71) << "expired, but not gone";
    own.remove(expired[0]);
    EXPECT_EQ(counted.use_count(), 70);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TYPED_TEST(timer_set, values_need_only_move) {
  typename TypeParam::template set<std::unique_ptr<int>> own;
  const timer_id id = own.insert(start, std::make_unique<int>(7));
  EXPECT_EQ(**own.find(id), 7);
  EXPECT_EQ(**own.remove(id), 7);
}

TYPED_TEST(timer_set, insert_has_the_strong_guarantee) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  std::vector<int> expected;
  int failures = 0;
  for (int i = 0; i < 1000; ++i) {
    // Each of the allocations that it makes fails once, and what went before stays.
    bool inserted = false;
    for (std::size_t after = 0; !inserted; ++after) {
      try {
        const takt::no_memory here(after);
        this->timers.insert(start + i * 1ms, i);
        inserted = true;
      } catch (const std::bad_alloc&) {
        ++failures;
        EXPECT_EQ(this->timers.size(), static_cast<std::size_t>(i));
      }
    }
    expected.push_back(i);
  }
  EXPECT_GT(failures, 0);
  EXPECT_TRUE(this->timers.check_invariants());
  EXPECT_EQ(this->take_expired(start + 1h), expected);
}

TYPED_TEST(timer_set, only_insert_allocates) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  constexpr std::size_t count = 2000;
  std::vector<timer_id> ids;
  std::vector<timer_id> expired(64);
  this->timers.advance_to(start, expired);
  for (std::size_t i = 0; i < count; ++i) {
    // One timer per slot, in many slots, is what needs most memory.
    ids.push_back(this->timers.insert(start + power_of_two(i % 50) + i * 1ns, 0));
  }
  {
    const takt::no_memory here;
    for (std::size_t round = 0; round < 20; ++round) {
      const time_point now = start + round * 50ms;
      for (std::size_t i = 0; i < count; ++i) {
        const auto scale = (i * 7 + round * 13) % 52;
        EXPECT_TRUE(this->timers.reschedule(ids[i], now + power_of_two(scale) + i * 3ns - 100ns));
      }
      while (this->timers.advance_to(now, expired) == expired.size()) {
      }
    }
  }
  EXPECT_TRUE(this->timers.check_invariants());
  const takt::no_memory here;
  for (const timer_id id : ids) EXPECT_TRUE(this->timers.remove(id));
  EXPECT_TRUE(this->timers.empty());
}

}  // namespace

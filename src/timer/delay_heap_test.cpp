#include <takt/timer/delay_heap.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using takt::timer_id;
using heap = takt::delay_heap<int>;

const heap::time_point start{1000h};

std::vector<int> values_up_to(heap& timers, heap::time_point now) {
  std::array<timer_id, 64> expired;
  const std::size_t count = timers.advance_to(now, expired);
  std::vector<int> values;
  for (const timer_id id : std::span(expired).first(count)) values.push_back(*timers.find(id));
  return values;
}

TEST(delay_heap, requeueing_keeps_the_turn_among_equal_deadlines) {
  heap timers;
  const timer_id periodic = timers.insert(start, 1);
  timers.insert(start + 1s, 2);
  const timer_id moved = timers.insert(start, 3);
  EXPECT_EQ(values_up_to(timers, start), (std::vector{1, 3}));
  timers.insert(start + 1s, 4);
  EXPECT_TRUE(timers.reschedule(moved, start + 1s));
  EXPECT_TRUE(timers.requeue(periodic, start + 1s));
  timers.insert(start + 1s, 5);
  EXPECT_TRUE(timers.check_invariants());
  EXPECT_EQ(values_up_to(timers, start + 1s), (std::vector{1, 2, 4, 3, 5}));
}

TEST(delay_heap, a_pending_timer_can_be_requeued) {
  heap timers;
  const timer_id first = timers.insert(start + 1h, 1);
  timers.insert(start, 2);
  EXPECT_TRUE(timers.requeue(first, start));
  EXPECT_EQ(timers.size(), 2U);
  EXPECT_EQ(values_up_to(timers, start), (std::vector{1, 2}));
}

TEST(delay_heap, a_timer_does_not_inherit_the_turn_of_its_place) {
  heap timers;
  const timer_id gone = timers.insert(start, 1);
  timers.insert(start, 2);
  timers.remove(gone);
  EXPECT_FALSE(timers.requeue(gone, start));
  const timer_id again = timers.insert(start + 1h, 3);
  ASSERT_EQ(again.index, gone.index);
  EXPECT_TRUE(timers.requeue(again, start));
  EXPECT_EQ(values_up_to(timers, start), (std::vector{2, 3}));
}

// What is removed leaves gaps in the slots, and those are closed when room is needed: far more
// timers come and go here than there is room for.
TEST(delay_heap, gaps_in_slots_are_used_again) {
  for (const std::size_t pending : {1UL, 40UL, 500UL}) {
    heap timers({.near = 8});
    std::minstd_rand random(42);
    const auto later = [&] {
      return start + 1h + std::chrono::microseconds(random() % 60'000'000);
    };
    std::vector<timer_id> ids(pending);
    std::vector<heap::time_point> deadlines(pending);
    for (int i = 0; i < 16; ++i) timers.insert(start + std::chrono::minutes(i), -1);
    for (int turn = 0; turn < 100'000; ++turn) {
      const std::size_t i = static_cast<std::size_t>(turn) < pending
                                ? static_cast<std::size_t>(turn)
                                : random() % pending;
      deadlines[i] = later();
      if (turn % 3 != 0 || !timers.reschedule(ids[i], deadlines[i])) {
        timers.remove(ids[i]);
        ids[i] = timers.insert(deadlines[i], turn);
      }
      if (turn % 1000 == 0) {
        ASSERT_TRUE(timers.check_invariants()) << turn;
      }
    }
    EXPECT_EQ(timers.size(), pending + 16);
    EXPECT_EQ(values_up_to(timers, start + 1h), std::vector<int>(16, -1));
    std::ranges::sort(deadlines);
    for (const heap::time_point due : deadlines) {
      std::array<timer_id, 1> expired;
      ASSERT_EQ(timers.next_deadline(), due);
      ASSERT_EQ(timers.advance_to(due, expired), 1U);
    }
    EXPECT_TRUE(timers.check_invariants());
  }
}

// With the last one that is far, the gaps are gone; slots are counted from another time then, be it
// earlier or later.
TEST(delay_heap, slots_without_timers_begin_anew) {
  heap timers({.near = 8});
  for (const auto from : {start + 10h, start + 900h, start + 2h, start + 20h}) {
    std::vector<timer_id> ids;
    for (int i = 0; i < 1000; ++i) ids.push_back(timers.insert(from + std::chrono::seconds(i), i));
    for (std::size_t i = 999; i > 0; --i) timers.remove(ids[i]);
    ASSERT_TRUE(timers.check_invariants());
    EXPECT_EQ(timers.next_deadline(), from);
    timers.remove(ids[0]);
    EXPECT_TRUE(timers.empty());
  }
  for (int i = 999; i >= 0; --i) timers.insert(start + std::chrono::seconds(i), i);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(values_up_to(timers, start + std::chrono::seconds(i)), (std::vector{i}));
  }
}

}  // namespace

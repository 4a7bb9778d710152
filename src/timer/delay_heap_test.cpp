#include <takt/timer/delay_heap.hpp>

#include <array>
#include <chrono>
#include <cstddef>
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

}  // namespace

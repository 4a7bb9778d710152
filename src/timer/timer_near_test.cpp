// Orders tell which timers come near, so that who has their values may fetch them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/timer/delay_heap.hpp>
#include <takt/timer/detail/slot_map.hpp>
#include <takt/timer/timer_wheel.hpp>

namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t tick = std::uint64_t{1} << 20;  // of the wheel

template <class Order>
std::vector<std::uint32_t> new_near(Order& order) {
  std::vector<std::uint32_t> near;
  order.for_new_near([&](std::uint32_t place) { near.push_back(place); });
  return near;
}

template <class Order>
void advance(Order& order, std::uint64_t now) {
  std::array<takt::timer_id, 4> expired;
  static_cast<void>(order.advance(now, expired));
}

TEST(timers_that_come_near, are_those_of_the_slot_that_a_wheel_has_opened) {
  takt::detail::wheel_order order{{}};
  order.reserve(64);
  order.add(1, 3 * tick);
  EXPECT_THAT(new_near(order), IsEmpty());  // it has always been
  order.add(2, 64 * tick);
  order.add(3, 70 * tick);
  order.add(4, 100 * tick);
  order.add(5, 130 * tick);
  order.add(6, 101 * tick);
  order.remove(6);
  advance(order, 63 * tick);
  EXPECT_THAT(new_near(order), IsEmpty());
  advance(order, 64 * tick);
  const std::vector<std::uint32_t> near = new_near(order);
  EXPECT_THAT(near, testing::IsSupersetOf({3U, 4U}));
  EXPECT_THAT(near, testing::Not(testing::Contains(5U)));
  EXPECT_THAT(new_near(order), IsEmpty());  // each is told once
  advance(order, 128 * tick);
  EXPECT_THAT(new_near(order), UnorderedElementsAre(5U));
}

TEST(timers_that_come_near, are_those_that_a_heap_has_taken_out_of_a_slot) {
  takt::detail::heap_order order{{.near = 4}};
  order.reserve(64);
  const auto due = [](std::uint32_t place) { return 1000 * tick * (place + 1); };
  for (std::uint32_t place = 0; place < 32; ++place) order.add(place, due(place));
  std::vector<std::uint32_t> told;
  for (std::uint64_t now = 0; now <= due(32); now += 100 * tick) {
    advance(order, now);
    for (const std::uint32_t place : new_near(order)) {
      EXPECT_GT(due(place), now);  // before its time
      told.push_back(place);
    }
  }
  std::ranges::sort(told);
  const auto [last, end] = std::ranges::unique(told);
  told.erase(last, end);
  EXPECT_GE(told.size(), 32U - 5U);  // all but those that were in the heap from the beginning
  EXPECT_EQ(order.size(), 0U);
}

}  // namespace

#include <takt/timer/hashed_wheel.hpp>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wheel = takt::hashed_wheel<int>;

std::string complaint(const takt::hashed_wheel_options& options) {
  try {
    const wheel w{options};
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(hashed_wheel, options_are_checked) {
  EXPECT_EQ(complaint({}), "");
  EXPECT_EQ(complaint({.tick = 1ns, .slots = 1}), "");
  EXPECT_THAT(complaint({.tick = 0ns}), HasSubstr("a tick of 0 ns is below 1 ns"));
  EXPECT_THAT(complaint({.tick = -5ns}), HasSubstr("-5 ns"));
  EXPECT_THAT(complaint({.slots = 0}), HasSubstr("0 slots are not a power of two up to 16777216"));
  EXPECT_THAT(complaint({.slots = 500}), HasSubstr("500 slots"));
  EXPECT_THAT(complaint({.slots = 33'554'432}), HasSubstr("33554432 slots"));
}

TEST(hashed_wheel, later_turns_stay_in_their_slot) {
  wheel w{{.tick = 1ms, .slots = 4}};
  const wheel::time_point start{1h};
  std::array<takt::timer_id, 8> expired;
  w.advance_to(start, expired);
  const takt::timer_id third = w.insert(start + 10ms, 3);
  const takt::timer_id first = w.insert(start + 2ms, 1);
  const takt::timer_id second = w.insert(start + 6ms, 2);
  EXPECT_EQ(w.next_deadline(), start + 2ms);
  ASSERT_EQ(w.advance_to(start + 5ms, expired), 1U);
  EXPECT_EQ(expired[0], first);
  EXPECT_EQ(w.next_deadline(), start + 6ms);
  ASSERT_EQ(w.advance_to(start + 1h, expired), 2U);
  EXPECT_EQ(expired[0], second);
  EXPECT_EQ(expired[1], third);
  EXPECT_TRUE(w.check_invariants());
}

}  // namespace

// The order in which a wheel hands over tasks, its rotations, and its limits; see
// wheel_scheduler_conformance.cpp.
#include <chrono>
#include <climits>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/sched/wheel_scheduler.hpp>

#include "../support/pools.hpp"
#include "../support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using takt::cancel_result;
using takt::clock;
using takt::timer_stamp;
using takt_test::log;
using takt_test::wheel_bench;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// --- order

TEST(wheel_order, within_a_tick_is_that_of_submission) {
  for (const auto stamp : {timer_stamp::caller, timer_stamp::timer}) {
    wheel_bench b({.stamp = stamp});
    log expected;
    b.settle();
    for (int i = 0; i < 300; ++i) {  // more than one batch
      b.wheel.execute(b.start + 10ms + nanoseconds((i * 7919) % 10'000'000 + 1), b.here,
                      b.say(std::to_string(i)));
      expected.push_back(std::to_string(i));
    }
    b.pass(10ms);
    EXPECT_THAT(b.said, IsEmpty());
    b.pass(10ms);
    EXPECT_EQ(b.said, expected);
  }
}

TEST(wheel_order, of_what_was_submitted_in_different_turns_is_the_same) {
  wheel_bench b({.tick = 1ms, .ticks_per_wheel = 8});
  b.wheel.execute(b.start + 100ms, b.here, b.say("a"));
  b.pass(50ms);
  b.wheel.execute(b.start + 100ms, b.here, b.say("b"));
  b.pass(49ms);
  b.wheel.execute(b.start + 100ms, b.here, b.say("c"));
  b.pass(1ms);
  EXPECT_EQ(b.said, (log{"a", "b", "c"}));
}

TEST(wheel_order, a_timer_thread_that_oversleeps_hands_over_all_that_is_due_in_order) {
  for (const bool exact : {false, true}) {
    wheel_bench b({.ticks_per_wheel = 16, .exact = exact});
    log expected;
    for (int i = 100; i > 0; --i) {
      b.wheel.execute(i * 10ms, b.here, b.say(std::to_string(i)));
      b.wheel.execute(i * 10ms, b.here, b.say("also " + std::to_string(i)));
    }
    for (int i = 1; i <= 95; ++i) {
      expected.push_back(std::to_string(i));
      expected.push_back("also " + std::to_string(i));
    }
    b.pass(959ms);
    EXPECT_EQ(b.said, expected);  // no due task is left, none is early
    EXPECT_EQ(b.wheel.totals().pending(), 10u);
  }
}

// --- rotations, and clocks with arbitrary origins

class wheel_turns : public testing::TestWithParam<std::size_t> {};

TEST_P(wheel_turns, may_be_many) {
  wheel_bench b({.tick = 1ms, .ticks_per_wheel = GetParam()});
  for (int i = 1; i <= 40; ++i) b.wheel.execute(i * 1ms, b.here, b.say(std::to_string(i)));
  for (int i = 1; i <= 40; ++i) {
    b.pass(1ms);
    ASSERT_EQ(b.said.size(), static_cast<std::size_t>(i));
    EXPECT_EQ(b.said.back(), std::to_string(i));
  }
}

INSTANTIATE_TEST_SUITE_P(wheel, wheel_turns, testing::Values(1, 2, 4, 16, 64));

class wheel_clock : public testing::TestWithParam<clock::time_point> {};

TEST_P(wheel_clock, may_begin_anywhere) {
  wheel_bench b({.ticks_per_wheel = 4}, GetParam());
  b.wheel.execute(1ns, b.here, b.say("10"));
  b.wheel.execute(20ms, b.here, b.say("20"));
  b.wheel.execute(b.start + 95ms, b.here, b.say("100"));
  auto series = b.wheel.schedule_at_fixed_rate(30ms, 30ms, b.here, b.say("series"));
  b.pass(10ms - 1ns);
  EXPECT_THAT(b.said, IsEmpty());
  b.pass(1ns);
  EXPECT_EQ(b.said, (log{"10"}));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"10", "20"}));
  b.pass(10ms);
  b.pass(30ms);
  b.pass(30ms);
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"10", "20", "series", "series", "series", "100"}));
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
}

INSTANTIATE_TEST_SUITE_P(wheel, wheel_clock,
                         testing::Values(clock::time_point(), clock::time_point(-5ms),
                                         clock::time_point(-55ms), clock::time_point(-1h - 3ns),
                                         clock::time_point(7h + 1ns), clock::time_point::min(),
                                         clock::time_point::min() + 1ns,
                                         clock::time_point::max() - 1min));

TEST(wheel_times, beyond_the_end_of_the_clock_is_too_far) {
  wheel_bench b({}, clock::time_point::max() - 1min);
  EXPECT_THROW(b.wheel.execute(1min, b.here, [] {}), std::invalid_argument);
  EXPECT_THROW(b.wheel.execute(1h, b.here, [] {}), std::invalid_argument);
  const auto handle = b.wheel.execute(1s, b.here, b.say("ran"));
  EXPECT_FALSE(handle.reschedule(1min));
  EXPECT_FALSE(handle.reschedule(takt::never));
  EXPECT_TRUE(handle.reschedule(59s));
  b.pass(59s);
  EXPECT_EQ(b.said, (log{"ran"}));
}

// --- too far ahead

TEST(wheel_limits, a_delay_that_is_too_far_ahead_is_an_error_that_names_the_maximum) {
  wheel_bench b;
  const nanoseconds most = b.wheel.max_delay();
  EXPECT_EQ(most, 10ms * std::int64_t{INT_MAX});
  const auto naming = [&](nanoseconds delay) {
    return AllOf(HasSubstr(std::to_string(delay.count())), HasSubstr(std::to_string(most.count())));
  };
  const auto complaint = [&](takt::due_time due) {
    return takt_test::complaint<std::invalid_argument>(
        [&] { b.wheel.execute(due, b.here, b.say("ran")); });
  };
  EXPECT_THAT(complaint(most + 1ns), naming(most + 1ns));
  EXPECT_THAT(complaint(b.time.now() + most + 1ns), naming(most + 1ns));
  EXPECT_THAT(complaint(takt::never), HasSubstr(std::to_string(most.count())));
  EXPECT_THAT(complaint(clock::time_point::max()), HasSubstr(std::to_string(most.count())));
  EXPECT_THAT(complaint(std::chrono::hours::max()), HasSubstr(std::to_string(most.count())));
  EXPECT_EQ(complaint(most), "");
  EXPECT_EQ(complaint(b.time.now() + most), "");
  EXPECT_EQ(b.wheel.totals().submitted, 2u);
  b.pass(most - 1ns);
  EXPECT_THAT(b.said, IsEmpty());
  b.pass(1ns);
  EXPECT_EQ(b.said.size(), 2u);
}

TEST(wheel_limits, a_period_is_checked_likewise) {
  wheel_bench b;
  const nanoseconds most = b.wheel.max_delay();
  const auto complaint = [&](nanoseconds period) {
    return takt_test::complaint<std::invalid_argument>(
        [&] { auto f = b.wheel.schedule_at_fixed_rate(1s, period, b.here, [] {}); });
  };
  EXPECT_THAT(complaint(most + 1ns), AllOf(HasSubstr(std::to_string(most.count() + 1)),
                                           HasSubstr(std::to_string(most.count()))));
  EXPECT_THAT(complaint(takt::never), HasSubstr(std::to_string(most.count())));
  EXPECT_THAT(complaint(0ns), HasSubstr("0"));
  EXPECT_THAT(complaint(-5ns), HasSubstr("-5"));
  EXPECT_THROW(static_cast<void>(b.wheel.schedule_with_fixed_delay(1s, 0s, b.here, [] {})),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(b.wheel.schedule_with_fixed_delay(1s, most + 1ns, b.here, [] {})),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(b.wheel.schedule_at_fixed_rate(most + 1ns, 1s, b.here, [] {})),
               std::invalid_argument);
  EXPECT_EQ(b.wheel.totals().submitted, 0u);
  auto series = b.wheel.schedule_at_fixed_rate(most, most, b.here, b.say("ran"));
  EXPECT_THROW(series.set_period(most + 1ns), std::invalid_argument);
  EXPECT_THROW(series.set_period(0s), std::invalid_argument);
  EXPECT_FALSE(series.reschedule(most + 1ns));
  EXPECT_FALSE(series.reschedule(takt::never));
  b.pass(most);
  b.pass(most);
  EXPECT_EQ(b.said.size(), 2u);
}

}  // namespace

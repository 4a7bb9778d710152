// wheel_scheduler: operations on a scheduled task: pause, resume, move, change its period.
#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/sched/wheel_scheduler.hpp>

#include "../support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using takt::timer_stamp;
using takt_test::expect_balance;
using takt_test::log;
using takt_test::series_bench;
using takt_test::wheel_bench;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(wheel_handles, a_task_that_is_paused_waits_with_what_was_left) {
  wheel_bench b;
  const auto handle = b.wheel.execute(30ms, b.here, b.say("ran"));
  b.pass(5ms);
  EXPECT_TRUE(handle.pause());
  EXPECT_FALSE(handle.pause());
  EXPECT_EQ(handle.time_left(), takt::never);
  b.pass(1h);
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_TRUE(handle.resume());
  EXPECT_FALSE(handle.resume());
  EXPECT_EQ(handle.time_left(), 25ms);
  b.pass(25ms);  // 1 h and 30 ms in all
  EXPECT_EQ(b.said, (log{"ran"}));
  EXPECT_FALSE(handle.pause());
  EXPECT_FALSE(handle.resume());
}

TEST(wheel_handles, move_a_task_in_place) {
  wheel_bench b;
  const auto later = b.wheel.execute(10ms, b.here, b.say("later"));
  const auto earlier = b.wheel.execute(1h, b.here, b.say("earlier"));
  const auto past = b.wheel.execute(1h, b.here, b.say("past"));
  EXPECT_TRUE(later.reschedule(30ms));
  EXPECT_EQ(later.next_time(), b.start + 30ms);
  EXPECT_TRUE(earlier.reschedule(b.start + 20ms));
  b.pass(10ms);
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_TRUE(past.reschedule(b.start));
  b.settle();
  EXPECT_EQ(b.said, (log{"past"}));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"past", "earlier"}));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"past", "earlier", "later"}));
  EXPECT_FALSE(later.reschedule(1ms));
  expect_balance(b.wheel);
}

// The delay of a moved task has started; with stamp timer, the timer thread looks for the task at
// its next tick.
TEST(wheel_handles, move_a_task_that_the_timer_thread_stamps) {
  wheel_bench b({.stamp = timer_stamp::timer});
  const auto later = b.wheel.execute(10ms, b.here, b.say("later"));
  const auto earlier = b.wheel.execute(1h, b.here, b.say("earlier"));
  EXPECT_TRUE(later.reschedule(50ms));
  EXPECT_EQ(later.next_time(), b.start + 50ms);
  EXPECT_TRUE(earlier.reschedule(20ms));
  EXPECT_EQ(earlier.next_time(), b.start + 20ms);
  b.pass(10ms);
  EXPECT_THAT(b.said, IsEmpty());
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"earlier"}));
  b.pass(30ms);
  EXPECT_EQ(b.said, (log{"earlier", "later"}));
  expect_balance(b.wheel);
}

TEST(wheel_handles, a_task_that_is_kept_alive_never_comes) {
  wheel_bench b;
  const auto guard = b.wheel.execute(30ms, b.here, b.say("dropped"));
  for (int i = 0; i < 50; ++i) {
    b.pass(10ms);
    EXPECT_TRUE(guard.reschedule(30ms));
  }
  EXPECT_THAT(b.said, IsEmpty());
  b.pass(30ms);
  EXPECT_EQ(b.said, (log{"dropped"}));
}

TEST(wheel_handles, moving_what_is_paused_resumes_it) {
  wheel_bench b;
  const auto handle = b.wheel.execute(1h, b.here, b.say("ran"));
  EXPECT_TRUE(handle.pause());
  EXPECT_TRUE(handle.reschedule(10ms));
  EXPECT_FALSE(handle.resume());
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"ran"}));
}

TEST(wheel_handles, pause_and_resume_a_series) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting());
  b.pass(10ms);
  EXPECT_TRUE(series.pause());
  b.pass(1s);
  EXPECT_THAT(b.at, ElementsAre(10));
  EXPECT_TRUE(series.resume());
  b.pass(10ms);
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 1020, 1030));
  EXPECT_EQ(series.missed_count(), 0u);
}

TEST(wheel_handles, pause_and_resume_a_series_from_inside) {
  series_bench b;
  takt::periodic_future series;
  std::vector<bool> did;
  series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, [&] {
    b.note();
    if (b.at.size() == 1) did = {series.resume(), series.pause(), series.resume()};
    if (b.at.size() == 2) did = {series.pause(), series.pause()};
  });
  b.pass(10ms);
  EXPECT_THAT(did, ElementsAre(false, true, true));
  b.pass(10ms);
  EXPECT_THAT(did, ElementsAre(true, false));
  b.pass(1s);
  EXPECT_THAT(b.at, ElementsAre(10, 20));
  EXPECT_TRUE(series.resume());
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 20, 1030));
}

TEST(wheel_handles, change_the_period_after_the_run_that_waits) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting());
  series.set_period(30ms);
  for (int i = 0; i < 7; ++i) b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 40, 70));
  series.set_period(10ms);
  EXPECT_TRUE(series.reschedule(20ms));
  for (int i = 0; i < 4; ++i) b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 40, 70, 90, 100, 110));
}

TEST(wheel_handles, move_a_series_from_inside) {
  series_bench b;
  takt::periodic_future series;
  series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, [&] {
    b.note();
    if (b.at.size() == 1) {
      EXPECT_TRUE(series.reschedule(50ms));
      series.set_period(20ms);
    }
  });
  b.pass(10ms);
  EXPECT_EQ(series.next_time(), b.start + 60ms);
  for (int i = 0; i < 9; ++i) b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 60, 80, 100));
}

}  // namespace

// wheel_scheduler: sleeping while idle, and statistics.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/watchdog.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../support/pools.hpp"
#include "../support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using takt::inline_executor;
using takt::wheel_scheduler;
using takt_test::counting_clock;
using takt_test::gate;
using takt_test::log;
using takt_test::tally;
using takt_test::wheel_bench;

// --- sleep

TEST(wheel_sleep, an_idle_wheel_does_not_tick) {
  for (const auto stamp : {takt::timer_stamp::caller, takt::timer_stamp::timer}) {
    counting_clock time;
    const wheel_scheduler wheel({.stamp = stamp, .time = &time});
    time.time.wait_for_waiters(1);
    const std::size_t before = time.parks();
    EXPECT_FALSE(time.time.advance_to_next());  // it waits without a deadline
    for (int i = 0; i < 1000; ++i) time.time.advance(10ms);
    time.time.wait_for_waiters(1);
    EXPECT_EQ(time.parks(), before);
  }
}

TEST(wheel_sleep, a_wheel_sleeps_until_its_next_deadline) {
  counting_clock time;
  wheel_scheduler wheel({.time = &time});
  std::atomic<int> ran{0};
  time.time.wait_for_waiters(1);
  wheel.execute(4s, inline_executor(), [&] { ++ran; });
  time.time.wait_for_waiters(1);
  std::size_t before = time.parks();
  for (int i = 0; i < 399; ++i) time.time.advance(10ms);
  time.time.wait_for_waiters(1);
  EXPECT_EQ(time.parks(), before);
  time.time.advance(10ms);
  time.time.wait_for_waiters(1);
  EXPECT_EQ(time.parks(), before + 1);
  EXPECT_EQ(ran, 1);
  // Timers later than the next one do not wake the thread; neither do timers in the same tick.
  wheel.execute(1s, inline_executor(), [&] { ++ran; });
  time.time.wait_for_waiters(1);
  before = time.parks();
  for (int i = 0; i < 100; ++i) wheel.execute(1s + i * 1ms, inline_executor(), [&] { ++ran; });
  wheel.execute(991ms, inline_executor(), [&] { ++ran; });
  time.time.wait_for_waiters(1);
  EXPECT_EQ(time.parks(), before);
  time.time.advance(1s);
  time.time.wait_for_waiters(1);
  EXPECT_EQ(ran, 4);
  EXPECT_EQ(time.parks(), before + 1);
}

// --- figures

TEST(wheel_figures, lateness_is_that_of_the_hand_over_after_the_deadline) {
  wheel_bench b;
  EXPECT_EQ(b.wheel.lateness().count(), 0u);
  b.wheel.execute(13ms, b.here, [] {});
  b.wheel.execute(20ms, b.here, [] {});
  b.pass(20ms);
  const auto near = [](std::chrono::nanoseconds a, std::chrono::nanoseconds exact) {
    return std::max(a - exact, exact - a) <= exact / 64;
  };
  EXPECT_EQ(b.wheel.lateness().count(), 2u);
  EXPECT_EQ(b.wheel.lateness().min(), 0ns);
  EXPECT_TRUE(near(b.wheel.lateness().max(), 7ms));
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 1h, b.here, [] {});
  b.pass(3s);
  EXPECT_EQ(b.wheel.lateness().count(), 3u);
  EXPECT_TRUE(near(b.wheel.lateness().max(), 2990ms));
}

TEST(wheel_figures, lateness_of_what_was_moved_far_into_the_past_is_not_lost) {
  wheel_bench b({}, takt::clock::time_point(1h));
  EXPECT_TRUE(b.wheel.execute(1h, b.here, b.say("ran")).reschedule(takt::clock::time_point::min()));
  b.settle();
  EXPECT_EQ(b.said, (log{"ran"}));
  EXPECT_GT(b.wheel.lateness().max(), 24h * 365 * 200);
}

TEST(wheel_figures, a_watchdog_names_a_slow_inline_task) {
  takt::manual_clock time;
  takt::scheduled_pool timers({.threads = 1, .time = &time});
  takt::detail::mutex mu;
  log slow;
  tally reports;
  takt::watchdog watch({.limit = 50ms,
                        .timers = &timers,
                        .report = [&](const takt::task_event& started, std::chrono::nanoseconds) {
                          {
                            const takt::detail::mutex_lock lock(mu);
                            slow.emplace_back(started.name);
                          }
                          reports.add();
                        }});
  wheel_scheduler wheel({.time = &time, .observer = &watch});
  tally begun;
  gate go_on;
  gate again;
  wheel.execute(10ms, inline_executor(), [] {}, {.name = "quick"});
  wheel.execute(10ms, inline_executor(),
                [&] {
                  begun.add();
                  go_on.wait();
                },
                {.name = "slow"});
  auto series = wheel.schedule_with_fixed_delay(10ms, 10ms, inline_executor(),
                                                [&] {
                                                  begun.add();
                                                  again.wait();
                                                },
                                                {.name = "slow series"});
  time.wait_for_waiters(2);
  time.advance(10ms);
  begun.wait_for(1);
  time.advance(50ms);
  reports.wait_for(1);
  go_on.open();
  begun.wait_for(2);
  time.advance(50ms);
  reports.wait_for(2);
  again.open();
  series.cancel_and_join();
  const takt::detail::mutex_lock lock(mu);
  EXPECT_EQ(slow, (log{"slow", "slow series"}));
}

}  // namespace

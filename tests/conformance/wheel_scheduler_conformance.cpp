// What Akka's LightArrayRevolverScheduler promises, and what wheel_scheduler adds: options,
// executors and times. Order and limits, cancelling, periodic tasks and closing have separate
// files.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../support/pools.hpp"
#include "../support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using takt::cancel_result;
using takt::clock;
using takt::inline_executor;
using takt::manual_executor;
using takt::timer_stamp;
using takt::wheel_scheduler;
using takt_test::counting_clock;
using takt_test::expect_balance;
using takt_test::log;
using takt_test::rejection_of;
using takt_test::wheel_bench;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string complaint_about(const wheel_scheduler::options_type& how) {
  return takt_test::complaint<std::invalid_argument>([&] { const wheel_scheduler wheel(how); });
}

// --- options

TEST(wheel_options, are_those_of_the_original_unless_told_otherwise) {
  const wheel_scheduler::options_type how;
  EXPECT_EQ(how.tick, 10ms);
  EXPECT_EQ(how.ticks_per_wheel, 512u);
  EXPECT_EQ(how.stamp, timer_stamp::caller);
  EXPECT_EQ(wheel_scheduler::close_timeout, 5s);
}

TEST(wheel_options, a_tick_below_a_millisecond_is_an_error) {
  EXPECT_THAT(complaint_about({.tick = 999'999ns}),
              AllOf(HasSubstr("999999"), HasSubstr("1000000")));
  EXPECT_THAT(complaint_about({.tick = -1ns}), AllOf(HasSubstr("-1"), HasSubstr("1000000")));
  EXPECT_EQ(complaint_about({.tick = 1ms}), "");
}

TEST(wheel_options, ticks_that_are_no_power_of_two_are_an_error) {
  for (const std::size_t ticks : {std::size_t{0}, std::size_t{3}, std::size_t{511},
                                  (std::size_t{1} << 24) + 1, std::size_t{1} << 25}) {
    EXPECT_THAT(complaint_about({.ticks_per_wheel = ticks}),
                AllOf(HasSubstr(std::to_string(ticks)), HasSubstr("16777216")));
  }
  EXPECT_EQ(complaint_about({.ticks_per_wheel = 1}), "");
}

TEST(wheel_options, the_greatest_frequency_is_visible) {
  EXPECT_DOUBLE_EQ(wheel_bench().wheel.max_frequency(), 100);
  EXPECT_DOUBLE_EQ(wheel_bench({.tick = 1ms}).wheel.max_frequency(), 1000);
  EXPECT_DOUBLE_EQ(wheel_bench({.tick = 2s}).wheel.max_frequency(), 0.5);
}

// --- executors

TEST(wheel_executors, each_task_runs_on_the_one_that_it_names) {
  manual_executor first;
  manual_executor second;
  wheel_bench b;
  b.wheel.execute(10ms, first, b.say("first"));
  b.wheel.execute(10ms, second, b.say("second"));
  b.wheel.execute(20ms, first, b.say("first again"));
  b.pass(20ms);
  EXPECT_THAT(b.said, IsEmpty());  // the timer thread runs none of them
  EXPECT_EQ(first.queued(), 2u);
  EXPECT_EQ(second.queued(), 1u);
  EXPECT_EQ(second.poll(), 1u);
  EXPECT_EQ(first.poll(), 2u);
  EXPECT_EQ(b.said, (log{"second", "first", "first again"}));
}

TEST(wheel_executors, the_timer_thread_runs_what_is_to_run_inline) {
  wheel_bench b;
  std::vector<std::thread::id> ran_on;
  const auto note = [&] { ran_on.push_back(std::this_thread::get_id()); };
  b.wheel.execute(10ms, b.here, note);
  b.wheel.execute(20ms, b.here, note);
  b.pass(20ms);
  ASSERT_EQ(ran_on.size(), 2u);
  EXPECT_EQ(ran_on[0], ran_on[1]);
  EXPECT_NE(ran_on[0], std::this_thread::get_id());
}

TEST(wheel_executors, threads_of_a_pool_run_what_is_given_to_it) {
  takt::thread_pool pool({.core_threads = 2});
  wheel_bench b;
  auto answer = b.wheel.schedule(10ms, pool, [] { return 42; });
  b.pass(10ms);
  EXPECT_EQ(answer.get(), 42);
}

// --- tasks that are due at once

TEST(wheel_at_once, what_is_due_is_handed_over_by_the_caller_and_is_done) {
  wheel_bench b;
  b.time.advance(1h);
  std::vector<std::thread::id> ran_on;
  const auto note = [&] { ran_on.push_back(std::this_thread::get_id()); };
  for (const takt::due_time due :
       {takt::due_time(0ms), takt::due_time(-1ns), takt::due_time(nanoseconds::min()),
        takt::due_time(b.time.now()), takt::due_time(b.time.now() - 1ns),
        takt::due_time(clock::time_point::min())}) {
    const auto handle = b.wheel.execute(due, b.here, note);
    EXPECT_EQ(handle.cancel(), cancel_result::done);
    EXPECT_FALSE(handle.reschedule(1s));
    EXPECT_FALSE(handle.pause());
    EXPECT_EQ(handle.next_time(), clock::time_point::max());
  }
  EXPECT_EQ(ran_on, std::vector(6, std::this_thread::get_id()));
  manual_executor later;
  const auto handle = b.wheel.execute(0ms, later, [] {});
  EXPECT_EQ(later.queued(), 1u);
  EXPECT_EQ(handle.cancel(), cancel_result::done);
  EXPECT_EQ(b.wheel.totals().finished, 7u);
  expect_balance(b.wheel);
}

TEST(wheel_at_once, so_with_either_stamp) {
  wheel_bench b({.stamp = timer_stamp::timer});
  EXPECT_EQ(b.wheel.schedule(0ms, b.here, [] { return 1; }).get(), 1);
  EXPECT_EQ(b.wheel.schedule(-1s, b.here, [] { return 2; }).get(), 2);
  EXPECT_EQ(b.wheel.schedule(b.time.now(), b.here, [] { return 3; }).get(), 3);
}

TEST(wheel_at_once, is_rejected_after_the_end) {
  wheel_bench b;
  b.wheel.close();
  const auto shut_down = takt::rejection::shut_down;
  EXPECT_EQ(rejection_of([&] { b.wheel.execute(0ms, b.here, b.say("a")); }), shut_down);
  EXPECT_EQ(rejection_of([&] { b.wheel.execute(-1s, b.here, b.say("b")); }), shut_down);
  EXPECT_EQ(rejection_of([&] { b.wheel.execute(1s, b.here, b.say("c")); }), shut_down);
  EXPECT_EQ(rejection_of([&] { auto f = b.wheel.schedule(0ms, b.here, b.say("d")); }), shut_down);
  EXPECT_EQ(
      rejection_of([&] { auto f = b.wheel.schedule_at_fixed_rate(0ms, 1s, b.here, b.say("e")); }),
      shut_down);
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_EQ(b.wheel.totals().rejected, 5u);
  expect_balance(b.wheel);
}

TEST(wheel_at_once, a_refusal_is_told_to_the_caller) {
  manual_executor closed;
  closed.shutdown();
  wheel_bench b;
  EXPECT_TRUE(rejection_of([&] { b.wheel.execute(0ms, closed, b.say("a")); }));
  EXPECT_TRUE(rejection_of([&] { auto f = b.wheel.schedule(0ms, closed, b.say("b")); }));
  EXPECT_TRUE(
      rejection_of([&] { auto f = b.wheel.schedule_at_fixed_rate(0ms, 1ms, closed, b.say("c")); }));
  EXPECT_EQ(b.wheel.totals().rejected, 3u);
  EXPECT_THAT(b.unhandled.unobserved(), IsEmpty());
  expect_balance(b.wheel);
}

TEST(wheel_at_once, a_series_that_begins_at_once_can_be_cancelled) {
  manual_executor later;
  wheel_bench b;
  auto owner = std::make_shared<int>();
  auto series =
      b.wheel.schedule_at_fixed_rate(0ms, 10ms, later, [&b, owner] { b.said.emplace_back("ran"); });
  EXPECT_EQ(later.queued(), 1u);
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  EXPECT_EQ(series.cancel(), cancel_result::done);
  EXPECT_EQ(owner.use_count(), 1);
  later.poll();
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  expect_balance(b.wheel);
}

// --- times

struct delay_case {
  nanoseconds now;
  nanoseconds delay;
  nanoseconds handed_over;
};

class wheel_rounding : public testing::TestWithParam<delay_case> {};

TEST_P(wheel_rounding, is_up_to_the_next_tick_and_nothing_is_early) {
  wheel_bench b;
  b.pass(GetParam().now);
  const auto handle = b.wheel.execute(GetParam().delay, b.here, b.say("ran"));
  EXPECT_EQ(handle.time_left(), GetParam().delay);  // exact, not rounded to ticks
  b.pass(GetParam().handed_over - GetParam().now - 1ns);
  EXPECT_THAT(b.said, IsEmpty());
  b.pass(1ns);
  EXPECT_THAT(b.said, ElementsAre("ran"));
}

INSTANTIATE_TEST_SUITE_P(
    wheel, wheel_rounding,
    testing::Values(delay_case{0ns, 1ns, 10ms}, delay_case{0ns, 10ms - 1ns, 10ms},
                    delay_case{0ns, 10ms, 10ms}, delay_case{0ns, 10ms + 1ns, 20ms},
                    delay_case{3ms, 7ms, 10ms}, delay_case{3ms, 10ms, 20ms},
                    delay_case{10ms - 1ns, 1ns, 10ms}, delay_case{10ms - 1ns, 2ns, 20ms},
                    delay_case{1h + 1ns, 10ms, 1h + 20ms}, delay_case{0ns, 5120ms, 5120ms},
                    delay_case{0ns, 5120ms + 1ns, 5130ms}, delay_case{55ms, 24h, 24h + 60ms}));

TEST(wheel_times, a_time_is_as_good_as_a_delay) {
  for (const auto stamp : {timer_stamp::caller, timer_stamp::timer}) {
    wheel_bench b({.stamp = stamp});
    b.pass(3ms);
    b.wheel.execute(b.start + 10ms, b.here, b.say("10"));
    b.wheel.execute(b.start + 11ms, b.here, b.say("11"));
    b.pass(7ms);
    EXPECT_EQ(b.said, (log{"10"}));
    b.pass(10ms);
    EXPECT_EQ(b.said, (log{"10", "11"}));
  }
}

TEST(wheel_times, stamped_by_the_caller_a_task_is_at_most_one_tick_late) {
  wheel_bench b;
  for (int i = 0; i < 40; ++i) {
    const auto due = b.time.now() + 25ms;
    b.wheel.execute(25ms, b.here, [&b, due] {
      EXPECT_GE(b.time.now(), due);
      EXPECT_LT(b.time.now(), due + 10ms);
      b.said.emplace_back("ran");
    });
    b.pass(1ms);
  }
  b.pass(1ms);
  for (int i = 0; i < 40; ++i) b.pass(1ms);
  EXPECT_EQ(b.said.size(), 40u);
  EXPECT_LT(b.wheel.lateness().max(), 10ms);
}

// The delay starts when the timer thread sorts the task, at its next tick.
TEST(wheel_times, stamped_by_the_timer_thread_a_task_is_at_most_two_ticks_late) {
  wheel_bench b({.stamp = timer_stamp::timer});
  b.wheel.execute(10ms, b.here, b.say("a"));  // wakes the idle thread
  b.pass(1ms);
  b.wheel.execute(10ms, b.here, b.say("b"));
  b.wheel.execute(15ms, b.here, b.say("c"));
  b.pass(9ms - 1ns);
  EXPECT_THAT(b.said, IsEmpty());
  b.pass(1ns);
  EXPECT_EQ(b.said, (log{"a"}));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"a", "b"}));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"a", "b", "c"}));
}

TEST(wheel_times, stamped_by_the_timer_thread_no_task_is_early_or_later_than_that) {
  wheel_bench b({.stamp = timer_stamp::timer});
  for (int i = 0; i < 40; ++i) {
    const auto due = b.time.now() + 25ms;
    b.wheel.execute(25ms, b.here, [&b, due] {
      EXPECT_GE(b.time.now(), due);
      EXPECT_LE(b.time.now(), due + 20ms);
      b.said.emplace_back("ran");
    });
    b.pass(1ms);
  }
  for (int i = 0; i < 60; ++i) b.pass(1ms);
  EXPECT_EQ(b.said.size(), 40u);
}

// A manual clock. Other threads than the test's can be delayed when they read it.
class slow_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override {
    const time_point seen = time.now();
    if (std::this_thread::get_id() != test_ && armed.exchange(false)) meanwhile();
    return seen;
  }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    time.park_until(p, deadline);
  }

  takt::manual_clock time;
  std::function<void()> meanwhile;
  mutable std::atomic<bool> armed{false};

 private:
  const std::thread::id test_ = std::this_thread::get_id();
};

TEST(wheel_times, a_delay_does_not_begin_before_it_was_asked_for) {
  slow_clock time;
  wheel_scheduler wheel({.stamp = timer_stamp::timer, .time = &time});
  clock::time_point due;
  clock::time_point ran;
  time.meanwhile = [&] {
    time.time.advance(9ms);
    due = time.time.now() + 10ms;
    wheel.execute(10ms, inline_executor(), [&] { ran = time.time.now(); });
  };
  time.time.wait_for_waiters(1);
  wheel.execute(1h, inline_executor(), [] {});
  time.time.wait_for_waiters(1);
  time.armed = true;
  wheel.execute(1h, inline_executor(), [] {});
  time.time.advance(10ms);
  for (int i = 0; i < 50; ++i) {
    time.time.wait_for_waiters(1);
    time.time.advance(1ms);
  }
  time.time.wait_for_waiters(1);
  EXPECT_FALSE(time.armed);
  EXPECT_GE(ran, due);
  EXPECT_LE(ran, due + 20ms);
}

// Slots are reused, and the inbox may still contain entries of tasks that were cancelled long
// before.
TEST(wheel_times, a_delay_does_not_begin_before_it_was_asked_for_in_a_place_that_was_anothers) {
  constexpr int many = 20'000;
  wheel_bench b({.stamp = timer_stamp::timer, .exact = true});
  for (int i = 0; i < many; ++i) b.wheel.execute(1h, b.here, [] {}).cancel();
  b.pass(10ms);
  b.pass(10s);
  int ran = 0;
  for (int i = 0; i < many; ++i) b.wheel.execute(50ms, b.here, [&] { ++ran; });
  for (int i = 0; i < 49; ++i) b.pass(1ms);
  EXPECT_EQ(ran, 0);
  for (int i = 0; i < 30; ++i) b.pass(1ms);
  EXPECT_EQ(ran, many);
}

// Time passes whenever this thread has read the clock.
class hasty_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override {
    const time_point seen = time.now();
    if (armed && std::this_thread::get_id() == test_) time.advance(50ms);
    return seen;
  }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    time.park_until(p, deadline);
  }
  mutable takt::manual_clock time;
  bool armed = false;  // used only by this thread

 private:
  const std::thread::id test_ = std::this_thread::get_id();
};

TEST(wheel_times, no_more_than_the_delay_is_left_of_it) {
  for (const auto stamp : {timer_stamp::caller, timer_stamp::timer}) {
    hasty_clock time;
    wheel_scheduler wheel({.stamp = stamp, .time = &time});
    const auto guard = wheel.execute(1s, inline_executor(), [] {});
    time.armed = true;
    EXPECT_TRUE(guard.pause());
    time.armed = false;
    EXPECT_TRUE(guard.resume());
    EXPECT_LE(guard.next_time(), time.now() + 1s);
  }
}

// Stamps apply to durations only.
TEST(wheel_times, are_what_they_are_whoever_stamps) {
  wheel_bench b({.stamp = timer_stamp::timer});
  b.pass(3ms);
  b.wheel.execute(1h, b.here, [] {});
  b.settle();  // its next tick is at 13 ms
  b.wheel.execute(b.start + 10ms, b.here, b.say("ran"));
  b.pass(7ms);
  EXPECT_THAT(b.said, ElementsAre("ran"));
}

TEST(wheel_times, the_caller_looks_at_the_clock_once_or_never) {
  for (const auto stamp : {timer_stamp::caller, timer_stamp::timer}) {
    counting_clock time;
    wheel_scheduler wheel({.stamp = stamp, .time = &time});
    counting_clock::looks = 0;
    for (int i = 0; i < 10; ++i) wheel.execute(1s, inline_executor(), [] {});
    EXPECT_EQ(counting_clock::looks, stamp == timer_stamp::caller ? 10u : 0u);
  }
}

TEST(wheel_times, with_exact_there_is_no_grid) {
  wheel_bench b({.exact = true});
  b.pass(123ns);
  b.wheel.execute(1ms + 2ns, b.here, b.say("c"));
  b.wheel.execute(1ms + 1ns, b.here, b.say("b"));
  b.wheel.execute(1ns, b.here, b.say("a"));
  b.wheel.execute(1ms + 1ns, b.here, b.say("b too"));
  b.pass(1ns);
  EXPECT_EQ(b.said, (log{"a"}));
  b.pass(1ms - 1ns);
  EXPECT_EQ(b.said, (log{"a"}));
  b.pass(1ns);
  EXPECT_EQ(b.said, (log{"a", "b", "b too"}));
  b.pass(1ns);
  EXPECT_EQ(b.said, (log{"a", "b", "b too", "c"}));
  EXPECT_EQ(b.wheel.lateness().max(), 0ns);
}

TEST(wheel_times, what_is_exact_and_late_goes_by_deadlines) {
  wheel_bench b({.exact = true});
  for (const int i : {5, 3, 8, 1, 7, 2, 6, 4}) {
    b.wheel.execute(i * 7ms + i * 1ns, b.here, b.say(std::to_string(i)));
  }
  b.pass(1h);
  EXPECT_EQ(b.said, (log{"1", "2", "3", "4", "5", "6", "7", "8"}));
}

}  // namespace

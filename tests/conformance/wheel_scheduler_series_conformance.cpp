// wheel_scheduler: periodic tasks.
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../support/pools.hpp"
#include "../support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::manual_executor;
using takt::timer_stamp;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::log;
using takt_test::series_bench;
using takt_test::tally;
using takt_test::wheel_bench;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// --- when

TEST(wheel_series, runs_at_a_fixed_rate) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(5ms, 20ms, b.here, b.noting());
  for (int i = 0; i < 70; ++i) b.pass(1ms);
  EXPECT_THAT(b.at, ElementsAre(10, 30, 50, 70));  // due at 5, 25, 45, 65
  EXPECT_EQ(series.run_count(), 4u);
  EXPECT_EQ(series.next_time(), b.start + 85ms);
}

TEST(wheel_series, begins_at_once_on_the_callers_thread_if_it_is_due) {
  series_bench b;
  std::thread::id ran_on;
  auto series = b.wheel.schedule_at_fixed_rate(0ms, 10ms, b.here, [&] {
    if (b.at.empty()) ran_on = std::this_thread::get_id();
    b.note();
  });
  EXPECT_EQ(b.at.size(), 1u);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(0, 10));
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
}

TEST(wheel_series, at_a_fixed_rate_corrects_drift) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting_slowly(13ms));
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 23));  // due at 20
  b.pass(7ms);
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 23, 30, 40));
  EXPECT_EQ(series.missed_count(), 0u);
}

TEST(wheel_series, with_a_fixed_delay_counts_from_the_end) {
  series_bench b;
  auto series = b.wheel.schedule_with_fixed_delay(10ms, 10ms, b.here, b.noting_slowly(13ms));
  b.pass(10ms);
  EXPECT_EQ(series.next_time(), b.start + 33ms);
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10));
  b.pass(7ms);
  EXPECT_THAT(b.at, ElementsAre(10, 40));
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 40, 50));
}

TEST(wheel_series, stamped_by_the_timer_thread_keeps_its_period) {
  series_bench b({.stamp = timer_stamp::timer});
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 20ms, b.here, b.noting());
  for (int i = 0; i < 10; ++i) b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 30, 50, 70, 90));
}

TEST(wheel_series, that_is_exact_runs_below_the_tick) {
  wheel_bench b({.exact = true});
  std::vector<std::chrono::nanoseconds> at;
  auto series =
      b.wheel.schedule_at_fixed_rate(1us, 250us, b.here, [&] { at.push_back(b.elapsed()); });
  b.pass(1us);
  for (int i = 0; i < 3; ++i) b.pass(250us);
  EXPECT_THAT(at, ElementsAre(1us, 251us, 501us, 751us));
}

TEST(wheel_series, does_not_overlap) {
  takt::thread_pool pool({.core_threads = 3});
  wheel_bench b;
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  tally begun;
  gate go_on;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, pool, [&] {
    if (inside++ != 0) overlapped = true;
    begun.add();
    go_on.wait();
    --inside;
  });
  b.pass(10ms);
  begun.wait_for(1);
  for (int i = 0; i < 5; ++i) b.pass(10ms);
  EXPECT_EQ(begun.count(), 1u);
  EXPECT_EQ(series.run_count(), 1u);
  go_on.open();
  begun.wait_for(6);  // the runs that became due meanwhile
  b.settle();
  series.cancel_and_join();
  EXPECT_EQ(series.run_count(), 6u);
  EXPECT_FALSE(overlapped);
}

// --- cancelling

TEST(wheel_series, is_cancelled_before_its_first_run) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting());
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  EXPECT_EQ(series.cancel(), cancel_result::done);
  b.pass(1s);
  EXPECT_THAT(b.at, IsEmpty());
  EXPECT_THROW(series.get(), takt::cancelled);
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  expect_balance(b.wheel);
}

TEST(wheel_series, is_cancelled_between_runs) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting());
  b.pass(10ms);
  b.pass(10ms);
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  b.pass(1s);
  EXPECT_THAT(b.at, ElementsAre(10, 20));
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  EXPECT_EQ(b.wheel.totals().ran, 2u);
  expect_balance(b.wheel);
}

TEST(wheel_series, is_cancelled_while_it_runs) {
  takt::thread_pool pool({.core_threads = 1});
  wheel_bench b;
  gate begun;
  gate go_on;
  auto owner = std::make_shared<int>();
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, pool, [&, owner] {
    begun.open();
    go_on.wait();
  });
  b.pass(10ms);
  begun.wait();
  EXPECT_EQ(series.cancel(), cancel_result::running);
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_EQ(series.cancel(), cancel_result::done);
  EXPECT_EQ(owner.use_count(), 2);
  go_on.open();
  series.cancel_and_join();
  pool.close(takt::drain);
  EXPECT_EQ(owner.use_count(), 1);
  b.pass(1s);
  EXPECT_EQ(series.run_count(), 1u);
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  expect_balance(b.wheel);
}

TEST(wheel_series, is_cancelled_from_inside) {
  series_bench b;
  takt::periodic_future series;
  auto result = cancel_result::prevented;
  series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, [&] {
    b.note();
    if (b.at.size() == 2) result = series.cancel();
  });
  for (int i = 0; i < 5; ++i) b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 20));
  EXPECT_EQ(result, cancel_result::running);
  EXPECT_EQ(series.cancel(), cancel_result::done);
  EXPECT_THROW(series.get(), takt::cancelled);
  expect_balance(b.wheel);
}

TEST(wheel_series, ends_from_inside_by_throwing_cancelled) {
  series_bench b;
  auto series = b.wheel.schedule_with_fixed_delay(10ms, 10ms, b.here, [&] {
    b.note();
    throw takt::cancelled();
  });
  b.pass(10ms);
  b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10));
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  expect_balance(b.wheel);
}

TEST(wheel_series, ends_with_an_exception_and_is_done_then) {
  series_bench b;
  auto owner = std::make_shared<int>();
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, [&b, owner] {
    b.note();
    if (b.at.size() == 2) throw std::runtime_error("enough");
  });
  for (int i = 0; i < 5; ++i) b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 20));
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(series.cancel(), cancel_result::done);
  EXPECT_FALSE(series.reschedule(1ms));
  EXPECT_EQ(series.next_time(), takt::clock::time_point::max());
  EXPECT_EQ(series.run_count(), 2u);
  EXPECT_THROW(series.get(), std::runtime_error);
  EXPECT_EQ(b.wheel.totals().finished, 1u);
  EXPECT_EQ(b.wheel.totals().failed, 1u);
  EXPECT_THAT(b.unhandled.unobserved(), IsEmpty());
  expect_balance(b.wheel);
}

TEST(wheel_series, that_throws_with_nobody_to_see_it_is_reported) {
  wheel_bench b;
  static_cast<void>(b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here,
                                                   [] { throw std::runtime_error("not seen"); }));
  b.pass(10ms);
  EXPECT_THAT(b.unhandled.unobserved(), ElementsAre("not seen"));
}

TEST(wheel_series, that_was_let_go_of_goes_on) {
  series_bench b;
  static_cast<void>(b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting()));
  for (int i = 0; i < 3; ++i) b.pass(10ms);
  EXPECT_THAT(b.at, ElementsAre(10, 20, 30));
}

// --- rejected

TEST(wheel_series, ends_when_its_executor_refuses_a_run) {
  manual_executor executor;
  wheel_bench b;
  auto owner = std::make_shared<int>();
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, executor, [owner] {});
  b.pass(10ms);
  executor.poll();
  executor.shutdown();
  b.pass(10ms);
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(series.cancel(), cancel_result::done);
  EXPECT_THROW(series.get(), takt::rejected);
  b.pass(1s);
  EXPECT_EQ(b.wheel.totals().rejected, 1u);
  EXPECT_THAT(b.unhandled.unobserved(), IsEmpty());
  EXPECT_THAT(b.unhandled.uncaught(), IsEmpty());
  expect_balance(b.wheel);
}

// The future reports the rejection. Without a future the observer is notified, and the ledger
// counts it.
TEST(wheel_series, that_is_refused_is_reported_to_the_observer) {
  takt::manual_clock time;
  takt::task_statistics figures;
  manual_executor closed;
  closed.shutdown();
  takt::wheel_scheduler wheel({.time = &time, .observer = &figures});
  static_cast<void>(wheel.schedule_at_fixed_rate(10ms, 10ms, closed, [] {}));
  time.wait_for_waiters(1);
  time.advance(1s);
  time.wait_for_waiters(1);
  EXPECT_EQ(figures.totals().rejected, 1u);
  EXPECT_EQ(figures.totals().pending(), 0u);
  EXPECT_EQ(wheel.totals().rejected, 1u);
  expect_balance(wheel);
}

TEST(wheel_errors, a_refusal_without_a_future_is_reported) {
  manual_executor closed;
  closed.shutdown();
  wheel_bench b;
  b.wheel.execute(10ms, closed, [] {});
  auto seen = b.wheel.schedule(10ms, closed, [] {});
  b.wheel.execute(20ms, b.here, b.say("next"));
  b.pass(10ms);
  EXPECT_THAT(b.unhandled.unobserved(), SizeIs(1));
  EXPECT_THROW(seen.get(), takt::rejected);
  EXPECT_EQ(b.wheel.totals().rejected, 2u);
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"next"}));
  expect_balance(b.wheel);
}

// --- the timer thread continues

TEST(wheel_errors, of_inline_tasks_do_not_stop_the_timer_thread) {
  wheel_bench b;
  b.wheel.execute(10ms, b.here, [] { throw std::runtime_error("first"); });
  b.wheel.execute(10ms, b.here, b.say("same tick"));
  b.wheel.execute(20ms, b.here, [] { throw 42; });
  b.wheel.execute(30ms, b.here, [] { throw takt::cancelled(); });
  b.wheel.execute(40ms, b.here, b.say("later"));
  auto f = b.wheel.schedule(40ms, b.here, [] { throw std::runtime_error("its own"); });
  for (int i = 0; i < 4; ++i) b.pass(10ms);
  EXPECT_EQ(b.said, (log{"same tick", "later"}));
  EXPECT_THAT(b.unhandled.uncaught(), ElementsAre("first", "?"));
  EXPECT_THROW(f.get(), std::runtime_error);
  expect_balance(b.wheel);
}

// Throws an error that is not a rejection.
struct broken_executor {
  void execute(const takt::task& /*t*/) { throw std::runtime_error("broken"); }
};

TEST(wheel_errors, of_an_executor_do_not_stop_the_timer_thread) {
  broken_executor broken;
  wheel_bench b;
  const takt::any_executor where(broken);
  b.wheel.execute(10ms, where, [] {});
  auto f = b.wheel.schedule(10ms, where, [] {});
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, where, [] {});
  b.wheel.execute(20ms, b.here, b.say("later"));
  b.pass(10ms);
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"later"}));
  EXPECT_THAT(b.unhandled.uncaught(), ElementsAre("broken", "broken", "broken"));
  EXPECT_TRUE(f.is_ready());
  EXPECT_TRUE(series.is_ready());
  EXPECT_EQ(series.cancel(), cancel_result::done);
  expect_balance(b.wheel);
}

// --- missed runs

TEST(wheel_missed, a_stop_of_ten_seconds_is_not_followed_by_a_storm) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting());
  b.pass(10ms);
  b.pass(10s);
  EXPECT_THAT(b.at, ElementsAre(10, 10'010, 10'010));  // the late run, and the run that is due now
  EXPECT_EQ(series.missed_count(), 998u);
  EXPECT_EQ(series.run_count() + series.missed_count(), 1001u);
  EXPECT_EQ(b.wheel.totals().missed, 998u);
  b.pass(10ms);
  EXPECT_THAT(b.at, SizeIs(4));
}

TEST(wheel_missed, unless_the_policy_says_so) {
  series_bench b({.missed = takt::catch_up});
  auto all = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting());
  auto few = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.say("ran"),
                                            {.missed = takt::catch_up_within(0s)});
  b.pass(10ms);
  b.pass(10s);
  EXPECT_EQ(b.at.size(), 1001u);
  EXPECT_EQ(all.missed_count(), 0u);
  EXPECT_EQ(few.run_count(), 3u);
  EXPECT_EQ(few.missed_count(), 998u);
  EXPECT_EQ(b.wheel.totals().missed, 998u);
}

TEST(wheel_missed, within_the_tolerance_it_catches_up) {
  series_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.noting(),
                                               {.missed = takt::catch_up_within(50ms)});
  b.pass(60ms);
  EXPECT_THAT(b.at, ElementsAre(60, 60, 60, 60, 60, 60));
  EXPECT_EQ(series.missed_count(), 0u);
  b.pass(80ms);
  EXPECT_EQ(series.run_count(), 8u);  // the late run, and the run that is due now
  EXPECT_EQ(series.missed_count(), 6u);
}

TEST(wheel_missed, a_fixed_delay_misses_nothing) {
  series_bench b;
  auto series = b.wheel.schedule_with_fixed_delay(10ms, 10ms, b.here, b.noting());
  b.pass(10s);
  EXPECT_THAT(b.at, ElementsAre(10'000));
  EXPECT_EQ(series.missed_count(), 0u);
}

}  // namespace

// Series of a wheel_scheduler: begin, end, and executors that reject or drop runs.
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../../tests/support/pools.hpp"
#include "../../tests/support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using takt::at_close;
using takt::cancel_result;
using takt::clock;
using takt::manual_executor;
using takt::timer_stamp;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::series_bench;
using takt_test::wheel_bench;

TEST(wheel_series, that_begins_at_once_begins_its_grid_then_whoever_stamps) {
  for (const auto stamp : {timer_stamp::caller, timer_stamp::timer}) {
    series_bench b({.tick = 1ms, .stamp = stamp}, clock::time_point(1h));
    auto series = b.wheel.schedule_at_fixed_rate(0s, 10ms, b.here, b.noting());
    b.pass(10ms);
    b.pass(10ms);
    EXPECT_EQ(series.missed_count(), 0u);
    EXPECT_EQ(b.at, (std::vector<std::int64_t>{0, 10, 20}));
  }
}

TEST(wheel_series, that_runs_inline_is_asked_to_stop_by_close) {
  wheel_bench b;
  gate begun;
  auto series =
      b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, [&](const std::stop_token& stop) {
        begun.open();
        while (!stop.stop_requested()) std::this_thread::yield();
      });
  b.settle();
  b.time.advance(10ms);
  begun.wait();
  b.wheel.close(at_close::cancel);
  EXPECT_TRUE(series.is_cancelled());
  expect_balance(b.wheel);
}

TEST(wheel_series, that_was_cancelled_while_its_run_was_queued_is_counted_so_when_that_is_dropped) {
  wheel_bench b;
  std::optional<manual_executor> there;
  there.emplace();
  auto series = b.wheel.schedule_at_fixed_rate(0s, 10ms, *there, [] {});
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  there.reset();
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  EXPECT_EQ(b.wheel.totals().rejected, 0u);
  expect_balance(b.wheel);
}

TEST(wheel_series, that_runs_for_the_last_time_is_not_moved) {
  wheel_bench b;
  manual_executor there;
  auto series = b.wheel.schedule_at_fixed_rate(0s, 10ms, there, [] {});
  EXPECT_TRUE(series.reschedule(5ms));
  b.wheel.shutdown();
  EXPECT_FALSE(series.reschedule(5ms));
  there.poll();
  b.wheel.await_termination();
  EXPECT_TRUE(series.is_cancelled());
}

TEST(wheel_series, that_was_cancelled_while_it_runs_has_no_next_run) {
  wheel_bench b;
  manual_executor there;
  takt::periodic_future series;
  std::vector<bool> told;
  series = b.wheel.schedule_at_fixed_rate(0s, 10ms, there, [&] {
    told = {series.pause(), series.resume(), series.pause()};
    series.cancel();
    told.insert(told.end(), {series.resume(), series.pause(), series.reschedule(1ms)});
  });
  there.poll();
  EXPECT_EQ(told, (std::vector<bool>{true, true, true, false, false, false}));
  EXPECT_TRUE(series.is_cancelled());
  expect_balance(b.wheel);
}

TEST(wheel_series, that_waits_for_the_end_of_its_wheel_gets_an_error) {
  wheel_bench b;
  manual_executor there;
  std::vector<std::error_code> told;
  const auto wait = [&] {
    try {
      b.wheel.await_termination(0s);
      told.emplace_back();
    } catch (const std::system_error& e) {
      told.push_back(e.code());
    }
  };
  auto series = b.wheel.schedule_at_fixed_rate(0s, 10ms, there, wait);
  auto marked = b.wheel.schedule(1s, there, wait, {.run_at_close = true});
  there.poll();
  auto once = b.wheel.schedule(0s, there, wait);  // for the wheel, it has finished
  there.poll();
  b.wheel.close();
  const auto error = std::make_error_code(std::errc::resource_deadlock_would_occur);
  EXPECT_EQ(told, (std::vector<std::error_code>{error, {}, error}));
  EXPECT_TRUE(b.wheel.is_terminated());
  expect_balance(b.wheel);
}

TEST(wheel_series, may_close_its_wheel) {
  wheel_bench b;
  manual_executor there;
  auto series = b.wheel.schedule_at_fixed_rate(0s, 10ms, there, [&] { b.wheel.close(); });
  there.poll();
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_TRUE(b.wheel.is_terminated());
  expect_balance(b.wheel);
}

TEST(wheel_close, ends_it_also_if_another_call_has_run_out_of_time_meanwhile) {
  wheel_bench b;
  gate begun;
  gate go_on;
  b.wheel.execute(10ms, b.here, [&] {
    begun.open();
    go_on.wait();
  });
  b.settle();
  b.time.advance(10ms);
  begun.wait();
  std::thread hurried(
      [&] { EXPECT_THROW(b.wheel.close(10ms, at_close::cancel), std::system_error); });
  b.time.wait_for_waiters(1);
  std::thread patient([&] { b.wheel.close(1h, at_close::cancel); });
  b.time.wait_for_waiters(2);
  b.time.advance(10ms);
  hurried.join();
  go_on.open();
  patient.join();
  EXPECT_TRUE(b.wheel.is_terminated());
  expect_balance(b.wheel);
}

// Of two calls that end the pending tasks, the last one terminates the wheel.
TEST(wheel_close, does_not_end_it_while_another_call_runs_a_task) {
  struct slow_to_go {
    gate& reached;
    gate& go_on;
    void operator()() const {}
    void cancelled() const noexcept {
      reached.open();
      go_on.wait();
    }
  };
  wheel_bench b;
  gate begun;
  gate thread_goes_on;
  gate stopping;
  gate stop_goes_on;
  gate stopped;
  bool ran = false;
  b.wheel.execute(10ms, b.here, [&] {
    begun.open();
    thread_goes_on.wait();
  });
  b.wheel.execute(1h, b.here, slow_to_go{stopping, stop_goes_on});
  b.wheel.execute(2h, b.here,
                  [&] {
                    stop_goes_on.open();
                    stopped.wait();
                    EXPECT_FALSE(b.wheel.is_terminated());
                    ran = true;
                  },
                  {.run_at_close = true});
  b.settle();
  b.time.advance(10ms);
  begun.wait();
  std::thread closing([&] { b.wheel.close(1h, at_close::run_marked); });
  b.time.wait_for_waiters(1);
  std::thread other([&] {
    b.wheel.shutdown_and_cancel();
    stopped.open();
  });
  stopping.wait();
  thread_goes_on.open();
  closing.join();
  other.join();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(b.wheel.is_terminated());
  expect_balance(b.wheel);
}

TEST(wheel_close, ends_it_also_if_two_calls_have_run_out_of_time) {
  wheel_bench b;
  gate begun;
  gate go_on;
  b.wheel.execute(10ms, b.here, [&] {
    begun.open();
    go_on.wait();
  });
  b.settle();
  b.time.advance(10ms);
  begun.wait();
  const auto runs_out = [&] {
    EXPECT_THROW(b.wheel.close(10ms, at_close::cancel), std::system_error);
  };
  std::thread one(runs_out);
  std::thread other(runs_out);
  b.time.wait_for_waiters(2);
  b.time.advance(10ms);
  one.join();
  other.join();
  EXPECT_FALSE(b.wheel.is_terminated());
  go_on.open();
  b.wheel.close(at_close::cancel);
  b.wheel.await_termination();
  expect_balance(b.wheel);
}

}  // namespace

// wheel_view: a wheel_scheduler and an executor as a scheduler, for functions and coroutines.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/sched/retry.hpp>
#include <takt/sched/timeout.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/nesting.hpp"
#include "../../tests/support/pools.hpp"
#include "../../tests/support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using takt::wheel_scheduler;
using takt_test::detached;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::log;
using takt_test::owned;
using takt_test::wheel_bench;
using testing::IsEmpty;

TEST(wheel_view, limits_futures) {
  takt::thread_pool pool({.core_threads = 1});
  wheel_bench b;
  auto view = b.wheel.on(pool);
  takt::promise<int> slow;
  takt::promise<int> quick;
  auto late = takt::with_timeout(10ms, view, slow.get_future());
  auto in_time = takt::with_timeout(10ms, view, quick.get_future());
  quick.set_value(7);
  EXPECT_EQ(in_time.get(), 7);
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);  // at once
  b.pass(10ms);
  EXPECT_THROW(late.get(), takt::timeout_error);
  EXPECT_TRUE(slow.is_cancelled());
  expect_balance(b.wheel);
}

TEST(wheel_view, retries) {
  wheel_bench b;
  auto view = b.wheel.on(b.here);
  int attempts = 0;
  auto f = takt::retry(view,
                       [&] {
                         if (++attempts < 3) throw std::runtime_error("not yet");
                         return attempts;
                       },
                       {.initial = 10ms, .factor = 2});
  EXPECT_EQ(attempts, 1);
  b.pass(10ms);
  EXPECT_EQ(attempts, 2);
  b.pass(10ms);
  EXPECT_EQ(attempts, 2);
  b.pass(10ms);
  EXPECT_EQ(f.get(), 3);
  expect_balance(b.wheel);
}

TEST(wheel_view, all_of_a_scheduler_is_there) {
  wheel_bench b;
  auto view = b.wheel.on(b.here);
  takt::scheduler& timers = view;
  EXPECT_EQ(timers.now(), b.time.now());
  const auto handle = timers.execute(10ms, b.say("executed"));
  auto f = timers.schedule(10ms, [] { return 42; });
  auto rate = timers.schedule_at_fixed_rate(10ms, 10ms, b.say("rate"));
  auto delay = timers.schedule_with_fixed_delay(10ms, 10ms, b.say("delay"));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"executed", "rate", "delay"}));
  EXPECT_EQ(f.get(), 42);
}

detached wait_for(wheel_scheduler& wheel, takt::any_executor where, std::string& outcome,
                  gate& ended, takt::sync::stop_token stop = {}) {
  try {
    co_await wheel.on(where).after(10ms, stop);
    outcome = "arrived";
  } catch (const takt::cancelled&) {
    outcome = "cancelled";
  } catch (const takt::rejected&) {
    outcome = "rejected";
  }
  ended.open();
}

TEST(wheel_view, coroutines_wait_and_go_on_where_they_say) {
  takt::thread_pool pool({.core_threads = 1});
  wheel_bench b;
  std::string outcome;
  gate ended;
  wait_for(b.wheel, pool, outcome, ended);
  b.pass(10ms - 1ns);
  EXPECT_FALSE(ended.is_open());
  b.pass(1ns);
  ended.wait();
  EXPECT_EQ(outcome, "arrived");
  std::thread::id went_on;
  gate again;
  [](wheel_bench& bench, takt::thread_pool& where, std::thread::id& id, gate& done) -> detached {
    co_await bench.wheel.on(where).at(bench.time.now() + 20ms);
    id = std::this_thread::get_id();
    done.open();
  }(b, pool, went_on, again);
  b.pass(20ms);
  again.wait();
  EXPECT_EQ(went_on, pool.submit([] { return std::this_thread::get_id(); }).get());
}

TEST(wheel_view, coroutines_hear_a_stop_request) {
  wheel_bench b;
  std::string outcome;
  gate ended;
  takt::sync::stop_source source;
  wait_for(b.wheel, b.here, outcome, ended, source.get_token());
  EXPECT_EQ(outcome, "");
  source.request_stop();
  EXPECT_EQ(outcome, "cancelled");
  gate at_once;
  wait_for(b.wheel, b.here, outcome, at_once, source.get_token());
  EXPECT_TRUE(at_once.is_open());
  EXPECT_EQ(outcome, "cancelled");
  expect_balance(b.wheel);
}

TEST(wheel_view, coroutines_are_cancelled_with_it_and_not_given_back) {
  using takt::at_close;
  for (const auto what :
       {at_close::run_marked, at_close::run_all, at_close::give_back, at_close::cancel}) {
    wheel_bench b;
    std::string outcome;
    gate ended;
    wait_for(b.wheel, b.here, outcome, ended);
    EXPECT_THAT(b.wheel.close(what), IsEmpty());
    EXPECT_EQ(outcome, "cancelled");
    gate later;
    wait_for(b.wheel, b.here, outcome, later);
    EXPECT_EQ(outcome, "rejected");
    expect_balance(b.wheel);
  }
}

TEST(wheel_view, a_coroutine_leaves_with_its_frame) {
  wheel_bench b;
  {
    const owned waiting = [](wheel_bench& bench) -> owned {
      co_await bench.wheel.on(bench.here).after(10ms);
    }(b);
    EXPECT_EQ(b.wheel.totals().pending(), 1u);
  }
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  b.pass(10ms);
  expect_balance(b.wheel);
}

// Runs tasks within execute(), and knows while one runs.
struct guarded_executor {
  void execute(takt::task t) {
    inside = true;
    t.run();
    inside = false;
  }
  bool inside = false;
};

TEST(wheel_view, a_timer_that_is_due_at_once_resumes_within_its_executor) {
  wheel_bench b;
  guarded_executor on;
  int resumed = 0;
  const auto hop = [](wheel_scheduler& timers, guarded_executor& to, int& count) -> detached {
    co_await timers.on(to).after(0s);
    EXPECT_TRUE(to.inside);
    ++count;
  };
  hop(b.wheel, on, resumed);
  takt_test::fully_nested([&] { hop(b.wheel, on, resumed); });
  EXPECT_EQ(resumed, 2);
}

}  // namespace

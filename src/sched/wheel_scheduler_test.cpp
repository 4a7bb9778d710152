#include <takt/sched/wheel_scheduler.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/pools.hpp"
#include "../../tests/support/wheels.hpp"
#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::clock;
using takt::inline_executor;
using takt::manual_clock;
using takt::manual_executor;
using takt::wheel_scheduler;
using takt_test::counting_clock;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::log;
using takt_test::wheel_bench;
using testing::HasSubstr;
using testing::IsEmpty;

// --- bad input

TEST(wheel_scheduler, says_what_is_wrong_with_its_options) {
  const auto complaint = [](const wheel_scheduler::options_type& how) {
    return takt_test::complaint<std::invalid_argument>([&] { const wheel_scheduler wheel(how); });
  };
  EXPECT_THAT(complaint({.exact = true, .spin = -1ns}), HasSubstr("-1"));
  EXPECT_THAT(complaint({.spin = 100us}), HasSubstr("100000"));
  EXPECT_THAT(complaint({.time = nullptr}), HasSubstr("time"));
  EXPECT_THAT(complaint({.unhandled = nullptr}), HasSubstr("unhandled"));
}

TEST(wheel_scheduler, refuses_what_is_no_task) {
  wheel_bench b;
  EXPECT_THROW(b.wheel.execute(1s, b.here, takt::task()), std::invalid_argument);
  EXPECT_THROW(b.wheel.execute(1s, b.here, std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(b.wheel.schedule(1s, b.here, std::function<int()>())),
               std::invalid_argument);
  EXPECT_THROW(
      static_cast<void>(b.wheel.schedule_at_fixed_rate(1s, 1s, b.here, std::function<void()>())),
      std::invalid_argument);
  EXPECT_THROW(b.wheel.execute(1s, b.here, [] {}, {.slack = -1ns}), std::invalid_argument);
  EXPECT_THROW(
      static_cast<void>(b.wheel.schedule_with_fixed_delay(1s, 1s, b.here, [] {}, {.slack = -1ns})),
      std::invalid_argument);
  EXPECT_EQ(b.wheel.totals().submitted, 0u);
}

TEST(wheel_scheduler, tells_its_time) {
  const wheel_bench b({}, clock::time_point(7h));
  EXPECT_EQ(b.wheel.now(), clock::time_point(7h));
}

// --- the thread

TEST(wheel_scheduler, has_one_thread_as_its_options_say) {
  manual_clock time;
  std::vector<std::thread::id> ids;
  {
    wheel_scheduler wheel(
        {.thread = {.nice = 1,
                    .on_start = [&] { ids.push_back(std::this_thread::get_id()); },
                    .on_exit = [&] { ids.push_back(std::this_thread::get_id()); },
                    .may_start = [] { return false; }},  // which is not called
         .time = &time});
    wheel.execute(1ms, inline_executor(), [&] { ids.push_back(std::this_thread::get_id()); });
    time.wait_for_waiters(1);
    time.advance(10ms);
    time.wait_for_waiters(1);
  }
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids, std::vector(3, ids[0]));
  EXPECT_NE(ids[0], std::this_thread::get_id());
}

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)
TEST(wheel_scheduler, names_its_thread) {
  manual_clock time;
  std::string name;
  {
    wheel_scheduler wheel({.name = "my-wheel", .time = &time});
    wheel.execute(1ms, inline_executor(), [&] {
      char text[16] = "";
      pthread_getname_np(pthread_self(), text, sizeof(text));
      name = text;
    });
    time.wait_for_waiters(1);
    time.advance(10ms);
    time.wait_for_waiters(1);
  }
  EXPECT_EQ(name, "my-wheel-0");
}
#endif

// Destroys a wheel in its own task: a series if period is not 0, on a pool or inline.
void destroy_by_own_task(std::chrono::milliseconds delay, std::chrono::milliseconds period,
                         bool inline_run) {
  manual_clock time;
  gate exited;
  takt::thread_pool pool({.core_threads = 1});
  const takt::any_executor where =
      inline_run ? takt::any_executor(inline_executor()) : takt::any_executor(pool);
  auto wheel = std::make_unique<wheel_scheduler>(
      wheel_scheduler::options_type{.thread = {.on_exit = [&] { exited.open(); }}, .time = &time});
  gate made;
  const auto destroy = [&] {
    if (!inline_run || delay > 0ms) made.wait();
    wheel.reset();
  };
  takt::periodic_future series;
  if (period > 0ms) {
    series = wheel->schedule_at_fixed_rate(delay, period, where, destroy);
  } else {
    wheel->execute(delay, where, destroy);
  }
  made.open();
  if (delay > 0ms) time.advance(delay);
  exited.wait();
}

TEST(wheel_scheduler, must_not_be_destroyed_by_a_task_that_it_runs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const message = "takt::wheel_scheduler: destroyed by one of its own tasks";
  EXPECT_DEATH(destroy_by_own_task(10ms, 0ms, true), message);
  EXPECT_DEATH(destroy_by_own_task(0ms, 0ms, true), message);
  EXPECT_DEATH(destroy_by_own_task(0ms, 10ms, true), message);
  EXPECT_DEATH(destroy_by_own_task(10ms, 10ms, false), message);
  EXPECT_DEATH(destroy_by_own_task(0ms, 10ms, false), message);
}

TEST(wheel_scheduler, must_not_be_destroyed_by_its_own_end) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto by_closure = [] {
    auto wheel = std::make_unique<wheel_scheduler>();
    wheel_scheduler& alive = *wheel;
    alarm(30);  // ends the process if the destructor waits for its caller
    alive.execute(1h, inline_executor(), [own = std::move(wheel)] {});
    alive.shutdown_and_cancel();
  };
  EXPECT_DEATH(by_closure(), "takt::wheel_scheduler: destroyed by one of its own tasks");
}

TEST(wheel_scheduler, may_be_destroyed_by_a_task_that_runs_once_elsewhere) {
  destroy_by_own_task(10ms, 0ms, false);
  destroy_by_own_task(0ms, 0ms, false);
}

// Returns from execute() after the task has ended on another thread.
struct other_thread {
  void execute(takt::task t) const {
    std::thread([&t] { t.run(); }).join();
  }
};

TEST(wheel_scheduler, may_be_destroyed_by_a_task_while_its_caller_is_in_execute) {
  const other_thread other;
  auto wheel = std::make_unique<wheel_scheduler>();
  wheel->execute(0s, other, [&] { wheel.reset(); });
  EXPECT_EQ(wheel, nullptr);

  wheel = std::make_unique<wheel_scheduler>();
  wheel->schedule(0s, other, [&] { wheel.reset(); }).get();
  EXPECT_EQ(wheel, nullptr);

  wheel = std::make_unique<wheel_scheduler>();
  [](std::unique_ptr<wheel_scheduler>& owner, const other_thread& on) -> takt_test::detached {
    co_await owner->on(on).after(0s);
    owner.reset();
  }(wheel, other);
  EXPECT_EQ(wheel, nullptr);
}

// --- handles

TEST(wheel_scheduler, is_outlived_by_handles) {
  manual_clock time;
  takt::timer_handle ran;
  takt::timer_handle pending;
  takt::timer_handle copy;
  takt::periodic_future series;
  {
    wheel_scheduler wheel({.time = &time});
    ran = wheel.execute(10ms, inline_executor(), [] {});
    pending = wheel.execute(1h, inline_executor(), [] {});
    copy = pending;
    series = wheel.schedule_at_fixed_rate(10ms, 10ms, inline_executor(), [] {});
    time.wait_for_waiters(1);
    time.advance(10ms);
    time.wait_for_waiters(1);
  }
  for (const takt::timer_handle& each : {ran, pending, copy}) {
    EXPECT_EQ(each.cancel(), cancel_result::done);
    EXPECT_FALSE(each.reschedule(1ms));
    EXPECT_FALSE(each.pause());
    EXPECT_FALSE(each.resume());
    EXPECT_EQ(each.next_time(), clock::time_point::max());
    EXPECT_EQ(each.time_left(), takt::never);
  }
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_EQ(series.run_count(), 1u);
  EXPECT_EQ(series.missed_count(), 0u);
  series.set_period(1s);
}

TEST(wheel_scheduler, handles_of_ended_tasks_do_not_name_others) {
  wheel_bench b;
  const auto first = b.wheel.execute(10ms, b.here, [] {});
  const auto cancelled = b.wheel.execute(10ms, b.here, [] {});
  cancelled.cancel();
  b.pass(10ms);
  for (int i = 0; i < 100; ++i) b.wheel.execute(10ms, b.here, b.say("ran"));
  EXPECT_EQ(first.cancel(), cancel_result::done);
  EXPECT_FALSE(first.reschedule(1h));
  EXPECT_EQ(cancelled.cancel(), cancel_result::done);
  EXPECT_FALSE(cancelled.pause());
  b.pass(10ms);
  EXPECT_EQ(b.said.size(), 100u);
}

TEST(wheel_scheduler, a_series_ends_without_its_lock) {
  wheel_bench b;
  takt::periodic_future series;
  auto at_end = std::shared_ptr<int>(new int(0), [&](const int* p) {
    delete p;
    series.pause();
    series.reschedule(1h);
    b.said.emplace_back(std::to_string(series.run_count()));
  });
  series = b.wheel.schedule_at_fixed_rate(
      10ms, 10ms, b.here, [held = std::move(at_end)] { throw std::runtime_error("the end"); });
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"1"}));
  EXPECT_THROW(series.get(), std::runtime_error);
}

// --- slack

TEST(wheel_scheduler, slack_lets_tasks_share_a_wake_up) {
  counting_clock time;
  wheel_scheduler wheel({.exact = true, .time = &time});
  std::vector<std::chrono::nanoseconds> at;
  const auto start = time.time.now();
  const auto note = [&] { at.push_back(time.time.now() - start); };
  time.time.wait_for_waiters(1);
  for (int i = 0; i < 10; ++i) {
    wheel.execute(1100us + i * 40us, inline_executor(), note, {.slack = 1ms});
  }
  time.time.wait_for_waiters(1);
  const std::size_t before = time.parks();
  while (at.size() < 10) {
    ASSERT_TRUE(time.time.advance_to_next());
    time.time.wait_for_waiters(1);
  }
  EXPECT_EQ(time.parks(), before + 1);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto due = 1100us + i * 40us;
    EXPECT_GE(at[i], due);
    EXPECT_LE(at[i], due + 1ms);
  }
}

TEST(wheel_scheduler, slack_does_not_reach_beyond_the_end_of_time) {
  const auto due = clock::time_point::max() - 1s;
  wheel_bench b({.exact = true}, due - 1h);
  auto last = b.wheel.schedule(due, b.here, [] {}, {.slack = 1h});
  b.settle();
  ASSERT_TRUE(b.time.advance_to_next());
  last.get();
  EXPECT_EQ(b.time.now(), due);
}

// --- executors

TEST(wheel_scheduler, a_series_whose_run_is_dropped_ends) {
  auto executor = std::make_unique<manual_executor>();
  wheel_bench b;
  auto owner = std::make_shared<int>();
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, *executor, [owner] {});
  b.pass(10ms);
  EXPECT_EQ(executor->queued(), 1u);
  executor.reset();
  EXPECT_TRUE(series.is_ready());
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(series.cancel(), cancel_result::done);
  b.pass(1s);
  EXPECT_EQ(series.run_count(), 1u);
  expect_balance(b.wheel);
}

TEST(wheel_scheduler, a_run_that_an_executor_gives_back_can_be_run_later) {
  manual_executor executor;
  wheel_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, executor, b.say("ran"));
  b.pass(10ms);
  takt::task_list runs = executor.shutdown_now();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(series.is_ready());
  runs[0].run();
  EXPECT_EQ(b.said, (log{"ran"}));
  EXPECT_EQ(series.next_time(), b.start + 20ms);
  b.pass(10ms);
  EXPECT_THROW(series.get(), takt::rejected);
}

TEST(wheel_scheduler, a_run_may_outlive_it) {
  for (const bool runs : {true, false}) {
    manual_clock time;
    manual_executor executor;
    takt::periodic_future series;
    std::size_t ran = 0;
    auto owner = std::make_shared<int>();
    {
      wheel_scheduler wheel({.time = &time});
      series = wheel.schedule_at_fixed_rate(0ms, 10ms, executor, [&ran, owner] { ++ran; });
    }
    EXPECT_EQ(executor.queued(), 1u);
    if (runs) {
      executor.poll();
      EXPECT_EQ(ran, 1u);
      EXPECT_TRUE(series.is_cancelled());
    } else {
      static_cast<void>(executor.shutdown_now());
      EXPECT_TRUE(series.is_ready());
    }
    EXPECT_EQ(owner.use_count(), 1);
  }
}

// --- memory

TEST(wheel_scheduler, allocates_nothing_to_execute_a_small_callable) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  wheel_bench b;
  struct small {
    void* words[4];
    void operator()() const {}
  };
  b.wheel.execute(1s, b.here, small{}).cancel();
  const auto before = takt::allocations();
  for (int i = 0; i < 1000; ++i) b.wheel.execute(1s, b.here, small{}).cancel();
  EXPECT_EQ(takt::allocations() - before, 0u);
  b.wheel.schedule(1s, b.here, small{}).cancel();
  EXPECT_EQ(takt::allocations() - before, 1u);
}

TEST(wheel_scheduler, without_memory_nothing_is_taken) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  wheel_bench b;
  const takt::any_executor here(b.here);
  {
    const takt::no_memory none;
    EXPECT_THROW(b.wheel.execute(1s, here, [] {}), std::bad_alloc);
  }
  EXPECT_EQ(b.wheel.totals().submitted, 0u);
  const auto handle = b.wheel.execute(10ms, here, b.say("ran"));
  {
    const takt::no_memory none;
    EXPECT_TRUE(handle.reschedule(20ms));
    EXPECT_TRUE(handle.pause());
    EXPECT_TRUE(handle.resume());
  }
  b.pass(20ms);
  EXPECT_EQ(b.said, (log{"ran"}));
  for (int i = 0; i < 3; ++i) b.wheel.execute(10ms, here, [] {});
  takt::task_list rest;
  {
    const takt::no_memory none;
    rest = b.wheel.shutdown_now();
  }
  EXPECT_THAT(rest, IsEmpty());  // no memory for the list: the tasks are cancelled
  EXPECT_EQ(b.wheel.totals().cancelled, 3u);
  expect_balance(b.wheel);
}

// --- tasks that are due together

// Takes up to two tasks at once, and logs how many it was offered.
class takes_two {
 public:
  takes_two(log& said, std::string name) : said_(said), name_(std::move(name)) {}
  void execute(takt::task t) {
    if (refuses) throw takt::rejected(takt::rejection::saturated);
    said_.push_back(name_ + "1");
    t.run();
  }
  std::size_t try_execute(std::span<takt::task> tasks) noexcept {
    if (refuses) return 0;
    if (opens_late && !std::exchange(open_, true)) return 0;
    const std::size_t count = std::min<std::size_t>(2, tasks.size());
    said_.push_back(name_ + std::to_string(count) + " of " + std::to_string(tasks.size()));
    for (takt::task& t : tasks.first(count)) t.run();
    return count;
  }
  bool refuses = false;
  bool opens_late = false;

 private:
  log& said_;
  std::string name_;
  bool open_ = false;
};

TEST(wheel_scheduler, gives_what_is_due_for_one_executor_to_it_in_one_step) {
  wheel_bench b;
  takes_two a(b.said, "a");
  takes_two other(b.said, "b");
  for (const char* const what : {"1", "2"}) b.wheel.execute(10ms, a, b.say(what));
  b.wheel.execute(10ms, other, b.say("3"));
  b.wheel.execute(10ms, b.here, b.say("4"));
  b.wheel.execute(10ms, other, b.say("5"));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"a2 of 2", "1", "2", "b1 of 1", "3", "4", "b1 of 1", "5"}));
  EXPECT_EQ(b.wheel.totals().finished, 5u);
}

TEST(wheel_scheduler, gives_one_by_one_what_an_executor_does_not_take_at_once) {
  wheel_bench b;
  takes_two a(b.said, "a");
  a.opens_late = true;
  for (const char* const what : {"1", "2", "3", "4", "5"}) b.wheel.execute(10ms, a, b.say(what));
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"a1", "1", "a2 of 4", "2", "3", "a1", "4", "a1 of 1", "5"}));
  EXPECT_EQ(b.wheel.totals().finished, 5u);
  EXPECT_EQ(b.wheel.totals().pending(), 0u);
}

TEST(wheel_scheduler, counts_what_is_refused_of_what_is_given_at_once) {
  wheel_bench b;
  takes_two a(b.said, "a");
  a.refuses = true;
  b.wheel.execute(10ms, a, b.say("1"));
  auto second = b.wheel.schedule(10ms, a, b.say("2"));
  b.pass(10ms);
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_TRUE(second.is_ready());
  EXPECT_EQ(b.unhandled.take_unobserved().size(), 1u);
  EXPECT_EQ(b.wheel.totals().rejected, 2u);
  EXPECT_EQ(b.wheel.totals().finished, 0u);
  EXPECT_EQ(b.wheel.totals().pending(), 0u);
}

TEST(wheel_scheduler, hands_over_more_than_go_in_one_step_in_order) {
  wheel_bench b;
  takes_two a(b.said, "a");
  std::vector<int> ran;
  for (int i = 0; i < 200; ++i) b.wheel.execute(10ms, a, [&ran, i] { ran.push_back(i); });
  b.pass(10ms);
  EXPECT_EQ(ran.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(ran));
}

TEST(wheel_scheduler, what_is_given_one_by_one_can_cancel_what_is_due_with_it) {
  wheel_bench b;
  takes_two a(b.said, "a");
  a.opens_late = true;
  takt::timer_handle second;
  cancel_result result = cancel_result::done;
  b.wheel.execute(10ms, a, [&] { result = second.cancel(); });
  second = b.wheel.execute(10ms, b.here, b.say("second"));
  b.pass(10ms);
  EXPECT_EQ(result, cancel_result::prevented);
  EXPECT_EQ(b.said, (log{"a1"}));
}

TEST(wheel_scheduler, what_runs_inline_can_cancel_what_is_due_with_it) {
  wheel_bench b;
  takt::timer_handle second;
  cancel_result result = cancel_result::done;
  b.wheel.execute(10ms, b.here, [&] { result = second.cancel(); });
  second = b.wheel.execute(10ms, b.here, b.say("second"));
  b.pass(10ms);
  EXPECT_EQ(result, cancel_result::prevented);
  EXPECT_THAT(b.said, IsEmpty());
}

TEST(wheel_scheduler, keeps_a_hundred_thousand) {
  wheel_bench b({.tick = 1ms, .ticks_per_wheel = 64});
  std::vector<takt::timer_handle> handles;
  std::size_t ran = 0;
  for (std::size_t i = 0; i < 100'000; ++i) {
    auto handle = b.wheel.execute(1ms + (i % 500) * 1ms, b.here, [&ran] { ++ran; });
    if (i % 4 != 0) handles.push_back(std::move(handle));
  }
  for (const auto& each : handles) EXPECT_EQ(each.cancel(), cancel_result::prevented);
  b.pass(250ms);
  b.pass(250ms);
  EXPECT_EQ(ran, 25'000u);
  EXPECT_EQ(b.wheel.totals().cancelled, 75'000u);
  expect_balance(b.wheel);
}

}  // namespace

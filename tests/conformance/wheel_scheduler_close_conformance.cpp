// wheel_scheduler: close().
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
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
using takt::at_close;
using takt::cancel_result;
using takt::inline_executor;
using takt::manual_executor;
using takt::wheel_scheduler;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::log;
using takt_test::rejection_of;
using takt_test::tally;
using takt_test::wheel_bench;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- policies

TEST(wheel_close, runs_what_is_marked_and_cancels_the_rest) {
  manual_executor executor;
  wheel_bench b;
  std::vector<std::thread::id> ran_on;
  auto marked =
      b.wheel.schedule(20ms, executor, [&] { ran_on.push_back(std::this_thread::get_id()); },
                       {.run_at_close = true});
  auto unmarked = b.wheel.schedule(10ms, executor, b.say("unmarked"));
  b.wheel.execute(10ms, executor, b.say("first"), {.run_at_close = true});
  b.wheel.execute(10ms, executor, b.say("not"));
  auto series =
      b.wheel.schedule_at_fixed_rate(30ms, 10ms, executor, b.say("series"), {.run_at_close = true});
  auto other = b.wheel.schedule_at_fixed_rate(30ms, 10ms, executor, b.say("other"));
  EXPECT_THAT(b.wheel.close(), IsEmpty());
  EXPECT_EQ(b.said, (log{"first", "series"}));
  EXPECT_THAT(ran_on, ElementsAre(std::this_thread::get_id()));
  EXPECT_EQ(executor.queued(), 0u);
  marked.get();
  series.get();
  EXPECT_TRUE(unmarked.is_cancelled());
  EXPECT_TRUE(other.is_cancelled());
  EXPECT_TRUE(b.wheel.is_terminated());
  EXPECT_EQ(b.wheel.totals().finished, 3u);
  EXPECT_EQ(b.wheel.totals().cancelled, 3u);
  expect_balance(b.wheel);
}

TEST(wheel_close, runs_all_in_order_and_series_once) {
  manual_executor executor;
  wheel_bench b({.ticks_per_wheel = 4});
  b.wheel.execute(1h, executor, b.say("1 h"));
  b.wheel.execute(15ms, executor, b.say("15 ms"));
  b.wheel.execute(11ms, executor, b.say("11 ms"));  // in the same tick
  b.settle();
  auto series = b.wheel.schedule_with_fixed_delay(25ms, 10ms, executor, b.say("series"));
  auto f = b.wheel.schedule(1s, executor, [] { return 42; });
  b.wheel.execute(5ms, executor, b.say("5 ms"));
  EXPECT_THAT(b.wheel.close(at_close::run_all), IsEmpty());
  EXPECT_EQ(b.said, (log{"5 ms", "15 ms", "11 ms", "series", "1 h"}));
  EXPECT_EQ(f.get(), 42);
  series.get();
  EXPECT_EQ(executor.queued(), 0u);
  EXPECT_EQ(b.wheel.totals().finished, 6u);
  expect_balance(b.wheel);
}

TEST(wheel_close, runs_what_was_moved_by_its_new_time) {
  for (const bool exact : {false, true}) {
    wheel_bench b({.ticks_per_wheel = 4, .exact = exact});
    b.wheel.execute(10ms, b.here, b.say("in time"));
    const auto later = b.wheel.execute(20ms, b.here, b.say("10 s"));
    const auto far = b.wheel.execute(30ms, b.here, b.say("1 h"));
    const auto earlier = b.wheel.execute(2h, b.here, b.say("20 ms"));
    b.wheel.execute(5s, b.here, b.say("5 s"));
    b.wheel.execute(40ms, b.here, b.say("40 ms"));
    b.pass(10ms);  // sorts the inbox
    later.reschedule(10s);
    far.reschedule(1h);
    earlier.reschedule(10ms);
    b.wheel.close(at_close::run_all);
    EXPECT_EQ(b.said, (log{"in time", "20 ms", "40 ms", "5 s", "10 s", "1 h"}));
    expect_balance(b.wheel);
  }
}

TEST(wheel_close, runs_what_was_moved_when_it_was_due_by_its_new_time) {
  wheel_bench b;
  gate begun;
  gate go_on;
  b.wheel.execute(10ms, b.here, [&] {
    begun.open();
    go_on.wait();
  });
  const auto moved = b.wheel.execute(10ms, b.here, b.say("10 s"));
  b.wheel.execute(20s, b.here, b.say("20 s"));
  b.settle();
  b.time.advance(10ms);
  begun.wait();
  moved.reschedule(10s);
  EXPECT_THROW(b.wheel.close(0ms, at_close::run_all), std::system_error);
  go_on.open();
  b.wheel.close(at_close::run_all);
  EXPECT_EQ(b.said, (log{"10 s", "20 s"}));
  expect_balance(b.wheel);
}

// Tasks that reuse the slot of a due task have a delay there, and no time yet.
TEST(wheel_close, takes_no_delay_that_has_not_begun_for_a_time) {
  wheel_bench b({.stamp = takt::timer_stamp::timer}, takt::clock::time_point(1000h));
  gate begun;
  gate go_on;
  b.wheel.execute(b.time.now() + 10ms, b.here, [&] {
    begun.open();
    go_on.wait();
  });
  b.settle();
  b.time.advance(10ms);
  begun.wait();
  std::vector<int> ran;
  std::vector<int> in_order;
  for (int i = 0; i < 100; ++i) {
    b.wheel.execute(std::chrono::seconds(100 - i), b.here, [&ran, i] { ran.push_back(i); });
    in_order.insert(in_order.begin(), i);
  }
  EXPECT_THROW(b.wheel.close(0ms, at_close::run_all), std::system_error);
  go_on.open();
  b.wheel.close(at_close::run_all);
  EXPECT_EQ(ran, in_order);
  expect_balance(b.wheel);
}

TEST(wheel_close, reports_errors_of_what_it_runs_and_goes_on) {
  wheel_bench b;
  b.wheel.execute(10ms, b.here, [] { throw std::runtime_error("one"); });
  auto f = b.wheel.schedule(20ms, b.here, [] { throw std::runtime_error("its own"); });
  b.wheel.execute(30ms, b.here, [] { throw std::runtime_error("two"); });
  auto series =
      b.wheel.schedule_at_fixed_rate(40ms, 1s, b.here, [] { throw std::runtime_error("its own"); });
  b.wheel.execute(50ms, b.here, b.say("last"));
  b.wheel.close(at_close::run_all);
  EXPECT_THAT(b.unhandled.uncaught(), ElementsAre("one", "two"));
  EXPECT_THROW(f.get(), std::runtime_error);
  EXPECT_THROW(series.get(), std::runtime_error);
  EXPECT_EQ(b.said, (log{"last"}));
  EXPECT_EQ(b.wheel.totals().failed, 4u);
  expect_balance(b.wheel);
}

TEST(wheel_close, what_ends_itself_while_it_is_run_counts_as_cancelled) {
  takt::task_statistics figures;
  takt::manual_clock time;
  wheel_scheduler wheel({.time = &time, .observer = &figures});
  wheel.execute(10ms, inline_executor(), [] { throw takt::cancelled(); });
  auto f = wheel.schedule(10ms, inline_executor(), [] { throw takt::cancelled(); });
  wheel.close(at_close::run_all);
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_EQ(wheel.totals().cancelled, 2u);
  EXPECT_EQ(figures.totals().cancelled, 2u);
  expect_balance(wheel);
}

TEST(wheel_close, gives_back_in_order) {
  wheel_bench b({.ticks_per_wheel = 4});
  b.wheel.execute(1h, b.here, b.say("1 h"), {.name = "d"});
  auto f = b.wheel.schedule(15ms, b.here, [] { return 42; }, {.name = "b"});
  b.settle();
  b.wheel.execute(11ms, b.here, b.say("11 ms"), {.name = "c", .run_at_close = true});
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.say("series"), {.name = "a"});
  takt::task_list rest = b.wheel.close(at_close::give_back);
  ASSERT_EQ(rest.size(), 4u);
  std::string names;
  for (const takt::task& t : rest) names += t.name();
  EXPECT_EQ(names, "abcd");
  EXPECT_EQ(rest[1].deadline(), b.start + 15ms);
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_FALSE(f.is_ready());
  for (takt::task& t : rest) t.run();
  EXPECT_EQ(f.get(), 42);
  series.get();
  EXPECT_EQ(b.said, (log{"series", "11 ms", "1 h"}));
  EXPECT_EQ(b.wheel.totals().returned, 4u);
  expect_balance(b.wheel);
}

TEST(wheel_close, cancels) {
  wheel_bench b;
  auto f = b.wheel.schedule(10ms, b.here, b.say("a"), {.run_at_close = true});
  b.wheel.execute(10ms, b.here, b.say("b"), {.run_at_close = true});
  EXPECT_THAT(b.wheel.close(at_close::cancel), IsEmpty());
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_EQ(b.wheel.totals().cancelled, 2u);
  expect_balance(b.wheel);
}

TEST(wheel_close, by_the_destructor_cancels) {
  takt::manual_clock time;
  auto owner = std::make_shared<int>();
  takt::scheduled_future<void> f;
  takt::periodic_future series;
  {
    wheel_scheduler wheel({.time = &time});
    f = wheel.schedule(1h, inline_executor(), [owner] {}, {.run_at_close = true});
    series = wheel.schedule_at_fixed_rate(1h, 1h, inline_executor(), [owner] {});
    wheel.execute(1h, inline_executor(), [owner] {}).pause();
  }
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_TRUE(series.is_cancelled());
}

TEST(wheel_close, again_finds_nothing) {
  for (const auto what :
       {at_close::run_marked, at_close::run_all, at_close::give_back, at_close::cancel}) {
    wheel_bench b;
    for (int i = 1; i <= 3; ++i) {
      b.wheel.execute(i * 10ms, b.here, b.say("ran"), {.run_at_close = true});
    }
    takt::task_list rest = b.wheel.close(what);
    EXPECT_EQ(rest.size(), what == at_close::give_back ? 3u : 0u);
    const std::size_t ran = b.said.size();
    EXPECT_EQ(ran, what == at_close::run_marked || what == at_close::run_all ? 3u : 0u);
    EXPECT_THAT(b.wheel.close(at_close::give_back), IsEmpty());
    EXPECT_THAT(b.wheel.close(at_close::run_all), IsEmpty());
    EXPECT_EQ(b.said.size(), ran);
    EXPECT_EQ(b.wheel.totals().submitted, 3u);
    expect_balance(b.wheel);
  }
}

TEST(wheel_close, sees_to_what_is_paused_and_keeps_what_was_left_of_it) {
  wheel_bench b;
  const auto handle = b.wheel.execute(30ms, b.here, b.say("ran"));
  b.pass(10ms);
  EXPECT_TRUE(handle.pause());
  b.pass(1h);
  takt::task_list rest = b.wheel.close(at_close::give_back);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].deadline(), b.time.now() + 20ms);
  EXPECT_EQ(handle.cancel(), cancel_result::done);
  EXPECT_FALSE(handle.resume());
}

TEST(wheel_close, asks_series_that_run_to_stop_and_lets_them_end) {
  takt::thread_pool pool({.core_threads = 1});
  wheel_bench b;
  tally begun;
  auto series =
      b.wheel.schedule_at_fixed_rate(10ms, 10ms, pool, [&](const takt::sync::stop_token& stop) {
        begun.add();
        takt_test::until_stopped(stop);
      });
  b.pass(10ms);
  begun.wait_for(1);
  EXPECT_THAT(b.wheel.close(at_close::give_back), IsEmpty());
  pool.close(takt::drain);
  EXPECT_EQ(begun.count(), 1u);
  EXPECT_TRUE(series.is_cancelled());
  expect_balance(b.wheel);
}

// --- waiting for the timer thread

// A wheel whose timer thread is in a task, with other tasks behind it.
struct stuck_bench : wheel_bench {
  stuck_bench() {
    wheel.execute(10ms, here, [this] {
      said.emplace_back("a");
      begun.open();
      go_on.wait();
    });
    wheel.execute(10ms, here, say("b"), {.name = "b"});
    wheel.execute(10ms, here, say("c"), {.name = "c"});
    wheel.execute(20ms, here, say("d"), {.name = "d"});
    settle();
    time.advance(10ms);
    begun.wait();
  }
  gate begun;
  gate go_on;
};

TEST(wheel_close, that_runs_out_of_time_says_so_and_loses_nothing) {
  stuck_bench b;
  std::thread other([&] {
    b.time.wait_for_waiters(1);  // it waits in close()
    b.time.advance(5s - 1ns);
    b.time.wait_for_waiters(1);
    b.time.advance(1ns);
  });
  std::error_code code;
  std::string text;
  try {
    b.wheel.close();
  } catch (const std::system_error& e) {
    code = e.code();
    text = e.what();
  }
  other.join();
  EXPECT_EQ(code, std::errc::timed_out);
  EXPECT_THAT(text, HasSubstr("5000000000"));
  EXPECT_THROW(b.wheel.close(0s, at_close::run_all), std::system_error);
  EXPECT_THROW(b.wheel.close(-1s, at_close::give_back), std::system_error);
  EXPECT_TRUE(rejection_of([&] { b.wheel.execute(1s, b.here, [] {}); }));
  EXPECT_EQ(b.wheel.totals().pending(), 3u);
  b.go_on.open();
  takt::task_list rest = b.wheel.close(takt::never, at_close::give_back);
  EXPECT_EQ(rest.size(), 3u);
  EXPECT_EQ(b.said, (log{"a"}));
  EXPECT_TRUE(b.wheel.is_terminated());
  expect_balance(b.wheel);
}

TEST(wheel_close, while_the_timer_thread_hands_over_keeps_the_order) {
  stuck_bench b;
  std::thread other([&] {
    b.time.wait_for_waiters(1);  // it waits in close()
    b.go_on.open();
  });
  takt::task_list rest = b.wheel.close(at_close::give_back);
  other.join();
  ASSERT_EQ(rest.size(), 3u);
  std::string names;
  for (const takt::task& t : rest) names += t.name();
  EXPECT_EQ(names, "bcd");
  EXPECT_EQ(b.said, (log{"a"}));
}

TEST(wheel_close, on_the_timer_thread_is_an_error) {
  wheel_bench b;
  b.wheel.execute(10ms, b.here, [&] {
    if (takt_test::finds_deadlock([&] { b.wheel.close(); })) b.said.emplace_back("error");
    if (takt_test::finds_deadlock([&] { b.wheel.close(takt::drain); })) {
      b.said.emplace_back("error");
    }
    if (takt_test::finds_deadlock([&] { b.wheel.await_termination(); })) {
      b.said.emplace_back("error");
    }
  });
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"error", "error", "error"}));
  EXPECT_FALSE(b.wheel.is_shutdown());
}

// --- races with close()

struct counted {
  std::atomic<std::size_t>* ran;
  std::atomic<std::size_t>* told;
  void operator()() const { ++*ran; }
  void cancelled() const noexcept { ++*told; }
};

class wheel_close_race : public testing::TestWithParam<std::pair<at_close, takt::timer_stamp>> {};

TEST_P(wheel_close_race, each_task_is_rejected_or_accounted_for) {
  constexpr std::size_t threads = 3;
  const at_close what = GetParam().first;
  for (int round = 0; round < 5; ++round) {
    wheel_bench b({.tick = 1ms, .stamp = GetParam().second});
    std::atomic<std::size_t> ran{0};
    std::atomic<std::size_t> told{0};
    std::atomic<std::size_t> called{0};
    std::atomic<std::size_t> refused{0};
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        for (std::size_t i = 0; refused < 10 * threads; ++i) {
          ++called;
          try {
            b.wheel.execute(std::chrono::microseconds((i * 7 + t) % 5000), b.here,
                            counted{&ran, &told}, {.run_at_close = i % 2 == 0});
          } catch (const takt::rejected&) {
            ++refused;
          }
        }
      });
    }
    while (called < 500) std::this_thread::yield();
    b.time.advance(2ms);
    takt::task_list rest = b.wheel.close(what);
    for (auto& each : running) each.join();
    EXPECT_THAT(b.wheel.close(at_close::give_back), IsEmpty());
    EXPECT_EQ(ran + told + refused + rest.size(), called);
    const takt::task_totals t = b.wheel.totals();
    EXPECT_EQ(t.submitted, called);
    EXPECT_EQ(t.rejected, refused);
    EXPECT_EQ(t.finished, ran);
    EXPECT_EQ(t.cancelled, told);
    EXPECT_EQ(t.returned, rest.size());
    expect_balance(b.wheel);
  }
}

INSTANTIATE_TEST_SUITE_P(wheel, wheel_close_race,
                         testing::Values(std::pair(at_close::run_marked, takt::timer_stamp::caller),
                                         std::pair(at_close::run_all, takt::timer_stamp::caller),
                                         std::pair(at_close::give_back, takt::timer_stamp::caller),
                                         std::pair(at_close::cancel, takt::timer_stamp::caller),
                                         std::pair(at_close::give_back, takt::timer_stamp::timer)));

TEST(wheel_close, by_several_threads_at_once_sees_to_each_task_once) {
  wheel_bench b;
  constexpr std::size_t count = 1000;
  std::atomic<std::size_t> ran{0};
  std::atomic<std::size_t> told{0};
  std::atomic<std::size_t> given_back{0};
  for (std::size_t i = 0; i < count; ++i) {
    b.wheel.execute(10ms + i * 1ms, b.here, counted{&ran, &told});
  }
  std::vector<std::thread> threads;
  for (const auto what : {at_close::run_all, at_close::give_back, at_close::cancel}) {
    threads.emplace_back([&, what] { given_back += b.wheel.close(what).size(); });
  }
  for (auto& each : threads) each.join();
  EXPECT_EQ(ran + told + given_back, count);
  expect_balance(b.wheel);
}

}  // namespace

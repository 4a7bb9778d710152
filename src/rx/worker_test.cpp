#include <takt/rx/worker.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../../tests/support/pools.hpp"
#include "../base/counting_new.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt::cancel_result;
using takt::event_loop;
using takt::manual_clock;
using takt::manual_executor;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::tally;

// A worker over a manual_executor, with an event loop as timers, on a manual clock.
struct bench {
  explicit bench(worker_options how = {}) : work(executor, with_timers(how)) {}
  worker_options with_timers(worker_options how) {
    how.timers = &timers;
    return how;
  }
  // Advances the time and runs the timers that become due, but not the executor.
  void pass(std::chrono::nanoseconds d) {
    time.advance(d);
    timers.poll();
  }
  // As above, and then runs the executor.
  void run(std::chrono::nanoseconds d = 0ns) {
    pass(d);
    executor.poll();
  }
  manual_clock time;
  event_loop timers{{.frame = takt::never, .time = &time}};
  manual_executor executor;
  worker work;
};

TEST(worker, runs_tasks_in_order_on_many_threads) {
  takt::thread_pool pool({.core_threads = 4});
  std::vector<int> order;  // not guarded: tasks do not overlap
  gate done;
  worker w(pool);
  for (int i = 0; i < 1000; ++i) w.schedule([&order, i] { order.push_back(i); });
  w.schedule([&] { done.open(); });
  done.wait();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(worker, closes_the_handle_of_a_task_that_has_run) {
  bench b;
  int cleaned = 0;
  const task_subscription a = b.work.schedule([] {});
  a.add([&] { ++cleaned; });
  EXPECT_FALSE(a.is_unsubscribed());
  EXPECT_EQ(b.work.tracked(), 1u);
  b.run();
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_FALSE(a.is_rejected());
  EXPECT_EQ(a.run_count(), 1u);
  EXPECT_EQ(cleaned, 1);
  EXPECT_EQ(b.work.tracked(), 0u);
  EXPECT_EQ(a.cancel(), cancel_result::done);
}

TEST(worker, cancelling_destroys_the_callable_at_once) {
  bench b;
  auto token = std::make_shared<int>(0);
  int cleaned = 0;
  const task_subscription a = b.work.schedule([token] { ++*token; });
  a.add([&] { ++cleaned; });
  EXPECT_EQ(a.cancel(), cancel_result::prevented);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(cleaned, 1);
  EXPECT_EQ(b.work.tracked(), 0u);
  EXPECT_EQ(a.cancel(), cancel_result::done);
  b.run();
  EXPECT_EQ(*token, 0);
}

TEST(worker, a_delayed_task_queues_up_when_it_is_due) {
  bench b;
  std::string order;
  b.work.schedule(10ms, [&] { order += "late "; });
  b.work.schedule([&] { order += "now "; });
  b.work.schedule(-1s, [&] { order += "also "; });
  b.run();
  EXPECT_EQ(order, "now also ");
  b.pass(9ms);
  EXPECT_EQ(b.executor.queued(), 0u);
  b.pass(1ms);
  EXPECT_EQ(order, "now also ") << "the timers run nothing";
  b.executor.poll();
  EXPECT_EQ(order, "now also late ");
}

TEST(worker, both_hops_of_a_delayed_task_can_be_cancelled) {
  bench b;
  auto token = std::make_shared<int>(0);
  const task_subscription first = b.work.schedule(10ms, [token] { ++*token; });
  EXPECT_EQ(first.cancel(), cancel_result::prevented);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(b.timers.next_deadline(), takt::clock::time_point::max()) << "it has left";
  const task_subscription second = b.work.schedule(10ms, [token] { ++*token; });
  b.pass(10ms);
  EXPECT_EQ(b.executor.queued(), 1u);
  EXPECT_EQ(second.cancel(), cancel_result::prevented);
  EXPECT_EQ(token.use_count(), 1);
  b.executor.poll();
  EXPECT_EQ(*token, 0);
  EXPECT_EQ(b.work.tracked(), 0u);
}

TEST(worker, times_are_taken_as_well_and_never_is_never) {
  bench b;
  int ran = 0;
  b.work.schedule(b.work.now() + 5ms, [&] { ++ran; });
  b.work.schedule(b.work.now() - 5ms, [&] { ran += 10; });
  const task_subscription last = b.work.schedule(takt::never, [&] { ran += 100; });
  b.run();
  EXPECT_EQ(ran, 10);
  b.run(1h);
  EXPECT_EQ(ran, 11);
  EXPECT_EQ(last.cancel(), cancel_result::prevented);
}

TEST(worker, wrong_arguments_are_errors) {
  bench b;
  EXPECT_THROW(b.work.schedule(std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(b.work.schedule_at_fixed_rate(0ms, 0ms, [] {}), std::invalid_argument);
  EXPECT_THROW(b.work.schedule_with_fixed_delay(0ms, -1ms, [] {}), std::invalid_argument);
  EXPECT_THROW(worker(b.executor, {.batch = 0}), std::invalid_argument);
  EXPECT_THROW(worker(b.executor, {.time = nullptr}), std::invalid_argument);
  EXPECT_THROW(worker(b.executor, {.unhandled = nullptr}), std::invalid_argument);
  EXPECT_THROW(worker(std::unique_ptr<takt::thread_pool>()), std::invalid_argument);
  EXPECT_EQ(b.work.tracked(), 0u);
}

TEST(worker, a_series_keeps_its_grid) {
  bench b;
  std::vector<std::chrono::nanoseconds> at;
  const takt::clock::time_point start = b.time.now();
  const task_subscription beat =
      b.work.schedule_at_fixed_rate(10ms, 20ms, [&] { at.push_back(b.time.now() - start); });
  b.run(10ms);
  b.run(25ms);  // 5 ms late
  b.run(15ms);
  EXPECT_EQ(at, (std::vector<std::chrono::nanoseconds>{10ms, 35ms, 50ms}));
  EXPECT_EQ(beat.run_count(), 3u);
  EXPECT_EQ(b.work.tracked(), 1u);
  beat.unsubscribe();
  b.run(1s);
  EXPECT_EQ(at.size(), 3u);
  EXPECT_EQ(b.timers.next_deadline(), takt::clock::time_point::max());
}

TEST(worker, a_series_leaves_out_what_it_missed) {
  bench b;
  int ran = 0;
  const task_subscription beat = b.work.schedule_at_fixed_rate(0ms, 100ms, [&] { ++ran; });
  const task_subscription all =
      b.work.schedule_at_fixed_rate(0ms, 100ms, [&] { ran += 1000; }, {.missed = takt::catch_up});
  b.run();
  b.time.advance(10s);
  for (int i = 0; i < 300; ++i) b.run();
  EXPECT_EQ(beat.run_count(), 3u) << "at 0, that of 100 ms, however late, and that of now";
  EXPECT_EQ(beat.missed_count(), 98u);
  EXPECT_EQ(all.run_count(), 101u);
  EXPECT_EQ(all.missed_count(), 0u);
  b.run(100ms);
  EXPECT_EQ(beat.run_count(), 4u);
}

TEST(worker, a_run_of_a_series_that_is_late_queues_up_behind_what_is_there) {
  bench b;
  std::string order;
  const task_subscription beat = b.work.schedule_at_fixed_rate(0ms, 10ms, [&] {
    order += 's';
    if (order.size() > 1) return;
    b.time.advance(15ms);
    b.work.schedule([&] { order += 'n'; });
  });
  b.run();
  EXPECT_EQ(order, "sns") << "at once, without the timers";
  b.run(5ms);
  EXPECT_EQ(order, "snss") << "and its grid is as before";
}

TEST(worker, a_fixed_delay_counts_from_the_end) {
  bench b;
  std::vector<std::chrono::nanoseconds> at;
  const takt::clock::time_point start = b.time.now();
  const task_subscription beat = b.work.schedule_with_fixed_delay(0ms, 10ms, [&] {
    at.push_back(b.time.now() - start);
    b.time.advance(5ms);
  });
  for (int i = 0; i < 40; ++i) b.run(1ms);
  EXPECT_EQ(at, (std::vector<std::chrono::nanoseconds>{1ms, 16ms, 31ms, 46ms}));
}

TEST(worker, a_series_can_end_itself) {
  bench b;
  task_subscription self;
  int ran = 0;
  auto token = std::make_shared<int>(0);
  self = b.work.schedule_at_fixed_rate(0ms, 1ms, [&, token] {
    if (++ran == 3) self.unsubscribe();
  });
  const task_subscription other =
      b.work.schedule_at_fixed_rate(0ms, 1ms, [token] { throw takt::cancelled(); });
  for (int i = 0; i < 10; ++i) b.run(1ms);
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(other.run_count(), 1u);
  EXPECT_TRUE(other.is_unsubscribed());
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(b.work.tracked(), 0u);
}

TEST(worker, a_throwing_task_is_reported_and_the_rest_goes_on) {
  const recording_hook hook;
  bench b({.unhandled = &hook});
  int ran = 0;
  int cleaned = 0;
  const task_subscription bad = b.work.schedule([] { throw std::runtime_error("bad"); });
  bad.add([&] { ++cleaned; });
  const task_subscription series =
      b.work.schedule_at_fixed_rate(0ms, 1ms, [] { throw std::runtime_error("worse"); });
  const task_subscription untidy = b.work.schedule([] {});
  untidy.add([] { throw std::runtime_error("untidy"); });
  b.work.schedule([] { throw takt::cancelled(); });
  b.work.schedule([&] { ++ran; });
  b.run(1ms);
  b.run(1ms);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(cleaned, 1);
  EXPECT_TRUE(bad.is_unsubscribed());
  EXPECT_TRUE(series.is_unsubscribed());
  EXPECT_EQ(hook.uncaught(), (std::vector<std::string>{"bad", "worse", "untidy"}));
  EXPECT_FALSE(b.work.is_unsubscribed());
  EXPECT_EQ(b.work.tracked(), 0u);
}

TEST(worker, a_fair_one_lets_others_go_first) {
  manual_executor executor;
  worker fair(executor, {.batch = 1});
  std::string order;
  worker eager(executor);
  for (int i = 0; i < 3; ++i) fair.schedule([&] { order += 'f'; });
  for (int i = 0; i < 3; ++i) eager.schedule([&] { order += 'e'; });
  executor.poll();
  EXPECT_EQ(order, "feeeff");
  order.clear();
  worker two(executor, {.batch = 2});
  for (int i = 0; i < 3; ++i) two.schedule([&] { order += '2'; });
  for (int i = 0; i < 3; ++i) eager.schedule([&] { order += 'e'; });
  executor.poll();
  EXPECT_EQ(order, "22eee2");
}

TEST(worker, a_task_may_schedule_cancel_and_close) {
  bench b;
  std::string order;
  task_subscription never;
  b.work.schedule([&] {
    order += "a";
    b.work.schedule([&] { order += "c"; });
    never = b.work.schedule([&] { order += "!"; });
    order += "b";
    never.unsubscribe();
  });
  b.run();
  EXPECT_EQ(order, "abc");
  b.work.schedule([&] {
    b.work.unsubscribe();
    EXPECT_TRUE(b.work.schedule([] {}).is_rejected());
    order += "d";
  });
  b.run();
  EXPECT_EQ(order, "abcd");
}

TEST(worker, over_an_event_loop_tasks_are_its_own) {
  manual_clock time;
  event_loop loop({.time = &time});
  worker a(loop);
  std::string order;
  worker b(loop);
  a.schedule(1ms, [&] { order += "1"; });
  b.schedule(1ms, [&] { order += "2"; });
  a.schedule(1ms, [&] { order += "3"; });
  b.schedule([&] { order += "0"; });
  time.advance(1ms);
  loop.poll();
  EXPECT_EQ(order, "0123");
  const task_subscription cancelled = a.schedule(1ms, [&] { order += "!"; });
  cancelled.unsubscribe();
  EXPECT_EQ(loop.next_deadline(), takt::clock::time_point::max());
  event_loop other({.time = &time});
  worker c(loop, {.timers = &other});
  const task_subscription waits = c.schedule(1ms, [] {});
  EXPECT_EQ(other.next_deadline(), takt::clock::time_point::max()) << "the executor can wait";
  EXPECT_EQ(loop.next_deadline(), time.now() + 1ms);
}

TEST(worker, over_an_executor_that_runs_inline) {
  takt::inline_executor here;
  std::string order;
  worker w(here);
  w.schedule([&] {
    order += "a";
    w.schedule([&] { order += "b"; });
    order += "c";
  });
  EXPECT_EQ(order, "acb");
  EXPECT_EQ(w.tracked(), 0u);
}

TEST(worker, a_wheel_can_be_its_timers) {
  manual_clock time;
  takt::thread_pool pool({.core_threads = 2, .time = &time});
  takt::wheel_scheduler wheel({.tick = 1ms, .time = &time});
  takt::wheel_view timers = wheel.on(pool);
  gate first;
  gate ran;
  worker w(pool, {.timers = &timers});
  w.schedule(5ms, [&] { ran.open(); });
  w.schedule([&] { first.open(); });
  first.wait();
  EXPECT_FALSE(ran.is_open());
  time.wait_for_waiters(1);
  time.advance(6ms);
  ran.wait();
}

TEST(worker, interruptible_or_not) {
  for (const bool interruptible : {false, true}) {
    takt::thread_pool pool({.core_threads = 1});
    gate begun;
    gate go_on;
    gate ended;
    bool asked = false;
    worker w(pool, {.interruptible = interruptible});
    const task_subscription a = w.schedule([&](const takt::sync::stop_token& stop) {
      begun.open();
      go_on.wait();
      asked = stop.stop_requested();
      ended.open();
    });
    begun.wait();
    EXPECT_EQ(a.cancel(), cancel_result::running);
    EXPECT_EQ(a.cancel(), cancel_result::done);
    go_on.open();
    ended.wait();
    EXPECT_EQ(asked, interruptible);
  }
}

TEST(worker, cancel_and_join_waits_for_the_body) {
  manual_clock time;
  takt::thread_pool pool({.core_threads = 1, .time = &time});
  gate begun;
  bool ended = false;
  worker w(pool, {.time = &time});
  const task_subscription a = w.schedule([&](const takt::sync::stop_token& stop) {
    begun.open();
    takt_test::until_stopped(stop);
    ended = true;
  });
  const task_subscription waits = w.schedule([] { FAIL(); });
  begun.wait();
  EXPECT_EQ(waits.cancel_and_join(), cancel_result::prevented);
  EXPECT_EQ(a.cancel_and_join(), cancel_result::done);
  EXPECT_TRUE(ended);
  EXPECT_EQ(a.cancel_and_join(), cancel_result::done);
  EXPECT_EQ(task_subscription().cancel_and_join(), cancel_result::done);

  gate second;
  gate go_on;
  const task_subscription deaf = w.schedule([&] {
    second.open();
    go_on.wait();
  });
  second.wait();
  EXPECT_EQ(deaf.cancel_and_join_for(0s), cancel_result::running);
  takt::sync::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(deaf.cancel_and_join(stop.get_token()), cancel_result::running);
  go_on.open();
  EXPECT_EQ(deaf.cancel_and_join(), cancel_result::done);

  task_subscription self;
  gate known;
  gate done;
  self = w.schedule([&] {
    known.wait();
    EXPECT_EQ(self.cancel_and_join(), cancel_result::running);
    done.open();
  });
  known.open();
  done.wait();
}

TEST(worker, a_task_does_not_interrupt_itself) {
  takt::inline_executor here;
  worker w(here, {.interruptible = true});
  takt::sync::stop_token seen;
  gate done;
  const subscription owner = w.as_subscription();
  w.schedule([&](const takt::sync::stop_token& stop) {
    seen = stop;
    owner.unsubscribe();
    EXPECT_FALSE(stop.stop_requested());
  });
  EXPECT_TRUE(w.is_unsubscribed());
  EXPECT_FALSE(seen.stop_requested()) << "nor does its end";
}

TEST(worker, retains_nothing_of_a_million_tasks_half_cancelled) {
  constexpr int million = 1'000'000;
  constexpr int round = 1000;
  const auto token = std::make_shared<int>(0);
  bench b;
  std::vector<task_subscription> tasks;
  int ran = 0;
  for (int i = 0; i < million; i += round) {
    for (int k = 0; k < round; ++k) {
      tasks.push_back(k % 4 < 2 ? b.work.schedule([token, &ran] { ++ran; })
                                : b.work.schedule(1ms, [token, &ran] { ++ran; }));
    }
    for (int k = 0; k < round; k += 2) tasks[static_cast<std::size_t>(k)].unsubscribe();
    EXPECT_EQ(token.use_count(), 1 + round / 2);
    b.run(1ms);
    tasks.clear();
    ASSERT_EQ(b.work.tracked(), 0u);
  }
  EXPECT_EQ(ran, million / 2);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(b.timers.next_deadline(), takt::clock::time_point::max());
  EXPECT_EQ(b.executor.queued(), 0u);
}

TEST(worker, a_run_of_a_series_allocates_nothing) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  bench b;
  int ran = 0;
  b.work.schedule_at_fixed_rate(0ms, 1ms, [&] { ++ran; });
  for (int i = 0; i < 100; ++i) b.run(1ms);
  const std::size_t before = takt::allocations();
  for (int i = 0; i < 100; ++i) b.run(1ms);
  EXPECT_EQ(takt::allocations() - before, 0u);
  EXPECT_EQ(ran, 201) << "and the one that was due at once";
}

TEST(worker, can_be_moved) {
  bench b;
  int ran = 0;
  b.work.schedule([&] { ++ran; });
  worker moved(std::move(b.work));
  EXPECT_TRUE(b.work.is_unsubscribed());              // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(b.work.schedule([] {}).is_rejected());  // NOLINT(bugprone-use-after-move)
  b.run();
  EXPECT_EQ(ran, 1);
  b.work = std::move(moved);
  b.work.schedule([&] { ++ran; });
  b.run();
  EXPECT_EQ(ran, 2);
}

}  // namespace

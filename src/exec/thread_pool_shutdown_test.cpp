// Shutdown of a pool: outcomes of queued, running and later tasks, and waiting for termination.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::life_state;
using takt::rejection;
using takt::task;
using takt::task_list;
using takt::thread_pool;
using takt::sync::stop_token;
using takt::sync::thread;
using takt_test::busy;
using takt_test::drain;
using takt_test::expect_balance;
using takt_test::finds_deadlock;
using takt_test::gate;
using takt_test::rejection_of;
using takt_test::tally;
using takt_test::until_stopped;
using testing::ElementsAre;

// --- shutdown

TEST(shutdown, runs_what_is_queued_and_takes_no_more) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_EQ(pool.state(), life_state::running);
  busy hold(pool, 1);
  auto queued = pool.submit([] { return 1; });
  pool.shutdown();
  pool.shutdown();
  EXPECT_EQ(pool.state(), life_state::shutdown);
  EXPECT_TRUE(pool.is_shutdown());
  EXPECT_TRUE(pool.is_terminating());
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::shut_down);
  EXPECT_FALSE(pool.await_termination(0s));
  hold.release();
  EXPECT_EQ(queued.get(), 1);
  pool.await_termination();
  EXPECT_TRUE(pool.is_terminated());
  EXPECT_FALSE(pool.is_terminating());
  expect_balance(pool);
}

TEST(shutdown, lets_all_threads_help_with_the_rest) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 3, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(3);
  busy hold(pool, 1);
  pool.shutdown();
  hold.release();
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown, terminated_hook_runs_once_and_before_the_end_is_seen) {
  for (const bool with_worker : {false, true}) {
    int calls = 0;
    std::optional<life_state> seen;
    thread_pool* self = nullptr;
    thread_pool pool{{.core_threads = 2, .terminated = [&] {
                        ++calls;
                        seen = self->state();
                      }}};
    self = &pool;
    if (with_worker) pool.submit([] {}).get();
    pool.shutdown();
    pool.await_termination();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(seen, life_state::tidying);
    EXPECT_TRUE(pool.shutdown_now().empty());
    pool.shutdown();
    EXPECT_EQ(calls, 1);
    expect_balance(pool);
  }
}

TEST(shutdown, can_be_called_by_a_task) {
  thread_pool pool{{.core_threads = 2}};
  pool.submit([&] { pool.shutdown(); }).get();
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown, is_over_when_all_threads_are) {
  gate let_go;
  tally left;
  std::size_t left_at_the_end = 0;
  takt::sync::atomic<bool> is_first{true};
  thread_pool pool{{.core_threads = 2,
                    .thread = {.on_exit =
                                   [&] {
                                     if (is_first.exchange(false)) let_go.wait();
                                     left.add();
                                   }},
                    .terminated = [&] { left_at_the_end = left.count(); }}};
  pool.prestart();
  pool.shutdown();
  // Both have left the pool, and the second one waits for the first.
  while (pool.statistics().threads != 0) takt::sync::yield();
  for (int i = 0; i < 100; ++i) takt::sync::yield();
  EXPECT_FALSE(pool.is_terminated());
  let_go.open();
  pool.await_termination();
  EXPECT_EQ(left_at_the_end, 2u);
  expect_balance(pool);
}

TEST(shutdown, of_an_unused_pool_terminates_it) {
  thread_pool pool{{.core_threads = 2}};
  pool.shutdown();
  EXPECT_TRUE(pool.is_terminated());
  EXPECT_TRUE(pool.await_termination(0s));
  expect_balance(pool);
}

// --- shutdown_now and shutdown_and_cancel

TEST(shutdown_now, gives_back_what_has_not_begun_in_order) {
  thread_pool pool{{.core_threads = 1}};
  busy hold(pool, 1);
  std::vector<int> order;
  auto first = pool.submit(
      [&] {
        order.push_back(1);
        return 1;
      },
      {.name = "first"});
  pool.execute([&] { order.push_back(2); });
  auto cancelled = pool.submit([] { return 3; });
  auto dropped = pool.submit([] { return 4; });
  cancelled.cancel();
  {
    task_list rest = pool.shutdown_now();
    ASSERT_EQ(rest.size(), 3u);
    EXPECT_EQ(rest[0].name(), "first");
    EXPECT_EQ(rest[0].id(), 2u);
    EXPECT_FALSE(first.is_ready());
    EXPECT_EQ(rest[0].run(), takt::task_outcome::finished);
    EXPECT_EQ(rest[1].run(), takt::task_outcome::finished);
    EXPECT_FALSE(dropped.is_ready());
  }
  EXPECT_EQ(first.get(), 1);
  EXPECT_THROW(dropped.get(), takt::broken_promise);
  EXPECT_THAT(order, ElementsAre(1, 2));
  EXPECT_TRUE(pool.shutdown_now().empty());
  hold.release();
  pool.await_termination();
  expect_balance(pool);
  const takt::task_totals tasks = pool.totals();
  EXPECT_EQ(tasks.returned, 3u);
  EXPECT_EQ(tasks.cancelled, 1u);
  EXPECT_EQ(tasks.finished, 1u);
}

TEST(shutdown_now, shows_the_callables) {
  struct job {
    int number;
    int operator()() const { return number; }
  };
  thread_pool pool{{.core_threads = 1}};
  busy hold(pool, 1);
  auto f = pool.submit(job{7});
  pool.execute(job{8});
  pool.execute([](const stop_token&) {});
  task_list rest = pool.shutdown_now();
  ASSERT_EQ(rest.size(), 3u);
  ASSERT_NE(rest[0].target<job>(), nullptr);
  EXPECT_EQ(rest[0].target<job>()->number, 7);
  ASSERT_NE(rest[1].target<job>(), nullptr);
  EXPECT_EQ(rest[1].target<job>()->number, 8);
  EXPECT_EQ(rest[2].target<job>(), nullptr);
  hold.release();
  drain(pool);
}

TEST(shutdown_now, asks_what_runs_to_stop_without_cancelling_it) {
  thread_pool pool{{.core_threads = 3}};
  tally begun;
  auto f = pool.submit([&](const stop_token& stop) {
    begun.add();
    until_stopped(stop);
    return 5;
  });
  pool.execute([&](const stop_token& stop) {
    begun.add();
    until_stopped(stop);
  });
  gate go_on;
  auto deaf = pool.submit([&] {
    begun.add();
    go_on.wait();
    return 6;
  });
  begun.wait_for(3);
  EXPECT_TRUE(pool.shutdown_now().empty());
  EXPECT_EQ(f.get(), 5);
  EXPECT_FALSE(deaf.is_ready());
  EXPECT_FALSE(pool.is_terminated());
  go_on.open();
  EXPECT_EQ(deaf.get(), 6);
  pool.await_termination();
  expect_balance(pool);
  EXPECT_EQ(pool.totals().finished, 3u);
}

TEST(shutdown_now, asks_again_if_called_again) {
  thread_pool pool{{.core_threads = 1}};
  gate begun;
  auto f = pool.submit([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
  });
  begun.wait();
  pool.shutdown();
  EXPECT_EQ(pool.state(), life_state::shutdown);
  EXPECT_TRUE(pool.shutdown_now().empty());
  EXPECT_TRUE(pool.shutdown_now().empty());
  f.get();
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown_now, reaches_a_task_that_is_just_beginning) {
  // The worker has taken the task when the pool stops: it requests stop itself.
  thread_pool* self = nullptr;
  bool stopped = false;
  thread_pool pool{{.core_threads = 1,
                    .before = [&](const task&) { EXPECT_TRUE(self->shutdown_now().empty()); }}};
  self = &pool;
  pool.submit([&](const stop_token& stop) { stopped = stop.stop_requested(); }).get();
  EXPECT_TRUE(stopped);
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown_now, reaches_a_task_that_began_before_it_was_listed) {
  // The observer gets the event `started` after the task is registered, and before its body runs.
  struct stopper final : takt::task_observer {
    void on_event(const takt::task_event& event) noexcept override {
      if (event.what == takt::task_event::kind::started) static_cast<void>(pool->shutdown_now());
    }
    thread_pool* pool = nullptr;
  } stop_at_start;
  thread_pool pool{{.core_threads = 1, .observer = &stop_at_start}};
  stop_at_start.pool = &pool;
  EXPECT_TRUE(pool.submit([](const stop_token& stop) { return stop.stop_requested(); }).get());
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown_now, can_be_called_by_a_task) {
  thread_pool pool{{.core_threads = 1}};
  gate queued;
  auto rest = pool.submit([&](const stop_token& stop) {
    queued.wait();
    const std::size_t size = pool.shutdown_now().size();
    EXPECT_TRUE(stop.stop_requested());
    return size;
  });
  auto dropped = pool.submit([] {});
  queued.open();
  EXPECT_EQ(rest.get(), 1u);
  EXPECT_THROW(dropped.get(), takt::broken_promise);
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown_now, what_it_gives_back_can_be_given_to_another_pool) {
  thread_pool pool{{.core_threads = 1}};
  thread_pool other{{.core_threads = 1}};
  busy hold(pool, 1);
  auto f = pool.submit([] { return 1; });
  for (task& t : pool.shutdown_now()) other.execute(std::move(t));
  EXPECT_EQ(f.get(), 1);
  hold.release();
  drain(pool);
  drain(other);
}

TEST(shutdown_and_cancel, cancels_what_has_not_begun) {
  thread_pool pool{{.core_threads = 1}};
  gate begun;
  auto running = pool.submit([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
    return 1;
  });
  begun.wait();
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = owner;
  auto queued = pool.submit([owner = std::move(owner)] {});
  pool.execute([] { ADD_FAILURE(); });
  pool.shutdown_and_cancel();
  EXPECT_TRUE(queued.is_cancelled());
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(running.get(), 1);
  pool.await_termination();
  expect_balance(pool);
  EXPECT_EQ(pool.totals().cancelled, 2u);
}

// --- close and await_termination

TEST(close, drain_does_it_all) {
  thread_pool pool{{.core_threads = 1}};
  tally run;
  for (int i = 0; i < 20; ++i) pool.execute([&] { run.add(); });
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(run.count(), 20u);
  expect_balance(pool);
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_TRUE(pool.close(takt::cancel_pending));
}

TEST(close, drain_for_cancels_the_rest_after_its_time) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .time = &time}};
  gate begun;
  auto running = pool.submit([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
    return 1;
  });
  auto queued = pool.submit([] {});
  begun.wait();
  bool clean = true;
  thread closer([&] { clean = pool.close(takt::drain_for(5s)); });
  time.wait_for_waiters(1);
  time.advance(5s - 1ns);
  time.wait_for_waiters(1);
  EXPECT_FALSE(queued.is_ready());
  EXPECT_EQ(pool.state(), life_state::shutdown);
  time.advance(1ns);
  closer.join();
  EXPECT_FALSE(clean);
  EXPECT_TRUE(queued.is_cancelled());
  EXPECT_EQ(running.get(), 1);
  expect_balance(pool);
}

TEST(close, drain_for_returns_as_soon_as_all_is_done) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .time = &time}};
  auto f = pool.submit([] { return 1; });
  EXPECT_TRUE(pool.close(takt::drain_for(5s)));
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(time.now().time_since_epoch(), 0s);
  expect_balance(pool);
}

TEST(close, cancel_rest_waits_for_what_runs_only) {
  thread_pool pool{{.core_threads = 1}};
  gate begun;
  auto running = pool.submit([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
  });
  auto queued = pool.submit([] {});
  begun.wait();
  EXPECT_FALSE(pool.close(takt::cancel_pending));
  EXPECT_TRUE(running.is_ready());
  EXPECT_FALSE(running.is_cancelled());
  EXPECT_TRUE(queued.is_cancelled());
  expect_balance(pool);
}

TEST(close, by_its_own_task_is_an_error) {
  thread_pool pool{{.core_threads = 2}};
  pool.submit([&] {
        EXPECT_TRUE(finds_deadlock([&] { pool.close(takt::drain); }));
        EXPECT_TRUE(finds_deadlock([&] { pool.close(takt::cancel_pending); }));
        EXPECT_TRUE(finds_deadlock([&] { pool.await_termination(); }));
        EXPECT_TRUE(finds_deadlock([&] { pool.await_termination(0s); }));
        EXPECT_EQ(pool.state(), life_state::running);
      })
      .get();
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  drain(pool);
}

TEST(await_termination, ends_with_its_time_or_its_token) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .time = &time}};
  busy hold(pool, 1);
  pool.shutdown();
  EXPECT_FALSE(pool.await_termination(-1s));
  EXPECT_FALSE(pool.await_termination_until(time.now()));
  takt::sync::stop_source stop;
  thread by_token([&] { EXPECT_FALSE(pool.await_termination(stop.get_token())); });
  thread by_time([&] { EXPECT_FALSE(pool.await_termination(1s)); });
  thread to_the_end([&] { EXPECT_TRUE(pool.await_termination(1h)); });
  time.wait_for_waiters(3);
  stop.request_stop();
  by_token.join();
  time.advance(1s);
  by_time.join();
  hold.release();
  to_the_end.join();
  expect_balance(pool);
}

}  // namespace

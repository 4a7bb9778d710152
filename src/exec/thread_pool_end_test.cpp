// Waiting within a pool, its end, and coroutines on it.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <takt/exec/thread_pool.hpp>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/task/task_runner.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::life_state;
using takt::rejection;
using takt::task;
using takt::task_list;
using takt::thread_pool;
using takt::sync::stop_token;
using takt::sync::thread;
using takt_test::busy;
using takt_test::detached;
using takt_test::drain;
using takt_test::expect_balance;
using takt_test::finds_deadlock;
using takt_test::gate;
using takt_test::owned;
using takt_test::rejection_of;
using takt_test::tally;
using takt_test::until_stopped;
using testing::ElementsAre;

// --- waiting within a task

TEST(waiting_in_a_pool, is_found_out_if_no_thread_is_left) {
  thread_pool pool{thread_pool::single()};
  future<int> inner;
  pool.submit([&] {
        inner = pool.submit([] { return 1; });
        EXPECT_TRUE(finds_deadlock([&] { inner.wait(); }));
        EXPECT_TRUE(inner.valid());
      })
      .get();
  EXPECT_EQ(inner.get(), 1);  // from elsewhere it can be waited for
  drain(pool);
}

TEST(waiting_in_a_pool, is_found_out_by_the_last_that_waits) {
  thread_pool pool{{.core = 2}};
  busy hold(pool, 2);
  tally deadlocks;
  std::vector<future<int>> inner(2);
  std::vector<future<void>> outer;
  tally begun;
  for (auto& mine : inner) {
    outer.push_back(pool.submit([&] {
      begun.add();
      begun.wait_for(2);
      mine = pool.submit([] { return 1; });
      if (finds_deadlock([&] { mine.wait(); })) deadlocks.add();
    }));
  }
  hold.release();
  for (auto& f : outer) f.get();
  for (auto& f : inner) EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(deadlocks.count(), 1u);
  drain(pool);
}

TEST(waiting_in_a_pool, is_fine_while_a_thread_is_left) {
  thread_pool pool{{.core = 2}};
  EXPECT_EQ(pool.submit([&] { return pool.submit([] { return 1; }).get(); }).get(), 1);
  thread_pool prestarted{{.core = 2}};
  prestarted.prestart();
  EXPECT_EQ(prestarted.submit([&] { return prestarted.submit([] { return 1; }).get(); }).get(), 1);
  drain(pool);
  drain(prestarted);
}

TEST(waiting_in_a_pool, is_fine_any_number_of_times) {
  thread_pool pool{{.core = 2}};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pool.submit([&] { return pool.submit([] { return 1; }).get(); }).get(), 1);
  }
  drain(pool);
}

TEST(waiting_in_a_pool, keeps_a_thread_for_what_is_waited_for_when_the_pool_shrinks) {
  takt::manual_clock time;
  thread_pool pool{{.core = 2, .time = &time}};
  busy hold(pool, 1);
  gate queued;
  future<int> wanted;
  auto waiting = pool.submit([&] {
    queued.wait();
    return wanted.get();
  });
  wanted = pool.submit([] { return 1; });
  queued.open();
  time.wait_for_waiters(1);
  pool.resize(1);
  hold.release();  // one thread too many, but the other one waits
  EXPECT_EQ(waiting.get(), 1);
  drain(pool);
}

TEST(waiting_in_a_pool, is_fine_again_after_it_was_found_out) {
  thread_pool pool{thread_pool::single()};
  for (int i = 0; i < 3; ++i) {
    auto inner = std::make_shared<future<int>>();
    pool.submit([&pool, inner] {
          *inner = pool.submit([] { return 1; });
          EXPECT_TRUE(finds_deadlock([&] { inner->wait(); }));
        })
        .get();
    EXPECT_EQ(inner->get(), 1);
  }
  drain(pool);
}

TEST(waiting_in_a_pool, with_a_deadline_is_only_a_wait) {
  takt::manual_clock time;
  auto how = thread_pool::single();
  how.time = &time;
  thread_pool pool{how};
  future<int> inner;
  auto outer = pool.submit([&] {
    inner = pool.submit([] { return 1; });
    EXPECT_FALSE(inner.wait_for(0s));
    EXPECT_FALSE(inner.wait_for(5s));
  });
  time.wait_for_waiters(1);
  time.advance(5s);
  outer.get();
  EXPECT_EQ(inner.get(), 1);
  drain(pool);
}

TEST(waiting_in_a_pool, for_another_pool_is_only_a_wait) {
  thread_pool a{thread_pool::single()};
  thread_pool b{thread_pool::single()};
  EXPECT_EQ(a.submit([&] { return b.submit([] { return 1; }).get(); }).get(), 1);
  drain(a);
  drain(b);
}

// A task of the only thread waits for another one that leaves the queue and is run elsewhere.
void wait_for_what_leaves(task (*take_out)(thread_pool&, const future<int>&)) {
  takt::manual_clock time;
  auto how = thread_pool::single();
  how.time = &time;
  thread_pool pool{how};
  gate begun;
  gate taken;
  future<int> wanted;
  auto waiting = pool.submit([&] {
    begun.open();
    taken.wait();
    return wanted.get();
  });
  begun.wait();
  wanted = pool.submit([] { return 1; });
  task other = take_out(pool, wanted);
  ASSERT_TRUE(other);
  taken.open();
  time.wait_for_waiters(1);
  other.run();
  EXPECT_EQ(waiting.get(), 1);
  drain(pool);
}

TEST(waiting_in_a_pool, for_what_was_taken_out_of_it_is_only_a_wait) {
  wait_for_what_leaves([](thread_pool& pool, const future<int>& f) { return pool.remove(f); });
}

TEST(waiting_in_a_pool, for_what_shutdown_now_gave_back_is_only_a_wait) {
  wait_for_what_leaves([](thread_pool& pool, const future<int>&) {
    task_list rest = pool.shutdown_now();
    return rest.size() == 1 ? std::move(rest[0]) : task();
  });
}

TEST(blocking_region, adds_a_thread_for_what_comes_and_it_goes_again) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core = 1, .threads = {.on_exit = [&] { gone.add(); }}, .time = &time}};
  gate run;
  pool.submit([&] {
        const takt::blocking_region waiting;
        pool.execute([&] { run.open(); });
        run.wait();
      })
      .get();
  EXPECT_EQ(pool.statistics().largest, 2u);
  gone.wait_for(1);
  time.wait_for_waiters(1);
  EXPECT_EQ(pool.statistics().workers, 1u);
  busy one(pool, 1);
  pool.execute([] {});
  EXPECT_EQ(pool.statistics().workers, 1u);
  one.release();
  drain(pool);
}

TEST(blocking_region, adds_a_thread_for_what_is_queued) {
  thread_pool pool{{.core = 1}};
  gate queued;
  gate run;
  auto outer = pool.submit([&] {
    queued.wait();
    const takt::blocking_region waiting;
    run.wait();
  });
  pool.execute([&] { run.open(); });
  queued.open();
  outer.get();
  const auto s = drain(pool);
  EXPECT_EQ(s.largest, 2u);
}

TEST(blocking_region, adds_none_if_nothing_is_to_be_done) {
  thread_pool pool{{.core = 1}};
  pool.submit([] { const takt::blocking_region waiting; }).get();
  const auto s = drain(pool);
  EXPECT_EQ(s.largest, 1u);
}

TEST(blocking_region, lets_a_task_wait_for_its_pool) {
  thread_pool pool{{.core = 1}};
  EXPECT_EQ(pool.submit([&] {
                  const takt::blocking_region waiting;
                  return pool.submit([] { return 1; }).get();
                })
                .get(),
            1);
  drain(pool);
}

TEST(blocking_region, means_nothing_elsewhere) { const takt::blocking_region waiting; }

// --- shutdown

TEST(shutdown, runs_what_is_queued_and_takes_no_more) {
  thread_pool pool{{.core = 1}};
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
  thread_pool pool{{.core = 3, .time = &time}};
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
    thread_pool pool{{.core = 2, .terminated = [&] {
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
  thread_pool pool{{.core = 2}};
  pool.submit([&] { pool.shutdown(); }).get();
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown, is_over_when_all_threads_are) {
  gate let_go;
  tally left;
  std::size_t left_at_the_end = 0;
  takt::sync::atomic<bool> is_first{true};
  thread_pool pool{{.core = 2,
                    .threads = {.on_exit =
                                    [&] {
                                      if (is_first.exchange(false)) let_go.wait();
                                      left.add();
                                    }},
                    .terminated = [&] { left_at_the_end = left.count(); }}};
  pool.prestart();
  pool.shutdown();
  // Both have left the pool, and the second one waits for the first.
  while (pool.statistics().workers != 0) takt::sync::yield();
  for (int i = 0; i < 100; ++i) takt::sync::yield();
  EXPECT_FALSE(pool.is_terminated());
  let_go.open();
  pool.await_termination();
  EXPECT_EQ(left_at_the_end, 2u);
  expect_balance(pool);
}

TEST(shutdown, of_an_unused_pool_terminates_it) {
  thread_pool pool{{.core = 2}};
  pool.shutdown();
  EXPECT_TRUE(pool.is_terminated());
  EXPECT_TRUE(pool.await_termination(0s));
  expect_balance(pool);
}

TEST(shutdown_now, gives_back_what_has_not_begun_in_order) {
  thread_pool pool{{.core = 1}};
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
  EXPECT_THROW(dropped.get(), takt::abandoned);
  EXPECT_THAT(order, ElementsAre(1, 2));
  EXPECT_TRUE(pool.shutdown_now().empty());
  hold.release();
  pool.await_termination();
  expect_balance(pool);
  const auto s = pool.statistics();
  EXPECT_EQ(s.tasks.returned, 3u);
  EXPECT_EQ(s.tasks.cancelled, 1u);
  EXPECT_EQ(s.tasks.finished, 1u);
}

TEST(shutdown_now, shows_the_callables) {
  struct job {
    int number;
    int operator()() const { return number; }
  };
  thread_pool pool{{.core = 1}};
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
  thread_pool pool{{.core = 3}};
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
  EXPECT_EQ(pool.statistics().tasks.finished, 3u);
}

TEST(shutdown_now, asks_again_if_called_again) {
  thread_pool pool{{.core = 1}};
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
  // The worker has taken the task when the pool stops: it asks itself.
  thread_pool* self = nullptr;
  bool stopped = false;
  thread_pool pool{
      {.core = 1, .before = [&](const task&) { EXPECT_TRUE(self->shutdown_now().empty()); }}};
  self = &pool;
  pool.submit([&](const stop_token& stop) { stopped = stop.stop_requested(); }).get();
  EXPECT_TRUE(stopped);
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown_now, reaches_a_task_that_began_before_it_was_listed) {
  // An observer hears of the start after the task is listed, and before its body.
  struct stopper final : takt::task_observer {
    void on_event(const takt::task_event& event) noexcept override {
      if (event.what == takt::task_event::kind::started) static_cast<void>(pool->shutdown_now());
    }
    thread_pool* pool = nullptr;
  } stop_at_start;
  thread_pool pool{{.core = 1, .observer = &stop_at_start}};
  stop_at_start.pool = &pool;
  EXPECT_TRUE(pool.submit([](const stop_token& stop) { return stop.stop_requested(); }).get());
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown_now, can_be_called_by_a_task) {
  thread_pool pool{{.core = 1}};
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
  EXPECT_THROW(dropped.get(), takt::abandoned);
  pool.await_termination();
  expect_balance(pool);
}

TEST(shutdown_now, what_it_gives_back_can_be_given_to_another_pool) {
  thread_pool pool{{.core = 1}};
  thread_pool other{{.core = 1}};
  busy hold(pool, 1);
  auto f = pool.submit([] { return 1; });
  for (task& t : pool.shutdown_now()) other.execute(std::move(t));
  EXPECT_EQ(f.get(), 1);
  hold.release();
  drain(pool);
  drain(other);
}

TEST(shutdown_and_cancel, cancels_what_has_not_begun) {
  thread_pool pool{{.core = 1}};
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
  EXPECT_EQ(pool.statistics().tasks.cancelled, 2u);
}

// --- close and await_termination

TEST(close, drain_does_it_all) {
  thread_pool pool{{.core = 1}};
  tally run;
  for (int i = 0; i < 20; ++i) pool.execute([&] { run.add(); });
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(run.count(), 20u);
  expect_balance(pool);
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_TRUE(pool.close(takt::cancel_rest));
}

TEST(close, drain_for_cancels_the_rest_after_its_time) {
  takt::manual_clock time;
  thread_pool pool{{.core = 1, .time = &time}};
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
  thread_pool pool{{.core = 1, .time = &time}};
  auto f = pool.submit([] { return 1; });
  EXPECT_TRUE(pool.close(takt::drain_for(5s)));
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(time.now().time_since_epoch(), 0s);
  expect_balance(pool);
}

TEST(close, cancel_rest_waits_for_what_runs_only) {
  thread_pool pool{{.core = 1}};
  gate begun;
  auto running = pool.submit([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
  });
  auto queued = pool.submit([] {});
  begun.wait();
  EXPECT_FALSE(pool.close(takt::cancel_rest));
  EXPECT_TRUE(running.is_ready());
  EXPECT_FALSE(running.is_cancelled());
  EXPECT_TRUE(queued.is_cancelled());
  expect_balance(pool);
}

TEST(close, by_its_own_task_is_an_error) {
  thread_pool pool{{.core = 2}};
  pool.submit([&] {
        EXPECT_TRUE(finds_deadlock([&] { pool.close(takt::drain); }));
        EXPECT_TRUE(finds_deadlock([&] { pool.close(takt::cancel_rest); }));
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
  thread_pool pool{{.core = 1, .time = &time}};
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

// --- destruction

TEST(thread_pool_destructor, cancels_what_is_queued_and_waits_for_what_runs) {
  future<int> running;
  future<void> queued;
  {
    thread_pool pool{{.core = 1}};
    gate begun;
    running = pool.submit([&](const stop_token& stop) {
      begun.open();
      until_stopped(stop);
      return 1;
    });
    begun.wait();
    queued = pool.submit([] {});
  }
  EXPECT_TRUE(running.is_ready());
  EXPECT_EQ(running.get(), 1);
  EXPECT_TRUE(queued.is_cancelled());
}

TEST(thread_pool_destructor, runs_the_terminated_hook_if_it_did_not_run_before) {
  int calls = 0;
  {
    const thread_pool pool{{.core = 1, .terminated = [&] { ++calls; }}};
  }
  EXPECT_EQ(calls, 1);
  {
    thread_pool pool{{.core = 1, .terminated = [&] { ++calls; }}};
    drain(pool);
  }
  EXPECT_EQ(calls, 2);
}

TEST(thread_pool_destructor, handles_may_outlive_the_pool) {
  future<int> f;
  std::optional<thread_pool> pool(std::in_place, thread_pool::options{.core = 1});
  f = pool->submit([] { return 1; });
  f.wait();
  pool.reset();
  EXPECT_EQ(f.cancel(), takt::cancel_result::done);
  EXPECT_EQ(f.get(), 1);
}

// Opens its gate when the last copy of it goes.
std::shared_ptr<void> witness(gate& gone) {
  return {nullptr, [&gone](void*) { gone.open(); }};
}

TEST(thread_pool_destructor, can_be_called_by_its_only_worker) {
  gate gone;
  gate released;
  bool queued_is_cancelled = false;
  bool terminated = false;
  auto pool = std::make_shared<thread_pool>(thread_pool::options{
      .core = 1, .terminated = [&terminated, last = witness(gone)] { terminated = true; }});
  future<void> queued;
  auto task_ended = pool->submit([&, own = pool]() mutable {
    released.wait();
    own.reset();
    queued_is_cancelled = queued.is_cancelled();
    return 1;
  });
  queued = pool->submit([] {});
  pool.reset();
  released.open();
  EXPECT_EQ(task_ended.get(), 1);
  gone.wait();  // the last state goes with the worker
  EXPECT_TRUE(queued_is_cancelled);
  EXPECT_TRUE(terminated);
}

TEST(thread_pool_destructor, called_by_a_worker_waits_for_the_others) {
  gate gone;
  gate released;
  gate begun;
  takt::sync::atomic<bool> other_over{false};
  bool other_was_over = false;
  auto pool = std::make_shared<thread_pool>(
      thread_pool::options{.core = 3, .terminated = [last = witness(gone)] {}});
  pool->prestart();
  pool->execute([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
    other_over = true;
  });
  begun.wait();
  pool->execute([&, own = pool]() mutable {
    released.wait();
    own.reset();
    other_was_over = other_over;
  });
  pool.reset();
  released.open();
  gone.wait();
  EXPECT_TRUE(other_was_over);
}

TEST(thread_pool_destructor, can_be_called_with_a_closure_that_owns_the_pool) {
  gate gone;
  gate queued;
  auto pool = std::make_shared<thread_pool>(
      thread_pool::options{.core = 2, .terminated = [last = witness(gone)] {}});
  auto first = pool->submit([&queued, own = pool] { queued.wait(); });
  auto second = pool->submit([own = pool] {});
  pool.reset();
  queued.open();
  first.wait();
  second.wait();
  gone.wait();
}

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

TEST(thread_pool_destructor, does_nothing_in_a_child_process) {
  auto pool = std::make_unique<thread_pool>(thread_pool::options{.core = 2});
  busy hold(*pool, 2);
  auto queued = pool->submit([] { return 1; });
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    pool.reset();  // would wait for threads that are not here
    _exit(queued.is_ready() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  hold.release();
  EXPECT_EQ(queued.get(), 1);
  drain(*pool);
}

#endif

// --- coroutines

TEST(co_await_schedule, goes_on_on_the_pool) {
  thread_pool pool{{.core = 1}};
  const auto worker = pool.submit([] { return takt::sync::this_thread_id(); }).get();
  auto before = worker;
  auto after = worker;
  gate ended;
  [](thread_pool& on, auto& first, auto& second, gate& done) -> detached {
    first = takt::sync::this_thread_id();
    co_await on.schedule({.name = "hop"});
    second = takt::sync::this_thread_id();
    done.open();
  }(pool, before, after, ended);
  ended.wait();
  EXPECT_EQ(before, takt::sync::this_thread_id());
  EXPECT_EQ(after, worker);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, 2u);
}

// What co_await throws: its type, and on which thread.
owned arrive(thread_pool& pool, std::string& outcome) {
  try {
    co_await takt::schedule(pool);
    outcome = "arrived";
  } catch (const takt::rejected& r) {
    outcome = to_string(r.reason());
  } catch (const takt::cancelled&) {
    outcome = "cancelled";
  } catch (const takt::abandoned&) {
    outcome = "abandoned";
  }
}

TEST(co_await_schedule, throws_what_became_of_it) {
  thread_pool pool{{.core = 1, .queue_capacity = 1}};
  busy hold(pool, 1);
  std::string queued;
  std::string refused;
  std::string late;
  const owned first = arrive(pool, queued);
  const owned second = arrive(pool, refused);
  EXPECT_TRUE(second.done());
  EXPECT_EQ(refused, "saturated");
  EXPECT_FALSE(first.done());
  pool.shutdown_and_cancel();
  EXPECT_TRUE(first.done());
  EXPECT_EQ(queued, "cancelled");
  const owned third = arrive(pool, late);
  EXPECT_TRUE(third.done());
  EXPECT_EQ(late, "shut down");
  hold.release();
  pool.await_termination();
  expect_balance(pool);
}

TEST(co_await_schedule, is_cancelled_by_close) {
  thread_pool pool{{.core = 1}};
  gate begun;
  pool.execute([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
  });
  begun.wait();
  std::string outcome;
  const owned waiting = arrive(pool, outcome);
  EXPECT_FALSE(pool.close(takt::cancel_rest));
  EXPECT_TRUE(waiting.done());
  EXPECT_EQ(outcome, "cancelled");
  expect_balance(pool);
}

TEST(co_await_schedule, is_abandoned_with_a_task_that_was_given_back) {
  thread_pool pool{{.core = 1}};
  busy hold(pool, 1);
  std::string outcome;
  const owned waiting = arrive(pool, outcome);
  EXPECT_EQ(pool.shutdown_now().size(), 1u);
  EXPECT_TRUE(waiting.done());
  EXPECT_EQ(outcome, "abandoned");
  hold.release();
  drain(pool);
}

TEST(co_await_schedule, may_be_given_up_with_its_frame) {
  thread_pool pool{{.core = 1}};
  busy hold(pool, 1);
  std::string outcome = "never resumed";
  {
    const owned waiting = arrive(pool, outcome);
  }
  hold.release();
  const auto s = drain(pool);
  EXPECT_EQ(outcome, "never resumed");
  EXPECT_EQ(s.tasks.finished, 2u);
}

// An executor that fails in its own way.
struct failing_executor {
  void execute(const task&) { throw std::runtime_error("out of order"); }
};

TEST(co_await_schedule, resumes_once_whatever_execute_throws) {
  failing_executor broken;
  int ends = 0;
  const owned once = [](failing_executor& on, int& count) -> owned {
    try {
      co_await takt::schedule(on);
    } catch (const std::exception&) {
      ++count;
    }
  }(broken, ends);
  EXPECT_TRUE(once.done());
  EXPECT_EQ(ends, 1);
}

TEST(co_await_schedule, runs_here_if_the_caller_is_to_run_it) {
  thread_pool pool{
      {.core = 1, .queue_capacity = 0, .rejection = takt::rejection_policy::caller_runs()}};
  busy hold(pool, 1);
  std::string outcome;
  const owned here = arrive(pool, outcome);
  EXPECT_TRUE(here.done());
  EXPECT_EQ(outcome, "arrived");
  hold.release();
  drain(pool);
}

}  // namespace

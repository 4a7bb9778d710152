// The regression programs beside java.util.concurrent's TCK that concern pools, with their names.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::thread_pool;
using takt::sync::stop_token;
using takt::sync::thread;
using takt_test::busy;
using takt_test::drain;
using takt_test::expect_balance;
using takt_test::finds_deadlock;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::rejection_of;
using takt_test::tally;
using takt_test::until_stopped;

TEST(Regression, ConfigChanges) {
  constexpr std::size_t n = 3;
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = n,
                    .max_threads = 3 * n,
                    .keep_alive = 1h,
                    .queue_capacity = 3 * n,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  // Tasks fill the core threads, then the queue, then the other threads; then they are rejected.
  busy core(pool, n);
  EXPECT_EQ(pool.statistics().threads, n);
  gate go_on;
  const auto held = [&] { go_on.wait(); };
  for (std::size_t i = 0; i < 3 * n; ++i) pool.execute(held);
  EXPECT_EQ(pool.statistics().threads, n);
  for (std::size_t i = 0; i < 2 * n; ++i) {
    pool.execute(held);
    EXPECT_EQ(pool.statistics().threads, n + i + 1);
  }
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  // The next submission uses a larger max_threads.
  pool.resize(n, 3 * n + 1);
  pool.execute(held);
  EXPECT_EQ(pool.statistics().threads, 3 * n + 1);
  go_on.open();
  core.release();
  time.wait_for_waiters(3 * n + 1);
  // Idle threads above a smaller max_threads end at once, those above core_threads after
  // keep_alive.
  pool.resize(n, 2 * n);
  gone.wait_for(n + 1);
  time.wait_for_waiters(2 * n);
  EXPECT_EQ(pool.statistics().threads, 2 * n);
  pool.set_keep_alive(1s, false);
  time.wait_for_waiters(2 * n);
  time.advance(1s);
  gone.wait_for(2 * n + 1);
  time.wait_for_waiters(n);
  EXPECT_EQ(pool.statistics().threads, n);
  // Core threads end if core_times_out.
  EXPECT_THROW(pool.set_keep_alive(0s, true), std::invalid_argument);
  pool.set_keep_alive(1s, true);
  time.advance(1s);
  gone.wait_for(3 * n + 1);
  EXPECT_EQ(pool.statistics().threads, 0u);
  const auto s = drain(pool);
  EXPECT_EQ(s.largest, 3 * n + 1);
}

TEST(Regression, CoreThreadTimeOut) {
  constexpr std::size_t n = 10;
  takt::manual_clock time;
  tally started;
  tally gone;
  thread_pool pool{{.core_threads = n,
                    .keep_alive = 12ms,
                    .core_times_out = true,
                    .thread = {.on_start = [&] { started.add(); }, .on_exit = [&] { gone.add(); }},
                    .time = &time}};
  for (std::size_t round = 1; round <= 2; ++round) {
    {
      const busy all(pool, n);
    }
    time.wait_for_waiters(n);
    EXPECT_EQ(started.count(), round * n);
    time.advance(12ms);
    gone.wait_for(round * n);
    EXPECT_EQ(pool.statistics().threads, 0u);
  }
  drain(pool);
}

TEST(Regression, FlakyThreadFactory) {
  constexpr std::size_t count = 200;
  for (const int period : {2, 3, 7}) {
    int asked = 0;  // guarded by the pool's lock
    tally gone;
    takt::manual_clock time;
    thread_pool pool{{.core_threads = 4,
                      .max_threads = 8,
                      .keep_alive = 1s,
                      .core_times_out = true,
                      .queue_capacity = 3,
                      .rejection = rejection_policy::caller_runs(),
                      .thread = {.on_exit = [&] { gone.add(); },
                                 .may_start = [&] { return ++asked % period == 0; }},
                      .time = &time}};
    tally ran;
    tally ran_here;
    const auto here = takt::sync::this_thread_id();
    for (std::size_t i = 0; i < count; ++i) {
      pool.execute([&] {
        ran.add();
        if (takt::sync::this_thread_id() == here) ran_here.add();
      });
      if (i % 50 == 49) {  // all threads end, and must be started again
        const std::size_t workers = pool.statistics().threads;
        const std::size_t left = gone.count();
        time.wait_for_waiters(workers);
        time.advance(1s);
        gone.wait_for(left + workers);
      }
    }
    const auto s = drain(pool);
    EXPECT_EQ(ran.count(), count);
    EXPECT_EQ(s.tasks.finished, count);
    EXPECT_GE(ran_here.count(), 1u);  // at least the first task: there was no thread
  }
}

TEST(Regression, ModifyCorePoolSize) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 10,
                    .keep_alive = 1ms,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  pool.prestart();
  time.wait_for_waiters(10);
  for (std::size_t size = 9; size >= 5; --size) {
    pool.resize(size);
    gone.wait_for(10 - size);
    time.wait_for_waiters(size);
    EXPECT_EQ(pool.statistics().threads, size);
  }
  for (std::size_t size = 6; size <= 10; ++size) {
    pool.resize(size);
    EXPECT_EQ(pool.prestart(), 1u);
    time.wait_for_waiters(size);
    EXPECT_EQ(pool.statistics().threads, size);
  }
  EXPECT_EQ(gone.count(), 5u);
  drain(pool);
}

// Java: an interrupt that a task leaves behind does not reach the next task. Here the next task has
// its own token.
TEST(Regression, SelfInterrupt) {
  thread_pool pool{thread_pool::single()};
  for (int i = 0; i < 10; ++i) {
    auto own = std::make_shared<future<void>>();
    gate submitted;
    *own = pool.submit([own, &submitted](const stop_token& stop) {
      submitted.wait();
      EXPECT_EQ(own->cancel(), takt::cancel_result::running);
      EXPECT_TRUE(stop.stop_requested());
    });
    submitted.open();
    EXPECT_FALSE(pool.submit([](const stop_token& stop) { return stop.stop_requested(); }).get());
    EXPECT_TRUE(own->is_cancelled());
    own->wait();
    *own = {};
  }
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.cancelled, 10u);
}

TEST(Regression, ShutdownNowExecuteRace) {
  for (int round = 0; round < 50; ++round) {
    thread_pool pool{{.core_threads = 2}};
    takt::sync::atomic<std::uint64_t> ran{0};
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    gate begun;
    pool.execute([&] { begun.open(); });
    thread producer([&] {
      while (refused == 0) {
        const auto why = rejection_of([&] { pool.execute([&] { ++ran; }); });
        EXPECT_TRUE(!why || why == rejection::shut_down);
        ++(why ? refused : accepted);
      }
    });
    begun.wait();
    const takt::task_list rest = pool.shutdown_now();
    producer.join();
    pool.await_termination();
    EXPECT_EQ(ran.load() + rest.size(), accepted);
    EXPECT_EQ(pool.totals().returned, rest.size());
    expect_balance(pool);
  }
}

TEST(Regression, ThreadRestarts) {
  takt::manual_clock time;
  tally started;
  tally gone;
  thread_pool pool{{.core_threads = 1,
                    .keep_alive = 1s,
                    .core_times_out = true,
                    .thread = {.on_start = [&] { started.add(); }, .on_exit = [&] { gone.add(); }},
                    .time = &time}};
  for (int i = 0; i < 10; ++i) {
    pool.submit([] {}).get();
    time.wait_for_waiters(1);
    time.advance(500ms);
  }
  EXPECT_EQ(started.count(), 1u);
  time.advance(1s);
  gone.wait_for(1);
  pool.submit([] {}).get();
  EXPECT_EQ(started.count(), 2u);
  drain(pool);
}

// Java loses a thread with each exception and starts another; here the thread survives.
TEST(Regression, ThrowingTasks) {
  constexpr std::size_t count = 50;
  recording_hook hook;
  tally started;
  tally after;
  thread_pool pool{{.core_threads = 4,
                    .thread = {.on_start = [&] { started.add(); }},
                    .before =
                        [](const task& t) {
                          if (t.name() == "stopped before") throw std::runtime_error("before");
                        },
                    .after =
                        [&](const task&, const std::exception_ptr& error) {
                          if (error != nullptr) after.add();
                        },
                    .unhandled = &hook}};
  for (std::size_t i = 0; i < count; ++i) {
    pool.execute([] { throw std::runtime_error("body"); });
    pool.execute(task([] { ADD_FAILURE(); }, {.name = "stopped before"}));
    pool.execute([] {});
  }
  const auto s = drain(pool);
  EXPECT_EQ(hook.uncaught().size(), 2 * count);
  EXPECT_EQ(after.count(), count);  // not called after a `before` that throws
  EXPECT_EQ(s.tasks.failed, 2 * count);
  EXPECT_EQ(s.tasks.finished, 3 * count);
  EXPECT_EQ(started.count(), 4u);
}

TEST(Regression, TimeOutShrink) {
  constexpr std::size_t n = 4;
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = n,
                    .max_threads = 2 * n,
                    .keep_alive = 1s,
                    .queue_capacity = 0,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  busy one(pool, 1);
  {
    const busy rest(pool, 2 * n - 1);
  }
  EXPECT_EQ(pool.statistics().threads, 2 * n);
  time.wait_for_waiters(2 * n - 1);
  time.advance(1s);
  gone.wait_for(n);  // down to core_threads, including the busy one
  time.wait_for_waiters(n - 1);
  EXPECT_EQ(pool.statistics().threads, n);
  time.advance(1h);
  EXPECT_EQ(time.waiters(), n - 1);
  one.release();
  time.wait_for_waiters(n);
  EXPECT_EQ(pool.statistics().threads, n);
  drain(pool);
}

// Idle workers keep no finished task alive.
TEST(Regression, GCRetention) {
  constexpr std::size_t n = 10;
  takt::manual_clock time;
  thread_pool pool{{.core_threads = n, .time = &time}};
  std::vector<std::weak_ptr<int>> alive;
  const auto owner = [&] {
    auto made = std::make_shared<int>(1);
    alive.push_back(made);
    return made;
  };
  for (std::size_t i = 0; i < n; ++i) {
    pool.execute([kept = owner()] { static_cast<void>(*kept); });
    pool.submit([kept = owner()] { return kept; }).get();  // the future owns the result
    static_cast<void>(pool.submit([kept = owner()](const stop_token&) { return kept; }));
  }
  time.wait_for_waiters(n);
  for (const auto& one : alive) EXPECT_TRUE(one.expired());
  drain(pool);
}

// A caller that waits for blocking tasks stops waiting and cancels them: each task sees the stop
// request.
TEST(Regression, BlockingTaskExecutor) {
  constexpr std::size_t n = 3;
  for (const auto& preset : {thread_pool::fixed(n), thread_pool::cached()}) {
    takt::manual_clock time;
    auto how = preset;
    how.time = &time;
    thread_pool pool{how};
    tally begun;
    tally stopped;
    takt::sync::stop_source interrupt;
    thread caller([&] {
      std::vector<future<void>> all;
      for (std::size_t i = 0; i < n; ++i) {
        all.push_back(pool.submit([&](const stop_token& stop) {
          begun.add();
          until_stopped(stop);
          stopped.add();
        }));
      }
      EXPECT_THROW(all[0].get(interrupt.get_token()), takt::wait_stopped);
      for (auto& f : all) EXPECT_EQ(f.cancel_and_join(), takt::cancel_result::done);
      EXPECT_EQ(stopped.count(), n);
      for (auto& f : all) EXPECT_THROW(f.get(), takt::cancelled);
    });
    begun.wait_for(n);
    time.wait_for_waiters(1);
    interrupt.request_stop();
    caller.join();
    const auto s = drain(pool);
    EXPECT_EQ(s.tasks.cancelled, n);
  }
}

TEST(Regression, StressShutdown) {
  std::mt19937 random(20240229);
  for (int round = 0; round < 100; ++round) {
    thread_pool pool{{.core_threads = 1 + random() % 3}};
    takt::sync::atomic<std::uint64_t> ran{0};
    const unsigned kind = random() % 4;
    // Each task submits the next one until it is rejected.
    std::function<void()> next = [&] {
      ++ran;
      if (ran == 20 && kind == 3) pool.shutdown();
      static_cast<void>(rejection_of([&] { pool.execute(next); }));
    };
    pool.execute(next);
    if (kind == 0) pool.shutdown();
    if (kind == 1) static_cast<void>(pool.shutdown_now());
    if (kind == 2) pool.close(takt::cancel_pending);
    pool.await_termination();
    expect_balance(pool);
    EXPECT_EQ(pool.totals().finished, ran.load());
  }
}

TEST(Regression, CloseTest) {
  {  // without any task
    thread_pool pool{{.core_threads = 2}};
    EXPECT_TRUE(pool.close(takt::drain));
    expect_balance(pool);
    EXPECT_TRUE(pool.close(takt::drain));  // again
  }
  {  // with a running and a queued task
    thread_pool pool{{.core_threads = 1}};
    auto first = pool.submit([] { return 1; });
    auto second = pool.submit([] { return 2; });
    EXPECT_TRUE(pool.close(takt::drain));
    EXPECT_TRUE(first.is_ready());
    EXPECT_EQ(first.get(), 1);
    EXPECT_EQ(second.get(), 2);
    EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::shut_down);
  }
  {  // after shutdown
    thread_pool pool{{.core_threads = 1}};
    auto f = pool.submit([] { return 1; });
    pool.shutdown();
    EXPECT_TRUE(pool.close(takt::drain));
    EXPECT_EQ(f.get(), 1);
  }
  {  // Java: an interrupt during close() makes it stop the tasks at once. Here a time-out does.
    takt::manual_clock time;
    thread_pool pool{{.core_threads = 1, .time = &time}};
    gate begun;
    auto running = pool.submit([&](const stop_token& stop) {
      begun.open();
      until_stopped(stop);
    });
    auto queued = pool.submit([] {});
    begun.wait();
    thread closer([&] { EXPECT_FALSE(pool.close(takt::drain_for(1h))); });
    time.wait_for_waiters(1);
    time.advance(1h);
    closer.join();
    EXPECT_TRUE(running.is_ready());
    EXPECT_TRUE(queued.is_cancelled());
    expect_balance(pool);
  }
  {  // by two threads at once
    thread_pool pool{{.core_threads = 1}};
    busy hold(pool, 1);
    thread other([&] { EXPECT_TRUE(pool.close(takt::drain)); });
    pool.shutdown();
    hold.release();
    EXPECT_TRUE(pool.close(takt::drain));
    other.join();
  }
  {  // by one of its own tasks
    thread_pool pool{{.core_threads = 1}};
    pool.submit([&] { EXPECT_TRUE(finds_deadlock([&] { pool.close(takt::drain); })); }).get();
    drain(pool);
  }
}

}  // namespace

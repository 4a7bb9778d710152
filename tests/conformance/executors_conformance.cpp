// java.util.concurrent's ExecutorsTest, with its names.
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#endif

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/future_task.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future_task;
using takt::thread_pool;
using takt::sync::thread;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::tally;

// Like Java's tests: some tasks run, and the pool ends.
takt_test::last_figures run_some(const thread_pool::options_type& how) {
  thread_pool pool{how};
  tally run;
  for (int i = 0; i < 3; ++i) pool.execute([&] { run.add(); });
  run.wait_for(3);
  return drain(pool);
}

thread_pool::options_type counting_threads(thread_pool::options_type how, tally& started) {
  how.thread.on_start = [&] { started.add(); };
  return how;
}

TEST(ExecutorsTest, testNewCachedThreadPool1) {
  thread_pool pool{thread_pool::cached()};
  busy all(pool, 4);  // each task has a thread
  EXPECT_EQ(pool.statistics().threads, 4u);
  all.release();
  drain(pool);
}

TEST(ExecutorsTest, testNewCachedThreadPool2) {
  tally started;
  const auto s = run_some(counting_threads(thread_pool::cached(), started));
  EXPECT_EQ(started.count(), s.largest);
}

TEST(ExecutorsTest, testNewSingleThreadExecutor1) {
  EXPECT_EQ(run_some(thread_pool::single()).largest, 1u);
}

TEST(ExecutorsTest, testNewSingleThreadExecutor2) {
  tally started;
  run_some(counting_threads(thread_pool::single(), started));
  EXPECT_EQ(started.count(), 1u);
}

TEST(ExecutorsTest, testCastNewSingleThreadExecutor) {
  thread_pool pool{thread_pool::single()};
  EXPECT_THROW(pool.resize(2), std::logic_error);
  drain(pool);
}

TEST(ExecutorsTest, testNewFixedThreadPool1) {
  EXPECT_EQ(run_some(thread_pool::fixed(2)).largest, 2u);
}

TEST(ExecutorsTest, testNewFixedThreadPool2) {
  tally started;
  run_some(counting_threads(thread_pool::fixed(2), started));
  EXPECT_EQ(started.count(), 2u);
}

TEST(ExecutorsTest, testNewFixedThreadPool4) {
  EXPECT_THROW(thread_pool{thread_pool::fixed(0)}, std::invalid_argument);
}

TEST(ExecutorsTest, testUnconfigurableExecutorService) {
  auto how = thread_pool::fixed(2);
  how.resizable = false;
  run_some(how);
  thread_pool pool{how};
  EXPECT_THROW(pool.resize(3), std::logic_error);
  EXPECT_EQ(pool.core_threads(), 2u);
  drain(pool);
}

TEST(ExecutorsTest, testTimedCallable) {
  for (const auto& preset : {thread_pool::single(), thread_pool::cached(), thread_pool::fixed(2)}) {
    takt::manual_clock time;
    auto how = preset;
    how.time = &time;
    thread_pool pool{how};
    gate go_on;
    gate begun;
    auto f = pool.submit([&] {
      begun.open();
      go_on.wait();
    });
    begun.wait();
    bool ready = true;
    thread waiter([&] { ready = f.wait_for(12ms); });
    time.wait_for_waiters(1);
    EXPECT_TRUE(time.advance_to_next());
    waiter.join();
    EXPECT_FALSE(ready);
    EXPECT_EQ(time.now().time_since_epoch(), 12ms);
    go_on.open();
    f.get();
    drain(pool);
  }
}

TEST(ExecutorsTest, testDefaultThreadFactory) {
  thread_pool pool{{.core_threads = 1}};
  pool.submit([] {
#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)
        char name[16] = {};
        pthread_getname_np(pthread_self(), name, sizeof(name));
        EXPECT_STREQ(name, "takt-1");
#endif
      })
      .get();
  const auto s = drain(pool);
  EXPECT_EQ(s.largest, 1u);
}

// Java converts runnables to callables; here a lambda does.

TEST(ExecutorsTest, testCallable1) {
  thread_pool pool{thread_pool::single()};
  int runs = 0;
  pool.submit([&] { ++runs; }).get();
  EXPECT_EQ(runs, 1);
  drain(pool);
}

TEST(ExecutorsTest, testCallable2) {
  thread_pool pool{thread_pool::single()};
  int runs = 0;
  EXPECT_EQ(pool.submit([&] {
                  ++runs;
                  return std::string("one");
                })
                .get(),
            "one");
  EXPECT_EQ(runs, 1);
  drain(pool);
}

TEST(ExecutorsTest, testCallableNPE1) {
  thread_pool pool{thread_pool::single()};
  EXPECT_THROW(pool.execute(std::function<void()>()), std::invalid_argument);
  drain(pool);
}

TEST(ExecutorsTest, testCallableNPE2) {
  EXPECT_THROW(future_task<int>(std::function<int()>()), std::invalid_argument);
}

}  // namespace

// java.util.concurrent's ThreadPoolExecutorTest, with its names: tasks and shutdown.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::future;
using takt::task;
using takt::thread_pool;
using takt::sync::thread;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::tally;
using takt_test::until_stopped;

// --- tasks

TEST(ThreadPoolExecutorTest, testExecute) {
  thread_pool pool{{.core_threads = 1}};
  gate run;
  pool.execute([&] { run.open(); });
  run.wait();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetActiveCount) {
  thread_pool pool{{.core_threads = 2}};
  EXPECT_EQ(pool.statistics().active, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().active, 1u);
  one.release();
  drain(pool);
  EXPECT_EQ(pool.statistics().active, 0u);
}

TEST(ThreadPoolExecutorTest, testGetCompletedTaskCount) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 2, .time = &time}};
  EXPECT_EQ(pool.totals().finished, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.totals().finished, 0u);
  one.release();
  time.wait_for_waiters(1);  // the task has ended and is counted
  EXPECT_EQ(pool.totals().finished, 1u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetTaskCount) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_EQ(pool.totals().submitted, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.totals().submitted, 1u);
  EXPECT_EQ(pool.totals().finished, 0u);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pool.totals().submitted, 1 + i);
    pool.execute([] {});
    EXPECT_EQ(pool.totals().submitted, 2 + i);
    EXPECT_EQ(pool.totals().finished, 0u);
  }
  one.release();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, 6u);
}

TEST(ThreadPoolExecutorTest, testNullTaskSubmission) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_THROW(pool.execute(task()), std::invalid_argument);
  EXPECT_THROW(pool.execute(std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pool.submit(std::function<void()>())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pool.submit(static_cast<int (*)()>(nullptr))),
               std::invalid_argument);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testInterruptedSubmit) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .queue_capacity = 10, .time = &time}};
  gate go_on;
  gate begun;
  takt::sync::stop_source stop;
  thread waiter([&] {
    auto f = pool.submit([&] {
      begun.open();
      go_on.wait();
    });
    EXPECT_THROW(f.get(stop.get_token()), takt::wait_stopped);
  });
  begun.wait();
  time.wait_for_waiters(1);
  stop.request_stop();
  waiter.join();
  go_on.open();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGet_cancelled) {
  thread_pool pool{{.core_threads = 1}};
  busy one(pool, 1);
  std::vector<future<void>> tasks;
  for (int i = 0; i < 2; ++i) tasks.push_back(pool.submit([] {}));
  for (auto& f : tasks) {
    EXPECT_EQ(f.cancel(), cancel_result::prevented);
    EXPECT_TRUE(f.is_cancelled());
    EXPECT_TRUE(f.is_ready());
    EXPECT_TRUE(f.wait_for(0s));
    EXPECT_THROW(f.get(), takt::cancelled);
  }
  one.release();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.cancelled, 2u);
}

TEST(ThreadPoolExecutorTest, testBeforeAfter) {
  std::vector<int> order;
  thread_pool pool{{.core_threads = 1,
                    .before = [&](const task&) { order.push_back(1); },
                    .after = [&](const task&, const std::exception_ptr&) { order.push_back(3); }}};
  pool.execute([&] { order.push_back(2); });
  drain(pool);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

// --- the queue

TEST(ThreadPoolExecutorTest, testGetQueue) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 10}};
  busy one(pool, 1);
  std::vector<future<int>> tasks;
  for (int i = 0; i < 4; ++i) {
    tasks.push_back(pool.submit([i] { return i; }));
    EXPECT_EQ(pool.statistics().queued, tasks.size());
  }
  EXPECT_TRUE(pool.remove(tasks.back()));
  EXPECT_EQ(pool.statistics().queued, 3u);
  takt::task_list rest = pool.shutdown_now();
  ASSERT_EQ(rest.size(), 3u);
  for (task& t : rest) t.run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(tasks[static_cast<std::size_t>(i)].get(), i);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testRemove) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 10}};
  gate begun;
  gate go_on;
  std::vector<future<void>> tasks;
  tasks.push_back(pool.submit([&] {
    begun.open();
    go_on.wait();
  }));
  for (int i = 1; i < 6; ++i) tasks.push_back(pool.submit([] {}));
  begun.wait();
  EXPECT_FALSE(pool.remove(tasks[0]));  // it is running
  EXPECT_TRUE(pool.remove(tasks[4]));
  EXPECT_FALSE(pool.remove(tasks[4]));
  EXPECT_TRUE(pool.remove(tasks[3]));
  EXPECT_FALSE(pool.remove(tasks[3]));
  EXPECT_EQ(pool.statistics().queued, 3u);
  go_on.open();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, 4u);
  EXPECT_FALSE(pool.remove(tasks[5]));  // it has ended
}

TEST(ThreadPoolExecutorTest, testPurge) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 10}};
  busy one(pool, 1);
  std::vector<future<void>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(pool.submit([] {}));
  EXPECT_EQ(tasks[3].cancel(), cancel_result::prevented);
  EXPECT_EQ(tasks[4].cancel(), cancel_result::prevented);
  EXPECT_EQ(pool.statistics().queued, 5u);
  EXPECT_EQ(pool.purge(), 2u);
  EXPECT_EQ(pool.statistics().queued, 3u);
  EXPECT_EQ(pool.totals().pending(), 4u);
  EXPECT_EQ(pool.purge(), 0u);
  one.release();
  drain(pool);
}

// --- shutdown

TEST(ThreadPoolExecutorTest, testIsShutdown) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_FALSE(pool.is_shutdown());
  pool.shutdown();
  EXPECT_TRUE(pool.is_shutdown());
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testAwaitTermination_timesOut) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .time = &time}};
  EXPECT_FALSE(pool.is_terminated());
  EXPECT_FALSE(pool.await_termination(std::chrono::nanoseconds::min()));
  EXPECT_FALSE(pool.await_termination(std::chrono::hours::min()));
  EXPECT_FALSE(pool.await_termination(-1ns));
  EXPECT_FALSE(pool.await_termination(0ms));
  thread waiter([&] { EXPECT_FALSE(pool.await_termination(999'999ns)); });
  time.wait_for_waiters(1);
  EXPECT_TRUE(time.advance_to_next());
  waiter.join();
  EXPECT_EQ(time.now().time_since_epoch(), 999'999ns);
  pool.shutdown();
  EXPECT_TRUE(pool.is_terminated());
}

TEST(ThreadPoolExecutorTest, testIsTerminated) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_FALSE(pool.is_terminated());
  busy one(pool, 1);
  EXPECT_FALSE(pool.is_terminating());
  pool.shutdown();
  EXPECT_FALSE(pool.is_terminated());
  one.release();
  pool.await_termination();
  EXPECT_TRUE(pool.is_terminated());
  EXPECT_FALSE(pool.is_terminating());
}

TEST(ThreadPoolExecutorTest, testIsTerminating) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_FALSE(pool.is_terminating());
  busy one(pool, 1);
  EXPECT_FALSE(pool.is_terminating());
  pool.shutdown();
  EXPECT_TRUE(pool.is_terminating());
  one.release();
  drain(pool);
  EXPECT_FALSE(pool.is_terminating());
}

TEST(ThreadPoolExecutorTest, testTerminated) {
  bool called = false;
  thread_pool pool{{.core_threads = 1, .terminated = [&] { called = true; }}};
  drain(pool);
  EXPECT_TRUE(called);
}

TEST(ThreadPoolExecutorTest, testShutdownNow) {
  constexpr std::size_t threads = 2;
  constexpr std::size_t count = 5;
  tally ran;
  tally begun;
  thread_pool pool{{.core_threads = threads}};
  for (std::size_t i = 0; i < count; ++i) {
    pool.execute([&](const takt::sync::stop_token& stop) {
      begun.add();
      until_stopped(stop);
      ran.add();
    });
  }
  begun.wait_for(threads);
  const takt::task_list rest = pool.shutdown_now();
  EXPECT_TRUE(pool.is_shutdown());
  EXPECT_EQ(rest.size(), count - threads);
  pool.await_termination();
  EXPECT_TRUE(pool.is_terminated());
  EXPECT_EQ(ran.count(), threads);
  EXPECT_EQ(pool.totals().finished, threads);
  takt_test::expect_balance(pool);
}

}  // namespace

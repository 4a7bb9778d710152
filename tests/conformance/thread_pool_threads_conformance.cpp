// java.util.concurrent's ThreadPoolExecutorTest, with its names: threads.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::rejection;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::rejection_of;
using takt_test::tally;

// --- sizes

TEST(ThreadPoolExecutorTest, testGetCorePoolSize) {
  thread_pool pool{{.core_threads = 1, .max_threads = 2, .queue_capacity = 10}};
  EXPECT_EQ(pool.core_threads(), 1u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetMaximumPoolSize) {
  thread_pool pool{{.core_threads = 2, .max_threads = 3, .queue_capacity = 10}};
  EXPECT_EQ(pool.max_threads(), 3u);
  pool.resize(2, 4);
  EXPECT_EQ(pool.max_threads(), 4u);
  pool.resize(2, 3);
  EXPECT_EQ(pool.max_threads(), 3u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetPoolSize) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_EQ(pool.statistics().threads, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().threads, 1u);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetLargestPoolSize) {
  thread_pool pool{{.core_threads = 3}};
  EXPECT_EQ(pool.statistics().largest, 0u);
  busy one(pool, 3);
  EXPECT_EQ(pool.statistics().largest, 3u);
  one.release();
  drain(pool);
  EXPECT_EQ(pool.statistics().largest, 3u);
}

TEST(ThreadPoolExecutorTest, testPrestartCoreThread) {
  thread_pool pool{{.core_threads = 2, .max_threads = 6, .queue_capacity = 10}};
  EXPECT_EQ(pool.statistics().threads, 0u);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.statistics().threads, 1u);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.statistics().threads, 2u);
  EXPECT_EQ(pool.prestart(1), 0u);
  EXPECT_EQ(pool.statistics().threads, 2u);
  pool.resize(4, 6);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.prestart(1), 0u);
  EXPECT_EQ(pool.statistics().threads, 4u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testPrestartAllCoreThreads) {
  thread_pool pool{{.core_threads = 2, .max_threads = 6, .queue_capacity = 10}};
  EXPECT_EQ(pool.prestart(), 2u);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(pool.statistics().threads, 2u);
  pool.resize(4, 6);
  EXPECT_EQ(pool.prestart(), 2u);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(pool.statistics().threads, 4u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testCorePoolSizeIllegalArgumentException) {
  thread_pool pool{{.core_threads = 1, .max_threads = 2, .queue_capacity = 10}};
  EXPECT_THROW(pool.resize(static_cast<std::size_t>(-1), 2), std::invalid_argument);
  EXPECT_EQ(pool.core_threads(), 1u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testMaximumPoolSizeIllegalArgumentException) {
  thread_pool pool{{.core_threads = 2, .max_threads = 3, .queue_capacity = 10}};
  EXPECT_THROW(pool.resize(2, 1), std::invalid_argument);
  EXPECT_EQ(pool.max_threads(), 3u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testPoolSizeInvariants) {
  thread_pool pool{{.core_threads = 1, .max_threads = 1, .queue_capacity = 10}};
  for (std::size_t s = 2; s < 5; ++s) {
    pool.resize(s, s);
    EXPECT_THROW(pool.resize(s, s - 1), std::invalid_argument);
    EXPECT_EQ(pool.core_threads(), s);
    EXPECT_EQ(pool.max_threads(), s);
    EXPECT_THROW(pool.resize(s + 1, s), std::invalid_argument);
    EXPECT_EQ(pool.core_threads(), s);
    EXPECT_EQ(pool.max_threads(), s);
  }
  drain(pool);
}

// --- keep-alive

TEST(ThreadPoolExecutorTest, testGetKeepAliveTime) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 0,
                    .max_threads = 1,
                    .keep_alive = 1s,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  pool.submit([] {}).get();
  time.wait_for_waiters(1);
  EXPECT_TRUE(time.advance_to_next());
  EXPECT_EQ(time.now().time_since_epoch(), 1s);
  gone.wait_for(1);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testKeepAliveTimeIllegalArgumentException) {
  thread_pool pool{{.core_threads = 2, .max_threads = 3, .queue_capacity = 10}};
  EXPECT_THROW(pool.set_keep_alive(-1ms, false), std::invalid_argument);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testAllowsCoreThreadTimeOut) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 2, .keep_alive = 1s, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(2);
  EXPECT_FALSE(time.advance_to_next());  // no thread waits for a deadline
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testAllowCoreThreadTimeOut_true) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 2,
                    .max_threads = 10,
                    .queue_capacity = 10,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  pool.set_keep_alive(12ms, true);
  pool.submit([] {}).get();
  time.wait_for_waiters(1);
  time.advance(12ms);
  gone.wait_for(1);
  EXPECT_EQ(pool.statistics().threads, 0u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testAllowCoreThreadTimeOut_false) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 2,
                    .max_threads = 10,
                    .core_times_out = true,
                    .queue_capacity = 10,
                    .time = &time}};
  pool.set_keep_alive(12ms, false);
  pool.submit([] {}).get();
  time.wait_for_waiters(1);
  EXPECT_FALSE(time.advance_to_next());
  EXPECT_EQ(pool.statistics().threads, 1u);
  drain(pool);
}

// --- factories

TEST(ThreadPoolExecutorTest, testGetThreadFactory) {
  takt::sync::atomic<int> made{0};
  thread_pool pool{{.core_threads = 1, .thread = {.on_start = [&] { ++made; }}}};
  pool.submit([&] { EXPECT_EQ(made.load(), 1); }).get();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testFailingThreadFactory) {
  int asked = 0;
  thread_pool pool{{.core_threads = 4, .thread = {.may_start = [&] { return ++asked % 2 == 0; }}}};
  constexpr std::size_t count = 100;
  tally done;
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < count; ++i) {
    while (const auto why = rejection_of([&] { pool.execute([&] { done.add(); }); })) {
      ASSERT_EQ(why, rejection::no_thread);
      ++refused;
    }
  }
  done.wait_for(count);
  const auto s = drain(pool);
  EXPECT_EQ(refused, 1u);  // while there was no thread
  EXPECT_EQ(s.tasks.rejected, refused);
  EXPECT_EQ(s.tasks.finished, count);
  EXPECT_EQ(s.largest, 4u);
}

}  // namespace

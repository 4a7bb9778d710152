// java.util.concurrent's ThreadPoolExecutorTest, by its names: rejection.
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/sync.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::rejection_of;
using takt_test::tally;

TEST(ThreadPoolExecutorTest, testDefaultRejectedExecutionHandler) {
  thread_pool pool{{.core = 1, .queue_capacity = 0}};
  busy one(pool, 1);
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetRejectedExecutionHandler) {
  int calls = 0;
  thread_pool pool{{.core = 1,
                    .queue_capacity = 0,
                    .rejection = rejection_policy::call([&](const task&, rejection) { ++calls; })}};
  busy one(pool, 1);
  pool.execute([] {});
  EXPECT_EQ(calls, 1);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testStandardRejectedExecutionHandlers) {
  std::optional<decltype(takt::sync::this_thread_id())> ran;
  const auto record = [&] { ran = takt::sync::this_thread_id(); };
  const auto saturate = [&](rejection_policy policy) {
    ran.reset();
    thread_pool pool{{.core = 1, .queue_capacity = 0, .rejection = std::move(policy)}};
    busy one(pool, 1);
    const auto why = rejection_of([&] { pool.execute(record); });
    EXPECT_EQ(pool.statistics().queued, 0u);
    one.release();
    drain(pool);
    return why;
  };
  EXPECT_EQ(saturate(rejection_policy::abort()), rejection::saturated);
  EXPECT_FALSE(ran);
  EXPECT_EQ(saturate(rejection_policy::discard()), std::nullopt);
  EXPECT_FALSE(ran);
  EXPECT_EQ(saturate(rejection_policy::caller_runs()), std::nullopt);
  EXPECT_EQ(ran, takt::sync::this_thread_id());
}

// With each policy: one task runs, one is queued, and then no more; nor after shutdown.
TEST(ThreadPoolExecutorTest, testSubmittedTasksRejectedWhenSaturatedOrShutdown) {
  const auto saturate = [](rejection_policy policy) {
    thread_pool pool{{.core = 1, .queue_capacity = 1, .rejection = std::move(policy)}};
    busy one(pool, 1);
    auto queued = pool.submit([] { return 1; });
    const auto submit = [&] {
      return rejection_of([&] { static_cast<void>(pool.submit([] { return 2; }).wait_for(0s)); });
    };
    const auto saturated = submit();
    pool.shutdown();
    const auto shut_down = submit();
    one.release();
    EXPECT_TRUE(queued.wait_for(takt::never));
    drain(pool);
    return std::pair(saturated, shut_down);
  };
  const std::optional<rejection> none;
  EXPECT_EQ(saturate(rejection_policy::abort()),
            std::pair(std::optional(rejection::saturated), std::optional(rejection::shut_down)));
  EXPECT_EQ(saturate(rejection_policy::caller_runs()),
            std::pair(none, std::optional(rejection::shut_down)));
  EXPECT_EQ(saturate(rejection_policy::discard()), std::pair(none, none));
  EXPECT_EQ(saturate(rejection_policy::discard_oldest()), std::pair(none, none));
  EXPECT_EQ(
      saturate(rejection_policy::block(0s)),
      std::pair(std::optional(rejection::wait_timed_out), std::optional(rejection::shut_down)));
}

TEST(ThreadPoolExecutorTest, testSaturatedExecute_DiscardOldestPolicy) {
  thread_pool pool{
      {.core = 1, .queue_capacity = 1, .rejection = rejection_policy::discard_oldest()}};
  busy one(pool, 1);
  auto first = pool.submit([] { return 1; });
  auto second = pool.submit([] { return 2; });
  EXPECT_EQ(rejection_of([&] { first.get(); }), rejection::discarded);
  one.release();
  EXPECT_EQ(second.get(), 2);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testDiscardOldestOnShutdown) {
  thread_pool pool{
      {.core = 1, .queue_capacity = 1, .rejection = rejection_policy::discard_oldest()}};
  pool.shutdown();
  pool.execute([] { ADD_FAILURE(); });
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
}

TEST(ThreadPoolExecutorTest, testRejectedRecycledTask) {
  constexpr std::size_t count = 1000;
  tally done;
  const auto recycled = [&] { done.add(); };
  thread_pool pool{{.core = 1, .max = 30, .queue_capacity = 30}};
  for (std::size_t i = 0; i < count; ++i) {
    while (rejection_of([&] { pool.execute(recycled); })) takt::sync::yield();
  }
  done.wait_for(count);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, count);
}

}  // namespace

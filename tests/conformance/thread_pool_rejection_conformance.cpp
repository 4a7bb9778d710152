// java.util.concurrent's ThreadPoolExecutorTest, with its names: rejection.
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::rejection_of;
using takt_test::tally;
using ::testing::ElementsAre;

TEST(ThreadPoolExecutorTest, testDefaultRejectedExecutionHandler) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 0}};
  busy one(pool, 1);
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetRejectedExecutionHandler) {
  int calls = 0;
  thread_pool pool{{.core_threads = 1,
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
    thread_pool pool{{.core_threads = 1, .queue_capacity = 0, .rejection = std::move(policy)}};
    busy one(pool, 1);
    const auto why = rejection_of([&] { pool.execute(record); });
    EXPECT_EQ(pool.statistics().queued, 0u);
    one.release();
    drain(pool);
    return why;
  };
  EXPECT_EQ(saturate(rejection_policy::fail()), rejection::saturated);
  EXPECT_FALSE(ran);
  EXPECT_EQ(saturate(rejection_policy::drop()), std::nullopt);
  EXPECT_FALSE(ran);
  EXPECT_EQ(saturate(rejection_policy::caller_runs()), std::nullopt);
  EXPECT_EQ(ran, takt::sync::this_thread_id());
}

// The outcome of submit(): a value or a rejection. With each policy one task runs, one is queued,
// and further ones are rejected, as are tasks after shutdown.
struct outcome {
  bool thrown = false;  // by submit() itself
  std::variant<int, rejection> what;
  friend bool operator==(const outcome&, const outcome&) = default;
};
outcome thrown(rejection why) { return {true, why}; }
outcome ended(rejection why) { return {false, why}; }
outcome value(int n) { return {false, n}; }

outcome of(future<int>& f) {
  try {
    return value(f.get());
  } catch (const takt::rejected& r) {
    return ended(r.reason());
  }
}

// The outcomes of a queued task, of a task that finds the pool saturated, and of one after
// shutdown.
std::vector<outcome> submit_three(rejection_policy policy) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 1, .rejection = std::move(policy)}};
  busy one(pool, 1);
  std::array<future<int>, 3> futures;
  std::array<std::optional<rejection>, 3> refused;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == 2) pool.shutdown();
    refused[i] = rejection_of(
        [&] { futures[i] = pool.submit([n = static_cast<int>(i) + 1] { return n; }); });
  }
  one.release();
  drain(pool);
  std::vector<outcome> outcomes;
  for (std::size_t i = 0; i < 3; ++i) {
    outcomes.push_back(refused[i] ? thrown(*refused[i]) : of(futures[i]));
  }
  return outcomes;
}

TEST(ThreadPoolExecutorTest, testSubmittedTasksRejectedWhenSaturatedOrShutdown) {
  using enum rejection;
  EXPECT_THAT(submit_three(rejection_policy::fail()),
              ElementsAre(value(1), thrown(saturated), thrown(shut_down)));
  EXPECT_THAT(submit_three(rejection_policy::caller_runs()),
              ElementsAre(value(1), value(2), thrown(shut_down)));
  EXPECT_THAT(submit_three(rejection_policy::drop()),
              ElementsAre(value(1), ended(dropped), ended(shut_down)));
  EXPECT_THAT(submit_three(rejection_policy::drop_oldest()),
              ElementsAre(ended(dropped), value(2), ended(shut_down)));
  EXPECT_THAT(submit_three(rejection_policy::wait(0s)),
              ElementsAre(value(1), thrown(timed_out), thrown(shut_down)));
}

TEST(ThreadPoolExecutorTest, testSaturatedExecute_DiscardOldestPolicy) {
  thread_pool pool{
      {.core_threads = 1, .queue_capacity = 1, .rejection = rejection_policy::drop_oldest()}};
  busy one(pool, 1);
  auto first = pool.submit([] { return 1; });
  auto second = pool.submit([] { return 2; });
  EXPECT_EQ(rejection_of([&] { first.get(); }), rejection::dropped);
  one.release();
  EXPECT_EQ(second.get(), 2);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testDiscardOldestOnShutdown) {
  thread_pool pool{
      {.core_threads = 1, .queue_capacity = 1, .rejection = rejection_policy::drop_oldest()}};
  pool.shutdown();
  pool.execute([] { ADD_FAILURE(); });
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
}

TEST(ThreadPoolExecutorTest, testRejectedRecycledTask) {
  constexpr std::size_t count = 1000;
  tally done;
  const auto recycled = [&] { done.add(); };
  thread_pool pool{{.core_threads = 1, .max_threads = 30, .queue_capacity = 30}};
  for (std::size_t i = 0; i < count; ++i) {
    while (rejection_of([&] { pool.execute(recycled); })) takt::sync::yield();
  }
  done.wait_for(count);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, count);
}

}  // namespace

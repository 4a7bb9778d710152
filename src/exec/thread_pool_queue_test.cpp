// The queue of a pool: its order, remove() and purge().
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/exec/thread_pool.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using takt::future;
using takt::rejection;
using takt::task;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::rejection_of;
using testing::ElementsAre;

// --- order

TEST(thread_pool, begins_in_the_order_of_submission) {
  thread_pool pool{{.core_threads = 1}};
  std::vector<int> order;
  busy hold(pool, 1);
  for (int i = 0; i < 5; ++i) pool.execute([&order, i] { order.push_back(i); });
  hold.release();
  drain(pool);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(thread_pool, begins_by_priority_and_equals_as_they_came) {
  thread_pool pool{{.core_threads = 1, .order = takt::queue_order::priority}};
  std::vector<int> order;
  busy hold(pool, 1);
  const auto add = [&](int i, std::int16_t priority) {
    pool.execute(task([&order, i] { order.push_back(i); }, {.priority = priority}));
  };
  add(30, 0);
  add(10, 7);
  add(40, -32768);
  add(11, 7);
  add(0, 32767);
  add(31, 0);
  add(12, 7);
  add(32, 0);
  hold.release();
  drain(pool);
  EXPECT_THAT(order, ElementsAre(0, 10, 11, 12, 30, 31, 32, 40));
}

TEST(thread_pool, gives_back_by_priority_too) {
  thread_pool pool{{.core_threads = 1, .order = takt::queue_order::priority}};
  busy hold(pool, 1);
  for (const int priority : {1, 3, 2, 3}) {
    pool.execute(task([] {}, {.priority = static_cast<std::int16_t>(priority)}));
  }
  std::vector<std::pair<int, std::uint64_t>> order;
  for (const task& t : pool.shutdown_now()) order.emplace_back(t.priority(), t.id());
  EXPECT_THAT(order,
              ElementsAre(std::pair(3, 3u), std::pair(3, 5u), std::pair(2, 4u), std::pair(1, 2u)));
  hold.release();
  drain(pool);
}

// --- remove() and purge()

TEST(thread_pool, remove_gives_back_what_is_queued) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 2}};
  busy hold(pool, 1);
  auto first = pool.submit([] { return 1; }, {.name = "first"});
  auto second = pool.submit([] { return 2; });
  task taken = pool.remove(first);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken.name(), "first");
  EXPECT_FALSE(pool.remove(first));
  EXPECT_EQ(pool.statistics().queued, 1u);
  pool.execute([] {});  // there is room again
  EXPECT_FALSE(first.is_ready());
  EXPECT_EQ(taken.run(), takt::task_outcome::finished);
  EXPECT_EQ(first.get(), 1);
  hold.release();
  EXPECT_EQ(second.get(), 2);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.returned, 1u);
}

TEST(thread_pool, remove_keeps_the_order_of_the_rest) {
  thread_pool pool{{.core_threads = 1, .order = takt::queue_order::priority}};
  busy hold(pool, 1);
  std::vector<int> order;
  std::vector<future<void>> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(pool.submit([&order, i] { order.push_back(i); },
                              {.priority = static_cast<std::int16_t>(i)}));
  }
  static_cast<void>(pool.remove(all[6]));
  EXPECT_THROW(all[6].get(), takt::broken_promise);
  all[2].cancel();
  EXPECT_EQ(pool.purge(), 1u);
  hold.release();
  drain(pool);
  EXPECT_THAT(order, ElementsAre(7, 5, 4, 3, 1, 0));
}

TEST(thread_pool, remove_finds_neither_running_nor_finished_tasks) {
  thread_pool pool{{.core_threads = 1}};
  gate begun;
  gate go_on;
  auto running = pool.submit([&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  EXPECT_FALSE(pool.remove(running));
  go_on.open();
  running.wait();
  EXPECT_FALSE(pool.remove(running));
  drain(pool);
  EXPECT_FALSE(pool.remove(running));
}

TEST(thread_pool, purge_makes_room) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 3}};
  busy hold(pool, 1);
  auto a = pool.submit([] {});
  auto b = pool.submit([] {});
  auto c = pool.submit([] {});
  EXPECT_EQ(pool.purge(), 0u);
  EXPECT_EQ(a.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(c.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(pool.statistics().queued, 3u);
  EXPECT_EQ(pool.purge(), 2u);
  EXPECT_EQ(pool.statistics().queued, 1u);
  EXPECT_EQ(pool.totals().cancelled, 2u);
  pool.execute([] {});
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  hold.release();
  b.get();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.cancelled, 2u);
  EXPECT_EQ(s.tasks.finished, 4u);
  EXPECT_EQ(pool.purge(), 0u);
}

TEST(thread_pool, a_cancelled_task_is_passed_over) {
  thread_pool pool{{.core_threads = 1}};
  busy hold(pool, 1);
  bool run = false;
  auto f = pool.submit([&] { run = true; });
  EXPECT_EQ(f.cancel(), takt::cancel_result::prevented);
  hold.release();
  const auto s = drain(pool);
  EXPECT_FALSE(run);
  EXPECT_EQ(s.tasks.cancelled, 1u);
  EXPECT_EQ(s.tasks.started, 1u);
}

}  // namespace

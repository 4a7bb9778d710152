// What a pool does at moments that are hard to meet: a worker on its way, one too many, a region
// that begins meanwhile. Hooks and gates hold each of them.
#include <gtest/gtest.h>

#include <takt/base/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/task_runner.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using takt::rejection;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::rejection_of;
using takt_test::tally;

TEST(blocking_region, adds_none_if_one_is_on_its_way) {
  gate comes;
  tally started;
  takt::sync::atomic<int> starts{0};
  thread_pool pool{{.core = 2, .threads = {.on_start = [&] {
                                 const bool second = ++starts == 2;
                                 started.add();
                                 if (second) comes.wait();
                               }}}};
  gate queued;
  auto workers = pool.submit([&] {
    queued.wait();
    const takt::blocking_region waiting;
    return pool.statistics().workers;
  });
  started.wait_for(1);
  pool.execute([] {});  // for the second, which is held
  started.wait_for(2);
  queued.open();
  EXPECT_EQ(workers.get(), 2u);
  comes.open();
  EXPECT_EQ(drain(pool).largest, 2u);
}

TEST(blocking_region, adds_none_to_a_single_thread_with_a_full_queue) {
  thread_pool::options how = thread_pool::single();
  how.queue_capacity = 1;
  thread_pool pool{how};
  gate within;
  gate go_on;
  pool.execute([&] {
    const takt::blocking_region waiting;
    within.open();
    go_on.wait();
  });
  within.wait();
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  EXPECT_EQ(pool.statistics().workers, 1u);
  go_on.open();
  EXPECT_EQ(drain(pool).largest, 1u);
}

TEST(thread_pool, one_too_many_leaves_its_queue_to_the_others) {
  gate left;
  takt::sync::atomic<int> exits{0};
  thread_pool pool{{.core = 2, .threads = {.on_exit = [&] {
                                 if (++exits == 1) left.open();
                               }}}};
  busy first(pool, 1);
  busy second(pool, 1);
  takt::sync::atomic<bool> ran{false};
  pool.execute([&] { ran = true; });
  pool.resize(1);
  first.release();
  left.wait();
  EXPECT_FALSE(ran);
  EXPECT_EQ(pool.statistics().workers, 1u);
  second.release();
  drain(pool);
  EXPECT_TRUE(ran);
}

}  // namespace

// Rare interleavings: a worker that starts or is woken, a surplus worker, a blocking_region that
// begins meanwhile. Hooks and gates hold each of them.
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>

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
  thread_pool pool{{.core_threads = 2, .thread = {.on_start = [&] {
                                         const bool second = ++starts == 2;
                                         started.add();
                                         if (second) comes.wait();
                                       }}}};
  gate queued;
  auto workers = pool.submit([&] {
    queued.wait();
    const takt::blocking_region waiting;
    return pool.statistics().threads;
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
  thread_pool::options_type how = thread_pool::single();
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
  EXPECT_EQ(pool.statistics().threads, 1u);
  go_on.open();
  EXPECT_EQ(drain(pool).largest, 1u);
}

TEST(thread_pool, one_too_many_leaves_its_queue_to_the_others) {
  gate left;
  takt::sync::atomic<int> exits{0};
  thread_pool pool{{.core_threads = 2, .thread = {.on_exit = [&] {
                                         if (++exits == 1) left.open();
                                       }}}};
  pool.submit([&] { pool.submit([] {}).get(); }).get();  // an earlier wait does not count
  busy first(pool, 1);
  busy second(pool, 1);
  takt::sync::atomic<bool> ran{false};
  pool.execute([&] { ran = true; });
  pool.resize(1);
  first.release();
  left.wait();
  EXPECT_FALSE(ran);
  EXPECT_EQ(pool.statistics().threads, 1u);
  second.release();
  drain(pool);
  EXPECT_TRUE(ran);
}

TEST(waiting_in_a_pool, has_a_thread_started_that_was_refused_before) {
  takt::sync::atomic<bool> refuses{false};
  thread_pool pool{{.core_threads = 2, .thread = {.may_start = [&] { return !refuses; }}}};
  auto outer = pool.submit([&] {
    refuses = true;
    auto inner = pool.submit([] { return 1; });  // stays queued
    refuses = false;
    return inner.get();
  });
  EXPECT_EQ(outer.get(), 1);
  EXPECT_EQ(drain(pool).largest, 2u);
}

TEST(shutdown, lets_no_thread_start_in_advance) {
  thread_pool pool{{.core_threads = 2}};
  busy hold(pool, 1);
  pool.shutdown();
  EXPECT_EQ(pool.prestart(), 0u);
  hold.release();
  EXPECT_EQ(drain(pool).largest, 1u);
}

// A thread that stops the pool holds its lifecycle, but is not counted as a worker.
TEST(shutdown_and_cancel, is_no_worker) {
  thread_pool pool{{.core_threads = 1}};
  busy hold(pool, 1);
  std::size_t workers = 0;
  const auto look = [&](const std::size_t*) { workers = pool.statistics().threads; };
  pool.execute([owned = std::shared_ptr<std::size_t>(&workers, look)] {});
  pool.shutdown_and_cancel();
  EXPECT_EQ(workers, 1u);
  hold.release();
  drain(pool);
}

}  // namespace

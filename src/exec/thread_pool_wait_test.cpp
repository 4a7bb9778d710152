// Tasks that wait within their pool: for each other, and for other events in a blocking_region.
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::task;
using takt::task_list;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::finds_deadlock;
using takt_test::gate;
using takt_test::tally;

// --- futures

TEST(waiting_in_a_pool, is_found_out_if_no_thread_is_left) {
  thread_pool pool{thread_pool::single()};
  future<int> inner;
  pool.submit([&] {
        inner = pool.submit([] { return 1; });
        EXPECT_TRUE(finds_deadlock([&] { inner.wait(); }));
        EXPECT_TRUE(inner.valid());
      })
      .get();
  EXPECT_EQ(inner.get(), 1);  // another thread can wait for it
  drain(pool);
}

TEST(waiting_in_a_pool, is_found_out_by_the_last_that_waits) {
  thread_pool pool{{.core_threads = 2}};
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
  thread_pool pool{{.core_threads = 2}};
  EXPECT_EQ(pool.submit([&] { return pool.submit([] { return 1; }).get(); }).get(), 1);
  thread_pool prestarted{{.core_threads = 2}};
  prestarted.prestart();
  EXPECT_EQ(prestarted.submit([&] { return prestarted.submit([] { return 1; }).get(); }).get(), 1);
  drain(pool);
  drain(prestarted);
}

TEST(waiting_in_a_pool, is_fine_any_number_of_times) {
  thread_pool pool{{.core_threads = 2}};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pool.submit([&] { return pool.submit([] { return 1; }).get(); }).get(), 1);
  }
  drain(pool);
}

TEST(waiting_in_a_pool, keeps_a_thread_for_what_is_waited_for_when_the_pool_shrinks) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 2, .time = &time}};
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

// A task on the only thread waits for another task, which is taken out of the queue and run on
// another thread.
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

// --- blocking regions

TEST(blocking_region, adds_a_thread_for_what_comes_and_it_goes_again) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 1, .thread = {.on_exit = [&] { gone.add(); }}, .time = &time}};
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
  EXPECT_EQ(pool.statistics().threads, 1u);
  busy one(pool, 1);
  pool.execute([] {});
  EXPECT_EQ(pool.statistics().threads, 1u);
  one.release();
  drain(pool);
}

TEST(blocking_region, adds_a_thread_for_what_is_queued) {
  thread_pool pool{{.core_threads = 1}};
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
  thread_pool pool{{.core_threads = 1}};
  pool.submit([] { const takt::blocking_region waiting; }).get();
  const auto s = drain(pool);
  EXPECT_EQ(s.largest, 1u);
}

TEST(blocking_region, lets_a_task_wait_for_its_pool) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_EQ(pool.submit([&] {
                  const takt::blocking_region waiting;
                  return pool.submit([] { return 1; }).get();
                })
                .get(),
            1);
  drain(pool);
}

TEST(blocking_region, means_nothing_elsewhere) { const takt::blocking_region waiting; }

TEST(thread_pool, a_single_thread_stays_one_in_a_blocking_region) {
  thread_pool pool{thread_pool::single()};
  gate queued;
  bool overlapped = false;
  takt::sync::atomic<bool> inside{false};
  pool.execute([&] {
    inside = true;
    const takt::blocking_region waiting;
    queued.wait();
    inside = false;
  });
  auto next = pool.submit([&] { overlapped = inside.load(); });
  EXPECT_EQ(pool.statistics().largest, 1u);
  queued.open();
  next.get();
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(pool.statistics().largest, 1u);
}

}  // namespace

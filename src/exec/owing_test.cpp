// A thread runs its deferred continuations before it waits: here, for anything but a future.
#include "../../tests/support/owing.hpp"

#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>

#include <takt/exec/fork_join.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/future.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::fork_join;
using takt::stealing_pool;
using takt_test::busy;
using takt_test::gate;
using takt_test::owe_and_wait;

TEST(owing, a_join_outside_of_the_pool) {
  stealing_pool pool({.threads = 1});
  gate go_on;
  fork_join children(pool);
  children.spawn([&] { go_on.wait(); });
  owe_and_wait([&] { go_on.open(); }, [&] { children.join(); });
}

// The continuation is deferred by a child that the waiting thread runs itself.
TEST(owing, a_join_by_a_task_of_the_pool) {
  stealing_pool pool({.threads = 2});
  pool.submit([&] {
        takt::promise<void> p;
        gate begun;
        gate go_on;
        auto opened = p.get_future().then([&] { go_on.open(); });
        owe_and_wait([] {},
                     [&] {
                       fork_join children(pool);
                       children.spawn([&] {
                         begun.open();
                         go_on.wait();
                       });
                       begun.wait();  // the other thread runs it
                       children.spawn([&] { p.set_value(); });
                       children.join();
                     });
        opened.get();
      })
      .get();
}

// A deferred continuation may spawn as well.
TEST(owing, a_join_waits_for_what_is_spawned_meanwhile) {
  stealing_pool pool({.threads = 1});
  gate go_on;
  bool ran = false;
  fork_join children(pool);
  children.spawn([&] { go_on.wait(); });
  owe_and_wait(
      [&] {
        children.spawn([&] { ran = true; });
        go_on.open();
      },
      [&] {
        children.join();
        EXPECT_TRUE(ran);
      });
}

// A spawn() that waits may run a deferred continuation that spawns. Neither adds a child.
TEST(owing, a_spawn_that_waits_for_room) {
  stealing_pool pool(
      {.threads = 1, .queue_capacity = 1, .rejection = takt::rejection_policy::wait(0s)});
  gate begun;
  gate go_on;
  fork_join children(pool);
  children.spawn([&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  children.spawn([] {});
  const auto refused = [&] { EXPECT_THROW(children.spawn([] {}), takt::rejected); };
  owe_and_wait(refused, refused);
  go_on.open();
  EXPECT_NO_THROW(children.join());
}

// Deferred continuations run before the pool is stopped: they may wait for its tasks.
TEST(owing, the_end_of_a_pool_begins_afterwards) {
  stealing_pool pool({.threads = 1});
  bool before = false;
  owe_and_wait([&] { before = !pool.is_shutdown(); },
               [&] {
                 pool.shutdown_and_cancel();
                 EXPECT_TRUE(before);
               });
}

TEST(owing, a_submission_that_waits_for_room) {
  takt::thread_pool pool{
      {.core_threads = 1, .queue_capacity = 1, .rejection = takt::rejection_policy::wait(0s)}};
  const busy one(pool, 1);
  auto queued = pool.submit([] {});
  takt::task removed;
  owe_and_wait([&] { removed = pool.remove(queued); }, [&] { pool.execute([] {}); });
  EXPECT_TRUE(removed);
}

}  // namespace

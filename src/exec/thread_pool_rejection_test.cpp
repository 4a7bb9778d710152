// Outcomes of tasks for which a pool has neither a thread nor room.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::thread_pool;
using takt::sync::thread;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::rejection_of;
using takt_test::tally;
using testing::ElementsAre;

// One thread, and room for one task.
thread_pool::options_type narrow(rejection_policy policy) {
  return {.core_threads = 1, .queue_capacity = 1, .rejection = std::move(policy)};
}

TEST(rejection, abort_throws) {
  thread_pool pool{narrow(rejection_policy::fail())};
  busy hold(pool, 1);
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  EXPECT_EQ(rejection_of([&] { static_cast<void>(pool.submit([] {})); }), rejection::saturated);
  hold.release();
  auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 2u);
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::shut_down);
  EXPECT_EQ(rejection_of([&] { static_cast<void>(pool.submit([] {})); }), rejection::shut_down);
  s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 4u);
}

TEST(rejection, caller_runs_does_it_at_once) {
  recording_hook hook;
  int before = 0;
  auto how = narrow(rejection_policy::caller_runs());
  how.unhandled = &hook;
  how.before = [&](const task& t) { before += t.name() == "mine"; };
  thread_pool pool{how};
  busy hold(pool, 1);
  auto queued = pool.submit([] { return takt::sync::this_thread_id(); });
  auto mine = pool.submit([] { return takt::sync::this_thread_id(); }, {.name = "mine"});
  ASSERT_TRUE(mine.is_ready());
  EXPECT_EQ(mine.get(), takt::sync::this_thread_id());
  EXPECT_EQ(before, 1);
  auto failed = pool.submit([] { throw std::out_of_range("x"); });
  EXPECT_THROW(failed.get(), std::out_of_range);
  pool.execute([] { throw std::runtime_error("nobody's"); });
  EXPECT_THAT(hook.uncaught(), ElementsAre("nobody's"));
  EXPECT_FALSE(queued.is_ready());
  hold.release();
  EXPECT_NE(queued.get(), takt::sync::this_thread_id());
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, 5u);
  EXPECT_EQ(s.tasks.failed, 2u);
}

TEST(rejection, caller_runs_nothing_after_shutdown) {
  thread_pool pool{narrow(rejection_policy::caller_runs())};
  pool.shutdown();
  EXPECT_EQ(rejection_of([&] { pool.execute([] { ADD_FAILURE(); }); }), rejection::shut_down);
  EXPECT_EQ(rejection_of([&] { static_cast<void>(pool.submit([] { ADD_FAILURE(); })); }),
            rejection::shut_down);
  drain(pool);
}

TEST(rejection, discard_drops_the_new_one) {
  thread_pool pool{narrow(rejection_policy::drop())};
  busy hold(pool, 1);
  auto queued = pool.submit([] { return 1; });
  bool run = false;
  pool.execute([&] { run = true; });
  auto dropped = pool.submit([&] { run = true; });
  EXPECT_EQ(rejection_of([&] { dropped.get(); }), rejection::dropped);
  hold.release();
  EXPECT_EQ(queued.get(), 1);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 2u);
  auto late = pool.submit([&] { run = true; });
  EXPECT_EQ(rejection_of([&] { late.get(); }), rejection::shut_down);
  EXPECT_FALSE(run);
  takt_test::expect_balance(pool);
}

TEST(rejection, drop_oldest_drops_the_head) {
  auto how = narrow(rejection_policy::drop_oldest());
  how.queue_capacity = 2;
  thread_pool pool{how};
  busy hold(pool, 1);
  auto a = pool.submit([] { return 1; });
  auto b = pool.submit([] { return 2; });
  auto c = pool.submit([] { return 3; });
  EXPECT_EQ(rejection_of([&] { a.get(); }), rejection::dropped);
  EXPECT_FALSE(b.is_ready());
  hold.release();
  EXPECT_EQ(b.get(), 2);
  EXPECT_EQ(c.get(), 3);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
  auto late = pool.submit([] { return 4; });
  EXPECT_EQ(rejection_of([&] { late.get(); }), rejection::shut_down);
  takt_test::expect_balance(pool);
}

TEST(rejection, drop_oldest_drops_the_new_one_if_nothing_is_queued) {
  auto how = narrow(rejection_policy::drop_oldest());
  how.queue_capacity = 0;
  thread_pool pool{how};
  busy hold(pool, 1);
  auto dropped = pool.submit([] { return 1; });
  EXPECT_EQ(rejection_of([&] { dropped.get(); }), rejection::dropped);
  hold.release();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
}

TEST(rejection, what_is_dropped_is_no_unobserved_error) {
  recording_hook hook;
  auto how = narrow(rejection_policy::drop_oldest());
  how.unhandled = &hook;
  thread_pool pool{how};
  busy hold(pool, 1);
  for (int i = 0; i < 3; ++i) static_cast<void>(pool.submit([] {}));
  hold.release();
  drain(pool);
  static_cast<void>(pool.submit([] {}));
  EXPECT_THAT(hook.unobserved(), testing::IsEmpty());
}

TEST(rejection, a_continuation_of_what_is_dropped_may_use_the_pool) {
  thread_pool pool{narrow(rejection_policy::drop_oldest())};
  busy hold(pool, 1);
  auto oldest = pool.submit([] {});
  bool told = false;
  auto then = std::move(oldest).then([&](future<void> f) {
    EXPECT_EQ(rejection_of([&] { f.get(); }), rejection::dropped);
    EXPECT_EQ(pool.statistics().queued, 1u);
    told = true;
  });
  auto next = pool.submit([] { return 1; });
  EXPECT_TRUE(told);
  hold.release();
  EXPECT_EQ(next.get(), 1);
  drain(pool);
}

TEST(rejection, own_handler_gets_the_task_and_the_reason) {
  std::vector<rejection> why;
  std::optional<task> kept;
  thread_pool pool{narrow(rejection_policy::call([&](task t, rejection reason) {
    why.push_back(reason);
    kept = std::move(t);
  }))};
  busy hold(pool, 1);
  pool.execute([] {});
  auto f = pool.submit([] { return 5; }, {.name = "kept"});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->name(), "kept");
  EXPECT_FALSE(f.is_ready());
  EXPECT_EQ(kept->run(), takt::task_outcome::finished);
  EXPECT_EQ(f.get(), 5);
  auto dropped = pool.submit([] { return 6; });
  kept.reset();
  EXPECT_THROW(dropped.get(), takt::broken_promise);
  hold.release();
  drain(pool);
  auto late = pool.submit([] { return 7; });
  kept->cancel();
  EXPECT_TRUE(late.is_cancelled());
  EXPECT_THAT(why, ElementsAre(rejection::saturated, rejection::saturated, rejection::shut_down));
  takt_test::expect_balance(pool);
  EXPECT_EQ(pool.totals().rejected, 3u);
}

TEST(rejection, own_handler_may_throw) {
  thread_pool pool{narrow(
      rejection_policy::call([](const task&, rejection) { throw std::runtime_error("full"); }))};
  busy hold(pool, 1);
  pool.execute([] {});
  EXPECT_THROW(pool.execute([] {}), std::runtime_error);
  hold.release();
  drain(pool);
}

// --- waiting for room

// A pool without room for another task. Producers wait for room, on the test's clock.
struct full_pool {
  explicit full_pool(rejection_policy policy = rejection_policy::wait())
      : pool{{.core_threads = 1,
              .queue_capacity = 1,
              .rejection = std::move(policy),
              .time = &time}} {}

  takt::manual_clock time;
  thread_pool pool;
  busy hold{pool, 1};
  future<void> queued = pool.submit([] {});
};

TEST(rejection, block_waits_for_room) {
  full_pool full;
  tally run;
  thread producer([&] { full.pool.execute([&] { run.add(); }); });
  full.time.wait_for_waiters(1);
  EXPECT_EQ(run.count(), 0u);
  full.hold.release();
  producer.join();
  run.wait_for(1);
  const auto s = drain(full.pool);
  EXPECT_EQ(s.tasks.finished, 3u);
}

TEST(rejection, block_waits_for_a_thread_if_nothing_may_wait) {
  takt::manual_clock time;
  auto how = narrow(rejection_policy::wait());
  how.queue_capacity = 0;
  how.time = &time;
  thread_pool pool{how};
  busy hold(pool, 1);
  tally run;
  thread producer([&] { pool.execute([&] { run.add(); }); });
  time.wait_for_waiters(1);
  hold.release();
  producer.join();
  run.wait_for(1);
  drain(pool);
}

TEST(rejection, block_lets_each_of_many_in_as_room_comes) {
  full_pool full;
  tally run;
  std::vector<thread> producers;
  for (int i = 0; i < 4; ++i) {
    producers.emplace_back([&] { full.pool.execute([&] { run.add(); }); });
  }
  full.time.wait_for_waiters(4);
  full.hold.release();
  for (thread& t : producers) t.join();
  run.wait_for(4);
  drain(full.pool);
}

// Room appears while the only worker stays busy.
void make_room_while_blocked(void (*make_room)(full_pool&)) {
  full_pool full;
  thread producer([&] { full.pool.execute([] {}); });
  full.time.wait_for_waiters(1);
  make_room(full);
  producer.join();
  full.hold.release();
  drain(full.pool);
}

TEST(rejection, block_hears_of_room_made_by_others) {
  make_room_while_blocked([](full_pool& full) {
    EXPECT_TRUE(full.pool.remove(full.queued));
    EXPECT_THROW(full.queued.get(), takt::broken_promise) << "it was dropped";
  });
}

TEST(rejection, block_hears_of_a_larger_pool) {
  make_room_while_blocked([](full_pool& full) { full.pool.resize(2); });
}

TEST(rejection, block_hears_of_purged_tasks) {
  make_room_while_blocked([](full_pool& full) {
    full.queued.cancel();
    EXPECT_EQ(full.pool.purge(), 1u);
  });
}

TEST(rejection, block_hears_of_a_thread_for_one_that_blocks) {
  takt::manual_clock time;
  auto how = narrow(rejection_policy::wait());
  how.queue_capacity = 0;
  how.time = &time;
  thread_pool pool{how};
  gate begun;
  gate producer_waits;
  gate run;
  pool.execute([&] {
    begun.open();
    producer_waits.wait();
    const takt::blocking_region waiting;
    run.wait();  // only another thread can open it
  });
  begun.wait();
  thread producer([&] { pool.execute([&] { run.open(); }); });
  time.wait_for_waiters(1);
  producer_waits.open();
  producer.join();
  drain(pool);
}

// The thread that had made room leaves, and there is no other: the first producer notified is
// rejected, and the next one does not wait for ever.
TEST(rejection, block_tells_all_when_there_is_no_thread_any_more) {
  takt::manual_clock time;
  bool may_start = true;
  thread_pool pool{{.core_threads = 0,
                    .max_threads = 1,
                    .keep_alive = 0s,
                    .queue_capacity = 0,
                    .rejection = rejection_policy::wait(),
                    .thread = {.may_start = [&] { return std::exchange(may_start, false); }},
                    .time = &time}};
  busy hold(pool, 1);
  tally refused;
  std::vector<thread> producers;
  for (int i = 0; i < 3; ++i) {
    producers.emplace_back([&] {
      EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::no_thread);
      refused.add();
    });
  }
  time.wait_for_waiters(3);
  hold.release();
  refused.wait_for(3);
  for (thread& t : producers) t.join();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 3u);
}

TEST(rejection, block_gives_up_after_its_time) {
  full_pool full(rejection_policy::wait(1500us));
  std::optional<rejection> why;
  gate ended;
  thread producer([&] {
    why = rejection_of([&] { full.pool.execute([] {}); });
    ended.open();
  });
  full.time.wait_for_waiters(1);
  full.time.advance(1500us - 1ns);
  full.time.wait_for_waiters(1);
  EXPECT_FALSE(ended.is_open());
  full.time.advance(1ns);
  producer.join();
  EXPECT_EQ(why, rejection::timed_out);
  full.hold.release();
  const auto s = drain(full.pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
}

TEST(rejection, block_without_time_polls) {
  thread_pool pool{narrow(rejection_policy::wait(-1s))};
  busy hold(pool, 1);
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::timed_out);
  hold.release();
  drain(pool);
}

void end_while_blocked(void (*end)(thread_pool&), std::uint64_t finished) {
  full_pool full;
  std::optional<rejection> why;
  thread producer([&] { why = rejection_of([&] { full.pool.execute([] { ADD_FAILURE(); }); }); });
  full.time.wait_for_waiters(1);
  end(full.pool);
  producer.join();
  EXPECT_EQ(why, rejection::shut_down);
  full.hold.release();
  const auto s = drain(full.pool);
  EXPECT_EQ(s.tasks.finished, finished);
}

TEST(rejection, block_ends_with_shutdown) {
  end_while_blocked([](thread_pool& pool) { pool.shutdown(); }, 2);
}

TEST(rejection, block_ends_with_shutdown_now) {
  end_while_blocked([](thread_pool& pool) { static_cast<void>(pool.shutdown_now()); }, 1);
}

TEST(rejection, a_worker_never_waits_for_room_in_its_own_pool) {
  thread_pool pool{narrow(rejection_policy::wait())};
  auto why = pool.submit([&] {
    pool.execute([] {});
    return rejection_of([&] { pool.execute([] {}); });
  });
  EXPECT_EQ(why.get(), rejection::saturated);
  drain(pool);
}

TEST(rejection, block_throws_after_shutdown) {
  thread_pool pool{narrow(rejection_policy::wait())};
  pool.shutdown();
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::shut_down);
  drain(pool);
}

TEST(rejection, a_rejected_closure_is_destroyed) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 0}};
  busy hold(pool, 1);
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = owner;
  EXPECT_THROW(pool.execute([owner = std::move(owner)] {}), takt::rejected);
  EXPECT_TRUE(alive.expired());
  hold.release();
  drain(pool);
}

}  // namespace

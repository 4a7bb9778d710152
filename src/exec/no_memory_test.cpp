// The outcomes of tasks when there is no memory for them.
#include <array>
#include <cstddef>
#include <new>
#include <utility>

#include <gtest/gtest.h>

#include <takt/exec/fork_join.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>

#include "../../tests/support/pools.hpp"
#include "../base/counting_new.hpp"

namespace {

using takt::rejection;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::rejection_of;

// More tasks than an empty queue keeps capacity for.
constexpr std::size_t many = 400;

// Returns how many of `many` tasks are rejected with bad_alloc.
template <class Executor>
std::size_t refused_by(Executor& executor) {
  std::size_t refused = 0;
  const takt::no_memory here;
  for (std::size_t i = 0; i < many; ++i) {
    try {
      executor.execute([] {});
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  return refused;
}

template <class Executor>
std::size_t returned_without_memory(Executor& executor) {
  takt::task_list returned;
  {
    const takt::no_memory here;
    returned = executor.shutdown_now();
  }
  std::size_t runs = 0;
  for (takt::task& t : returned) {
    t.run();
    ++runs;
  }
  EXPECT_EQ(runs, returned.size());
  return runs;
}

TEST(no_memory, a_pool_that_cannot_start_a_thread_rejects) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  thread_pool pool{{.core_threads = 1}};
  {
    const takt::no_memory here;
    EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::no_thread);
  }
  pool.execute([] {});
  EXPECT_EQ(drain(pool).tasks.finished, 1u);
}

TEST(no_memory, a_pool_refuses_what_it_cannot_queue_and_goes_on) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  thread_pool pool{{.core_threads = 1}};
  busy one(pool, 1);
  const std::size_t refused = refused_by(pool);
  EXPECT_GT(refused, 0u);
  one.release();
  const takt_test::last_figures s = drain(pool);
  EXPECT_EQ(s.tasks.submitted, many + 1);
  EXPECT_EQ(s.tasks.rejected, refused);
  EXPECT_EQ(s.tasks.finished, many + 1 - refused);
}

// Calls its pool when it is destroyed: no thread may hold the lock then.
class asking {
 public:
  explicit asking(const thread_pool& pool) noexcept : pool_(&pool) {}
  asking(asking&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
  asking& operator=(asking&&) = delete;
  ~asking() {
    if (pool_ != nullptr) static_cast<void>(pool_->statistics());
  }
  void operator()() const noexcept {}

 private:
  const thread_pool* pool_;
};

TEST(no_memory, what_makes_room_for_nothing_ends_as_usual) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  takt::task_statistics told;
  thread_pool pool{{.core_threads = 1,
                    .queue_capacity = 2,
                    .rejection = takt::rejection_policy::drop_oldest(),
                    .observer = &told}};
  busy one(pool, 1);
  for (int i = 0; i < 2; ++i) pool.execute(asking(pool));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < many; ++i) {
    takt::task t(asking{pool});
    const takt::no_memory here;
    try {
      pool.execute(std::move(t));
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
  one.release();
  const takt_test::last_figures s = drain(pool);
  EXPECT_EQ(told.totals().rejected, s.tasks.rejected);
  EXPECT_EQ(told.totals().pending(), 0u);
  expect_balance(pool);
}

TEST(no_memory, an_observer_is_told_of_what_a_pool_refuses) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  takt::task_statistics told;
  thread_pool pool{{.core_threads = 1, .observer = &told}};
  busy one(pool, 1);
  const std::size_t refused = refused_by(pool);
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(told.totals().rejected, refused);
  one.release();
  drain(pool);
  EXPECT_EQ(told.totals().pending(), 0u);
}

TEST(no_memory, a_strand_refuses_what_it_cannot_queue_and_goes_on) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  takt::task_statistics told;
  for (takt::task_observer* observer :
       {static_cast<takt::task_observer*>(nullptr), static_cast<takt::task_observer*>(&told)}) {
    thread_pool pool{{.core_threads = 1}};
    takt::serial_executor strand{pool, {.observer = observer}};
    gate go_on;
    strand.execute([&] { go_on.wait(); });
    const std::size_t refused = refused_by(strand);
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(told.totals().rejected, observer == nullptr ? 0 : refused);
    go_on.open();
    strand.close(takt::drain);
    EXPECT_EQ(strand.totals().submitted, many + 1);
    EXPECT_EQ(strand.totals().rejected, refused);
    EXPECT_EQ(strand.totals().pending(), 0u);
  }
}

// Tasks queued before and after a worker's last look are in two lists, which are joined.
TEST(no_memory, shutdown_now_of_a_pool_gives_back_all) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  gate begun;
  gate go_on;
  thread_pool pool{{.core_threads = 1}};
  busy one(pool, 1);
  pool.execute([&] {
    begun.open();
    go_on.wait();
  });
  pool.execute([] {});
  one.release();
  begun.wait();
  for (std::size_t i = 0; i < many; ++i) pool.execute([] {});
  EXPECT_EQ(returned_without_memory(pool), many + 1);
  go_on.open();
  pool.await_termination();
  expect_balance(pool);
  EXPECT_EQ(pool.totals().returned, many + 1);
}

TEST(no_memory, shutdown_now_of_a_strand_gives_back_all) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  gate begun;
  gate go_on;
  thread_pool pool{{.core_threads = 1}};
  takt::serial_executor strand{pool};
  busy one(pool, 1);
  strand.execute([&] {
    begun.open();
    go_on.wait();
  });
  strand.execute([] {});
  one.release();
  begun.wait();
  for (std::size_t i = 0; i < many; ++i) strand.execute([] {});
  EXPECT_EQ(returned_without_memory(strand), many + 1);
  go_on.open();
  strand.await_termination();
  EXPECT_EQ(strand.totals().returned, many + 1);
  EXPECT_EQ(strand.totals().pending(), 0u);
}

// Tasks are also taken out of the local queues.
TEST(no_memory, shutdown_now_of_a_stealing_pool_gives_back_all) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  constexpr std::size_t threads = 3;
  std::array<gate, threads> begun;
  gate go_on;
  takt::stealing_pool pool{{.threads = threads}};
  for (gate& g : begun) {
    pool.execute([&] {
      for (std::size_t i = 0; i < many; ++i) pool.execute([] {});
      g.open();
      go_on.wait();
    });
    g.wait();
  }
  for (std::size_t i = 0; i < many; ++i) pool.execute([] {});
  const std::size_t returned = returned_without_memory(pool);
  go_on.open();
  pool.await_termination();
  expect_balance(pool);
  const takt::task_totals tasks = pool.totals();
  EXPECT_EQ(tasks.returned, returned);
  EXPECT_EQ(tasks.cancelled, 0u);
  EXPECT_GT(returned, many);
}

TEST(no_memory, what_cannot_be_removed_stays) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  thread_pool pool{{.core_threads = 1}};
  busy one(pool, 1);
  auto f = pool.submit([] { return 1; });
  {
    const takt::no_memory here;
    EXPECT_THROW(static_cast<void>(pool.remove(f)), std::bad_alloc);
  }
  EXPECT_EQ(pool.statistics().queued, 1u);
  takt::task taken = pool.remove(f);
  ASSERT_TRUE(taken);
  taken.run();
  EXPECT_EQ(f.get(), 1);
  one.release();
  EXPECT_EQ(drain(pool).tasks.returned, 1u);
}

TEST(no_memory, purge_takes_out_as_many_as_it_can) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  thread_pool pool{{.core_threads = 1}};
  busy one(pool, 1);
  for (std::size_t i = 0; i < many; ++i) static_cast<void>(pool.submit([] {}).cancel());
  {
    const takt::no_memory here;
    EXPECT_EQ(pool.purge(), 0u);
  }
  EXPECT_EQ(pool.statistics().queued, many);
  EXPECT_EQ(pool.purge(), many);
  one.release();
  EXPECT_EQ(drain(pool).tasks.cancelled, many);
}

TEST(no_memory, a_stealing_pool_refuses_what_it_cannot_queue_and_goes_on) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  gate begun;
  gate go_on;
  takt::stealing_pool pool{{.threads = 1}};
  pool.execute([&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  const std::size_t refused = refused_by(pool);
  EXPECT_GT(refused, 0u);
  go_on.open();
  EXPECT_TRUE(pool.close(takt::drain));
  expect_balance(pool);
  EXPECT_EQ(pool.totals().rejected, refused);
}

// The new task does not become a child, but the task that was dropped to make room was a child.
TEST(no_memory, a_child_that_was_dropped_for_one_that_could_not_be_queued_is_reported) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  std::size_t refused = 0;
  for (std::size_t before = 0; before < 16; ++before) {  // moves the queue's head in its memory
    takt::stealing_pool pool{
        {.threads = 1, .queue_capacity = 2, .rejection = takt::rejection_policy::drop_oldest()}};
    busy one(pool, 1);
    for (std::size_t i = 0; i < before; ++i) pool.execute([] {});
    takt::fork_join children(pool);
    children.spawn([] {});
    pool.execute([] {});
    try {
      const takt::no_memory here;
      children.spawn([] {});
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    one.release();
    EXPECT_THROW(children.join(), takt::broken_promise) << before;
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace

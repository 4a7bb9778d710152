// Executors that get no memory for a task: it is refused or cancelled, and the ledger balances.
#include <cstddef>
#include <new>
#include <optional>

#include <gtest/gtest.h>

#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/task.hpp>

#include "../../tests/support/pools.hpp"
#include "../base/counting_new.hpp"

namespace {

using takt::serial_executor;
using takt::task_list;
using takt::task_totals;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;

// Gives it that many small tasks, which need no memory but for their place in the queue; each time
// the next allocation fails. How many were refused.
template <class Executor>
std::size_t fill_without_memory(Executor& where, std::size_t count) {
  std::size_t refused = 0;
  for (; count != 0; --count) {
    takt::fail_allocation(1);
    try {
      where.execute([] {});
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  takt::fail_allocation(0);
  return refused;
}

template <class Executor>
void fill(Executor& where, std::size_t count) {
  for (; count != 0; --count) where.execute([] {});
}

TEST(out_of_memory, a_pool_refuses_what_it_has_no_place_for) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  thread_pool pool{{.core = 1}};
  std::optional<busy> hold(std::in_place, pool, 1);
  fill(pool, 1);
  const std::size_t refused = fill_without_memory(pool, 100);
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 100U);
  fill(pool, 1);
  hold.reset();
  const task_totals tasks = drain(pool).tasks;
  EXPECT_EQ(tasks.submitted, 103U);
  EXPECT_EQ(tasks.rejected, refused);
  EXPECT_EQ(tasks.finished, 103U - refused);
}

TEST(out_of_memory, a_strand_refuses_what_it_has_no_place_for) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  takt::manual_executor loop;
  serial_executor strand(loop);
  fill(strand, 2);  // one that brings a drain, and one without the lock
  const std::size_t refused = fill_without_memory(strand, 100);
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 100U);
  loop.run_one();
  const task_totals totals = strand.totals();
  EXPECT_EQ(totals.submitted, 102U);
  EXPECT_EQ(totals.rejected, refused);
  EXPECT_EQ(totals.finished, 102U - refused);
  EXPECT_EQ(totals.pending(), 0U);
}

// What waits is in two lists, of which the second one is added to the first.
TEST(out_of_memory, what_cannot_be_given_back_is_cancelled) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  thread_pool pool{{.core = 1}};
  takt_test::gate second;
  takt_test::tally begun;
  {
    const busy first(pool, 1);
    pool.execute([&] {
      begun.add();
      second.wait();
    });
    fill(pool, 10);
  }
  begun.wait_for(1);  // the ten have become the front
  fill(pool, 1000);
  takt::fail_allocation(1);
  const task_list unstarted = pool.shutdown_now();
  takt::fail_allocation(0);
  second.open();
  pool.await_termination();
  EXPECT_EQ(unstarted.size(), 1009U);
  const task_totals tasks = pool.statistics().tasks;
  EXPECT_EQ(tasks.returned, 1009U);
  EXPECT_EQ(tasks.cancelled, 1U);
  takt_test::expect_balance(pool);
}

}  // namespace

#include <takt/sched/scheduled_pool.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::manual_clock;
using takt::scheduled_pool;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::tally;

TEST(scheduled_pool, runs_at_once_and_later) {
  manual_clock time;
  scheduled_pool pool({.core = 2, .time = &time});
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  auto later = pool.schedule(10ms, [] { return 2; });
  EXPECT_EQ(later.get_delay(), 10ms);
  time.wait_for_waiters(1);
  EXPECT_FALSE(later.is_ready());
  time.advance(9ms);
  EXPECT_FALSE(later.is_ready());
  time.advance(1ms);
  EXPECT_EQ(later.get(), 2);
  pool.close(takt::drain);
  expect_balance(pool);
}

TEST(scheduled_pool, repeats_at_a_fixed_rate) {
  manual_clock time;
  scheduled_pool pool({.core = 1, .time = &time});
  tally ran;
  auto poll = pool.schedule_at_fixed_rate(0ms, 10ms, [&] { ran.add(); });
  ran.wait_for(1);
  for (std::size_t i = 2; i < 10; ++i) {
    time.wait_for_waiters(1);
    time.advance(10ms);
    ran.wait_for(i);
  }
  EXPECT_EQ(poll.run_count(), 9u);
  poll.cancel_and_join();
  EXPECT_THROW(poll.get(), takt::cancelled);
  EXPECT_EQ(pool.statistics().delayed, 0u);
  pool.close(takt::drain);
  expect_balance(pool);
}

}  // namespace

// The order in which a scheduled_pool starts tasks, where random scripts have shown differences
// from the JDK's pool (see tests/oracle/run.py), and its shutdown.
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../support/pools.hpp"
#include "scheduled_executor_suite.hpp"

namespace {

using namespace std::chrono_literals;
using scheduled_executor_suite::plain;
using scheduled_executor_suite::subject;
using takt_test::busy;
using ::testing::ElementsAre;

// One thread that is late: due tasks run in the order of their deadlines. Tasks end their own
// series with takt::cancelled.
struct late_pool {
  subject<plain> s{{.threads = 1, .missed = takt::catch_up}};
  busy hold{s.pool, 1};
  std::vector<int> ran;

  void run() {
    hold.release();
    s.drain();
  }
  // The same, until the periodic task has ended itself.
  void run(const takt::periodic_future& series) {
    hold.release();
    series.wait();
    s.drain();
  }
};

TEST(scheduled_pool_order, equal_deadlines_in_the_order_of_submission) {
  late_pool late;
  for (int i = 0; i < 5; ++i) {
    late.s.pool.execute(1ms, [&late, i] { late.ran.push_back(i); });
  }
  late.s.time.advance(1ms);
  late.run();
  EXPECT_THAT(late.ran, ElementsAre(0, 1, 2, 3, 4));
}

// It was submitted first, and so runs first whenever deadlines are equal.
TEST(scheduled_pool_order, periodic_task_keeps_its_turn) {
  late_pool late;
  int runs = 0;
  auto series = late.s.pool.schedule_at_fixed_rate(1ms, 1ms, [&] {
    late.ran.push_back(0);
    if (++runs == 3) throw takt::cancelled();
  });
  late.s.pool.execute(2ms, [&] { late.ran.push_back(2); });
  late.s.pool.execute(3ms, [&] { late.ran.push_back(3); });
  late.s.time.advance(3ms);
  late.run(series);
  EXPECT_THAT(late.ran, ElementsAre(0, 0, 2, 0, 3));
}

// "The deadline of a task without a delay is its submission": the late runs were due before. This
// also holds if no other task waits for its deadline at that moment.
TEST(scheduled_pool_order, submitted_task_does_not_overtake_late_runs) {
  late_pool late;
  int runs = 0;
  auto series = late.s.pool.schedule_at_fixed_rate(1ms, 1ms, [&] {
    late.ran.push_back(0);
    if (++runs == 1) late.s.pool.execute([&] { late.ran.push_back(1); });
    if (runs == 3) throw takt::cancelled();
  });
  late.s.time.advance(10ms);
  late.run(series);
  EXPECT_THAT(late.ran, ElementsAre(0, 0, 0, 1));
}

// --- the end

// Calls a hook once before now() returns.
class interrupted_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override {
    if (takt::sync::this_thread_id() == owner_ && hook) std::exchange(hook, nullptr)();
    return time.now();
  }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    time.park_until(p, deadline);
  }
  takt::manual_clock time;
  mutable std::function<void()> hook;  // called only on the thread that has constructed the clock

 private:
  const takt::sync::thread::id owner_ = takt::sync::this_thread_id();
};

// A periodic task becomes due while shutdown is about to cancel it, and just then the policy
// changes to keep it: it is cancelled or continues.
TEST(scheduled_pool_end, policy_that_changes_while_it_is_heeded) {
  interrupted_clock time;
  takt::scheduled_pool pool{{.threads = 1, .time = &time}};
  auto series = pool.schedule_at_fixed_rate(1ms, 1ms, [] {});
  time.time.wait_for_waiters(1);
  time.hook = [&] {  // between the end of intake and the cancellation
    time.time.wait_for_waiters(1);
    time.time.advance(1ms);
    time.time.wait_for_waiters(1);
    pool.keep_after_shutdown({.delayed = true, .periodic = true});
  };
  pool.shutdown();
  EXPECT_EQ(time.hook, nullptr);
  time.time.wait_for_waiters(1);
  time.time.advance(1ms);
  time.time.wait_for_waiters(1);
  EXPECT_TRUE(series.is_ready() || series.run_count() > 0);
  series.cancel();
  pool.close(takt::cancel_pending);
}

// A task that would not be waited for after shutdown cannot be moved to a later time then.
TEST(scheduled_pool_end, due_task_moved_after_shutdown) {
  subject<plain> s({.threads = 1, .keep = {.delayed = false}});
  busy hold(s.pool, 1);
  auto due = s.pool.schedule(0s, [] {});
  s.pool.shutdown();
  EXPECT_FALSE(due.is_ready());
  EXPECT_FALSE(due.reschedule(1h) && !due.is_cancelled());
  hold.release();
  s.pool.close(takt::cancel_pending);
}

}  // namespace

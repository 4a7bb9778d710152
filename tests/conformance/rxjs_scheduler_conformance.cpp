// RxJS: Scheduler-spec, QueueScheduler-spec, VirtualTimeScheduler-spec.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/rx/queue_scheduler.hpp>
#include <takt/rx/virtual_time_scheduler.hpp>

#include "../support/actions_on_loop.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;

struct Scheduler : takt_test::actions {
  rx::queue_scheduler queue{loop};
};
struct QueueScheduler : Scheduler {};
struct VirtualTimeScheduler : testing::Test {
  auto notes() {
    return [this](int n) { seen.push_back(n); };
  }
  rx::virtual_time_scheduler v;
  std::vector<int> seen;
};

TEST_F(Scheduler, should_schedule_things_recursively) {
  int first = 0;
  int second = 0;
  queue.schedule([&] {
    ++first;
    queue.schedule([&] {
      EXPECT_EQ(first, 1);
      ++second;
    });
    EXPECT_EQ(second, 0) << "not within the other";
  });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}
TEST_F(Scheduler, should_schedule_things_recursively_via_this_schedule) {
  int calls = 0;
  queue.schedule(
      0ms,
      [&](auto& self, int n) {
        ++calls;
        if (n < 9) self.schedule(0ms, n + 1);
      },
      0);
  EXPECT_EQ(calls, 10);
}
TEST_F(Scheduler, should_schedule_things_in_the_future_too) {
  queue.schedule(50ms, says("ran"));
  pass(49ms);
  EXPECT_EQ(log, "");
  pass(1ms);
  EXPECT_EQ(log, "ran");
}
TEST_F(Scheduler, should_be_reusable_after_an_error_is_thrown_during_execution) {
  std::vector<int> seen;
  queue.schedule(5ms, [&] { seen.push_back(1); });
  EXPECT_THROW(queue.schedule([] { throw std::runtime_error("bad"); }), std::runtime_error);
  pass(5ms);
  queue.schedule([&] { seen.push_back(2); });
  EXPECT_EQ(seen, (std::vector{1, 2}));
}

TEST_F(QueueScheduler, should_act_like_the_async_scheduler_if_delay_greater_than_0) {
  queue.schedule(5ms, [&] {
    log += 'a';
    queue.schedule(says("c"));
    log += 'b';
  });
  EXPECT_EQ(log, "");
  pass(5ms);
  EXPECT_EQ(log, "abc");
}
TEST_F(QueueScheduler, should_switch_from_synchronous_to_asynchronous_at_will) {
  std::vector<std::chrono::milliseconds> at;
  const auto a = queue.schedule(
      0ms,
      [&](auto& self, int n) {
        at.push_back(now());
        if (n == 0) self.schedule(50ms, 1);  // from immediate to delayed
        if (n == 1) self.schedule(0ms, 2);   // and back
      },
      0);
  EXPECT_EQ(at, std::vector{0ms});
  pass(200ms);
  EXPECT_EQ(at, (std::vector{0ms, 50ms, 50ms})) << "and no interval is left";
}
TEST_F(QueueScheduler,
       should_unsubscribe_the_rest_of_the_scheduled_actions_if_an_action_throws_an_error) {
  std::vector<rx::action<void>> made;
  EXPECT_THROW(queue.schedule([&] {
    made.push_back(queue.schedule(says("1")));
    made.push_back(queue.schedule([] { throw std::runtime_error("oops"); }));
    made.push_back(queue.schedule(says("3")));
  }),
               std::runtime_error);
  EXPECT_EQ(log, "1");
  EXPECT_FALSE(made[0].is_unsubscribed());
  EXPECT_TRUE(made[1].is_unsubscribed());
  EXPECT_TRUE(made[2].is_unsubscribed());
}

TEST_F(VirtualTimeScheduler, should_exist) { EXPECT_EQ(v.elapsed(), 0ms); }
TEST_F(VirtualTimeScheduler,
       should_schedule_things_in_order_when_flushed_if_each_this_is_scheduled_synchronously) {
  for (const int n : {1, 2, 3, 4, 5}) v.schedule(0ms, notes(), n);
  v.flush();
  EXPECT_EQ(seen, (std::vector{1, 2, 3, 4, 5}));
}
TEST_F(VirtualTimeScheduler,
       should_schedule_things_in_order_when_flushed_if_each_this_is_scheduled_at_random) {
  v.schedule(0ms, notes(), 1);
  v.schedule(100ms, notes(), 2);
  v.schedule(0ms, notes(), 3);
  v.schedule(500ms, notes(), 4);
  v.schedule(0ms, notes(), 5);
  v.schedule(100ms, notes(), 6);
  v.flush();
  EXPECT_EQ(seen, (std::vector{1, 3, 5, 2, 6, 4}));
}
TEST_F(VirtualTimeScheduler, should_schedule_things_in_order_when_there_are_negative_delays) {
  v.schedule(0ms, notes(), 1);
  v.schedule(100ms, notes(), 2);
  v.schedule(0ms, notes(), 3);
  v.schedule(-2ms, notes(), 4);
  v.schedule(0ms, notes(), 5);
  v.schedule(-10ms, notes(), 6);
  v.flush();
  EXPECT_EQ(seen, (std::vector{6, 4, 1, 3, 5, 2}));
}
TEST_F(VirtualTimeScheduler, should_support_recursive_scheduling) {
  std::vector<std::chrono::nanoseconds> at;
  v.schedule(
      100ms,
      [&](auto& self, int n) {
        at.push_back(v.elapsed());
        if (n < 3) self.schedule(100ms, n + 1);
      },
      1);
  v.flush();
  EXPECT_EQ(at, (std::vector<std::chrono::nanoseconds>{100ms, 200ms, 300ms}));
}
TEST_F(VirtualTimeScheduler,
       should_not_execute_virtual_actions_that_have_been_rescheduled_before_flush) {
  const auto a = v.schedule(10ms, notes(), 1);
  a.schedule(10ms, 2);
  v.flush();
  EXPECT_EQ(seen, std::vector{2});
}
TEST_F(VirtualTimeScheduler,
       should_execute_only_those_virtual_actions_that_fall_into_the_maxFrames_timespan) {
  v.set_max_time(50ms);
  v.schedule(0ms, notes(), 1);
  v.schedule(50ms, notes(), 2);
  v.schedule(51ms, notes(), 3);
  EXPECT_EQ(v.flush(), 2U);
  EXPECT_EQ(seen, (std::vector{1, 2}));
}
TEST_F(VirtualTimeScheduler,
       should_pick_up_actions_execution_where_it_left_off_after_reaching_previous_maxFrames_limit) {
  v.set_max_time(50ms);
  v.schedule(0ms, notes(), 1);
  v.schedule(100ms, notes(), 2);
  v.flush();
  EXPECT_EQ(seen, std::vector{1});
  v.set_max_time(100ms);
  v.flush();
  EXPECT_EQ(seen, (std::vector{1, 2}));
}

}  // namespace

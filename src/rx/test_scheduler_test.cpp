#include <takt/rx/test_scheduler.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt::cancel_result;

TEST(test_scheduler, runs_by_time_and_then_in_order_across_workers) {
  test_scheduler test;
  worker a = test.create_worker();
  std::string order;
  worker b = test.create_worker();
  a.schedule(2s, [&] { order += "4"; });
  a.schedule(1s, [&] { order += "1"; });
  b.schedule(1s, [&] {
    order += "2";
    b.schedule([&] { order += "+"; });
  });
  a.schedule(1s, [&] { order += "3"; });
  EXPECT_EQ(test.advance(1s), 4u);
  EXPECT_EQ(order, "123+");
  EXPECT_EQ(test.advance(1s), 1u);
  EXPECT_EQ(order, "123+4");
}

TEST(test_scheduler, time_is_that_of_the_task_that_runs) {
  test_scheduler test({.start = takt::clock::time_point(1h)});
  std::vector<std::chrono::nanoseconds> at;
  const takt::clock::time_point start = test.now();
  EXPECT_EQ(start, takt::clock::time_point(1h));
  const task_subscription beat =
      test.schedule_at_fixed_rate(1s, 2s, [&] { at.push_back(test.now() - start); });
  test.advance_to(start + 5500ms);
  EXPECT_EQ(at, (std::vector<std::chrono::nanoseconds>{1s, 3s, 5s}));
  EXPECT_EQ(test.now(), start + 5500ms);
  beat.unsubscribe();
  EXPECT_EQ(test.advance(1h), 0u);
}

TEST(test_scheduler, poll_runs_what_is_due) {
  test_scheduler test;
  std::string order;
  test.schedule([&] {
    order += "a";
    test.schedule([&] { order += "b"; });
    test.schedule(1ns, [&] { order += "c"; });
  });
  EXPECT_EQ(order, "");
  EXPECT_EQ(test.poll(), 2u);
  EXPECT_EQ(order, "ab");
}

TEST(test_scheduler, does_not_go_back) {
  test_scheduler test;
  test.advance(1s);
  EXPECT_THROW(test.advance(-1ns), std::invalid_argument);
  EXPECT_THROW(test.advance_to(test.now() - 1ns), std::invalid_argument);
}

TEST(test_scheduler, errors_leave_it_and_it_goes_on) {
  test_scheduler test;
  int ran = 0;
  worker w = test.create_worker();
  w.schedule(1s, [] { throw std::runtime_error("bad"); });
  w.schedule(1s, [&] { ++ran; });
  EXPECT_THROW(test.advance(2s), std::runtime_error);
  EXPECT_EQ(test.now().time_since_epoch(), 1s);
  EXPECT_EQ(ran, 0);
  test.advance(0s);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(w.tracked(), 0u);
}

TEST(test_scheduler, a_far_series_catches_up_within_one_step) {
  test_scheduler test;
  int ran = 0;
  const task_subscription beat = test.schedule_at_fixed_rate(0s, 1ms, [&] { ++ran; });
  test.advance(1min);
  EXPECT_EQ(ran, 60'001);
  EXPECT_EQ(beat.missed_count(), 0u);
}

TEST(test_scheduler, handles_outlive_it_and_its_clock) {
  task_subscription a;
  task_subscription b;
  {
    test_scheduler test;
    worker w = test.create_worker();
    a = w.schedule([] {});
    b = w.schedule(1s, [] {});
    test.poll();
  }
  for (const task_subscription& over : {a, b}) {
    EXPECT_TRUE(over.is_unsubscribed());
    EXPECT_EQ(over.cancel_and_join_for(1h), cancel_result::done);
  }
}

TEST(test_scheduler, shuts_down_and_starts) {
  test_scheduler test;
  worker w = test.create_worker();
  const task_subscription a = w.schedule(1s, [] { FAIL(); });
  test.shutdown();
  EXPECT_TRUE(a.is_unsubscribed());
  test.advance(2s);
  EXPECT_TRUE(test.schedule([] { FAIL(); }).is_rejected());
  test.start();
  int ran = 0;
  test.schedule([&] { ++ran; });
  test.poll();
  EXPECT_EQ(ran, 1);
  test.time().advance(1s);
  EXPECT_EQ(test.now().time_since_epoch(), 3s);
}

}  // namespace

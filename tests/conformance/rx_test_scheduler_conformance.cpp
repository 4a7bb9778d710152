// RxJava's tests of its test scheduler, test by test.
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <takt/rx/test_scheduler.hpp>
#include <takt/rx/worker.hpp>

#include "rx_support.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt_test::recursive;

using times = std::vector<std::chrono::nanoseconds>;

void periodic_scheduling(bool by_worker) {
  test_scheduler test;
  worker inner = test.create_worker();
  times called;
  const task_subscription s = inner.schedule_at_fixed_rate(
      1s, 2s, [&] { called.push_back(test.now().time_since_epoch()); });
  test.advance(999ms);
  EXPECT_EQ(called, times{});
  test.advance(1ms);
  EXPECT_EQ(called, times{1s});
  test.advance(1999ms);
  EXPECT_EQ(called, times{1s});
  test.advance(1ms);
  EXPECT_EQ(called, (times{1s, 3s}));
  test.advance(5s);
  EXPECT_EQ(called, (times{1s, 3s, 5s, 7s}));
  if (by_worker) {
    inner.unsubscribe();
  } else {
    s.unsubscribe();
  }
  test.advance(11s);
  EXPECT_EQ(called.size(), 4u);
}
TEST(TestSchedulerTest, periodicScheduling) { periodic_scheduling(true); }
TEST(TestSchedulerTest, testPeriodicScheduling) { periodic_scheduling(true); }
TEST(TestSchedulerTest, periodicSchedulingUnsubscription) { periodic_scheduling(false); }
TEST(TestSchedulerTest, testPeriodicSchedulingUnsubscription) { periodic_scheduling(false); }

void immediate_unsubscribes(bool by_worker) {
  test_scheduler test;
  int ran = 0;
  worker inner = test.create_worker();
  const task_subscription s = inner.schedule(recursive([&](const recursive& self) {
    ++ran;
    inner.schedule(self);
  }));
  if (by_worker) {
    inner.unsubscribe();
  } else {
    s.unsubscribe();
  }
  test.poll();
  EXPECT_EQ(ran, 0);
}
TEST(TestSchedulerTest, immediateUnsubscribes) { immediate_unsubscribes(true); }
TEST(TestSchedulerTest, testImmediateUnsubscribes) { immediate_unsubscribes(true); }
TEST(TestSchedulerTest, immediateUnsubscribes2) { immediate_unsubscribes(false); }
TEST(TestSchedulerTest, testImmediateUnsubscribes2) { immediate_unsubscribes(false); }

void nested_schedule() {
  test_scheduler test;
  int called = 0;
  worker inner = test.create_worker();
  const auto poll = [&](const subscription& wanted) {
    inner.schedule(recursive([&inner, &called, wanted](const recursive& self) {
      if (wanted.is_unsubscribed()) return;
      ++called;
      inner.schedule(5s, self);
    }));
  };
  const subscription first = subscription::empty();
  poll(first);
  test.advance_to(takt::clock::time_point(6s));
  EXPECT_EQ(called, 2);
  first.unsubscribe();
  test.advance_to(takt::clock::time_point(11s));
  EXPECT_EQ(called, 2);
  poll(subscription::empty());
  test.advance_to(takt::clock::time_point(12s));
  EXPECT_EQ(called, 3);
}
TEST(TestSchedulerTest, nestedSchedule) { nested_schedule(); }
TEST(TestSchedulerTest, testNestedSchedule) { nested_schedule(); }

template <class Unit>
void expect_two_in_sixty() {
  test_scheduler test;
  int ran = 0;
  const task_subscription s = test.schedule_at_fixed_rate(Unit(30), Unit(30), [&] { ++ran; });
  test.advance_to(takt::clock::time_point(Unit(60)));
  EXPECT_EQ(ran, 2);
}
TEST(TestSchedulerTest, resolution) {
  expect_two_in_sixty<std::chrono::nanoseconds>();
  expect_two_in_sixty<std::chrono::microseconds>();
  expect_two_in_sixty<std::chrono::milliseconds>();
  expect_two_in_sixty<std::chrono::seconds>();
  expect_two_in_sixty<std::chrono::minutes>();
  expect_two_in_sixty<std::chrono::hours>();
  expect_two_in_sixty<std::chrono::days>();
}

TEST(TestSchedulerTest, workerDisposed) {
  test_scheduler test;
  worker w = test.create_worker();
  w.unsubscribe();
  EXPECT_TRUE(w.is_unsubscribed());
}
TEST(TestSchedulerTest, constructorTimeSetsTime) {
  const test_scheduler test({.start = takt::clock::time_point(5s)});
  EXPECT_EQ(test.now().time_since_epoch(), 5s);
}
TEST(TestSchedulerTest, disposeWork) {
  test_scheduler test;
  int ran = 0;
  const task_subscription d = test.schedule([&] { ++ran; });
  EXPECT_FALSE(d.is_unsubscribed());
  d.unsubscribe();
  EXPECT_TRUE(d.is_unsubscribed());
  d.unsubscribe();
  test.advance(1s);
  EXPECT_EQ(ran, 0);
}

}  // namespace

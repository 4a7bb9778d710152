#include <takt/rx/virtual_time_scheduler.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/task/future.hpp>

#include "../../tests/support/nesting.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;

TEST(virtual_time_scheduler, an_error_closes_the_rest_and_leaves_the_time_at_it) {
  rx::virtual_time_scheduler v;
  std::string log;
  const auto later = v.schedule(20ms, [] {});
  const auto sooner = v.schedule(15ms, [] {});
  later.add([&] { log += "later "; });
  sooner.add([&] { log += "sooner "; });
  v.schedule(10ms, [] { throw std::runtime_error("bad"); });
  EXPECT_THROW(v.flush(), std::runtime_error);
  EXPECT_EQ(log, "sooner later ") << "in the order of time";
  EXPECT_EQ(v.elapsed(), 10ms);
  EXPECT_EQ(v.time().now(), v.now());
  v.schedule(1ms, [&] { log += "usable"; });
  EXPECT_EQ(v.flush(), 1U);
  EXPECT_EQ(v.elapsed(), 11ms);
}

TEST(virtual_time_scheduler, a_nested_flush_runs_what_is_left) {
  rx::virtual_time_scheduler v;
  std::string log;
  v.schedule(1ms, [&] {
    log += "(";
    EXPECT_EQ(v.flush(), 2U);
    log += ")";
  });
  v.schedule(2ms, [&] { log += 'a'; });
  v.schedule(3ms, [&] { log += 'b'; });
  EXPECT_EQ(v.flush(), 1U);
  EXPECT_EQ(log, "(ab)");
}

// Results set by actions reach their continuations at once, even if a continuation calls flush().
TEST(virtual_time_scheduler, actions_deliver_at_once) {
  takt_test::fully_nested([] {
    rx::virtual_time_scheduler v;
    bool called = false;
    bool at_once = false;
    promise<void> p;
    auto f = p.get_future().then([&] { called = true; });
    v.schedule(1ms, [&] {
      p.set_value();
      at_once = called;
    });
    EXPECT_EQ(v.flush(), 1U);
    EXPECT_TRUE(at_once);
  });
}

TEST(virtual_time_scheduler, never_is_never_and_time_does_not_go_back) {
  rx::virtual_time_scheduler v;
  std::string log;
  const auto a = v.schedule(never, [&] { log += "never"; });
  v.schedule(10ms, [&] {
    v.schedule(0ms, [&] { log += "now "; });
    v.schedule(-5ms, [&] {
      log += "past ";
      EXPECT_EQ(v.elapsed(), 10ms);
    });
  });
  v.flush();
  EXPECT_EQ(log, "past now ");
  EXPECT_FALSE(a.is_unsubscribed());
}

TEST(virtual_time_scheduler, unsubscribed_and_moved_ones_leave_no_turn) {
  rx::virtual_time_scheduler v;
  std::string log;
  const auto a = v.schedule(1ms, [&](const std::string& s) { log += s; }, std::string("a"));
  const auto b = v.schedule(1ms, [&] { log += 'b'; });
  a.schedule(1ms, "A");  // moves it behind b
  EXPECT_EQ(v.flush(), 2U);
  EXPECT_EQ(log, "bA");
  const auto c = v.schedule(1ms, [&] { log += 'c'; });
  c.unsubscribe();
  EXPECT_EQ(v.flush(), 0U);
}

TEST(virtual_time_scheduler, what_an_error_closes_goes_by_time_and_then_by_schedule) {
  rx::virtual_time_scheduler v;
  std::string log;
  const auto first = v.schedule(5ms, [] {});
  const auto second = v.schedule(5ms, [] {});
  first.add([&] { log += "first "; });
  second.add([&] { log += "second "; });
  v.schedule(1ms, [] { throw std::runtime_error("bad"); });
  first.schedule(5ms);  // moves it behind the second
  EXPECT_THROW(v.flush(), std::runtime_error);
  EXPECT_EQ(log, "second first ");
}

// As in RxJS: actions are closed until none is pending.
TEST(virtual_time_scheduler, an_error_closes_also_what_teardowns_schedule) {
  rx::virtual_time_scheduler v;
  bool ran = false;
  bool closed = false;
  v.schedule(10ms, [] { throw std::runtime_error("bad"); });
  const auto rest = v.schedule(20ms, [] {});
  rest.add([&] {
    const auto late = v.schedule(5ms, [&] { ran = true; });
    late.add([&] { closed = true; });
  });
  EXPECT_THROW(v.flush(), std::runtime_error);
  EXPECT_TRUE(closed);
  EXPECT_EQ(v.flush(), 0U);
  EXPECT_FALSE(ran);
}

TEST(virtual_time_scheduler, a_flush_keeps_to_the_limit_that_it_began_with) {
  rx::virtual_time_scheduler v({.max_time = 10ms});
  std::string log;
  v.schedule(1ms, [&] {
    log += 'a';
    v.set_max_time(20ms);
  });
  v.schedule(15ms, [&] {
    log += 'b';
    v.set_max_time(1ms);
  });
  v.schedule(16ms, [&] { log += 'c'; });
  EXPECT_EQ(v.flush(), 1U);
  EXPECT_EQ(log, "a");
  EXPECT_EQ(v.flush(), 2U);
  EXPECT_EQ(log, "abc");
}

TEST(virtual_time_scheduler, begins_where_it_is_told_and_counts_from_there) {
  const clock::time_point start(1h);
  rx::virtual_time_scheduler v({.start = start, .max_time = 10ms});
  EXPECT_EQ(v.now(), start);
  EXPECT_EQ(v.time().now(), start);
  EXPECT_EQ(v.elapsed(), 0ms);
  std::string log;
  v.schedule(10ms, [&] { log += "last"; });
  v.schedule(10ms + 1ns, [&] { log += "beyond"; });
  EXPECT_EQ(v.flush(), 1U);
  EXPECT_EQ(log, "last");
  EXPECT_EQ(v.now(), start + 10ms);
}

}  // namespace

// Results that tasks of a loop deliver reach their continuations before run() returns, whatever
// code calls run().
#include <cstddef>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include <takt/sched/event_loop.hpp>
#include <takt/task/future.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/nesting.hpp"

namespace {

using takt::event_loop;
using takt_test::detached;
using takt_test::fully_nested;

// Calls `f` in a coroutine that a continuation has resumed.
void in_a_resumed_coroutine(const std::function<void()>& f) {
  takt::promise<void> start;
  [](takt::future<void> begin, const std::function<void()>& call) -> detached {
    co_await std::move(begin);
    call();
  }(start.get_future(), f);
  start.set_value();
}

// A task delivers a result. The tasks after it check for it, at most a hundred times.
void run_delivers() {
  event_loop loop;
  bool called = false;
  int looks = 0;
  takt::future<void> f;
  std::function<void()> look = [&] {
    if (called || ++looks == 100) {
      loop.stop();
    } else {
      loop.execute([&] { look(); });
    }
  };
  loop.execute([&] {
    takt::promise<void> p;
    f = p.get_future().then([&] { called = true; });
    p.set_value();
    look();
  });
  loop.run();
  EXPECT_TRUE(called);
  EXPECT_EQ(looks, 0);
}

TEST(delivery, by_a_loop_that_a_coroutine_runs) { in_a_resumed_coroutine(run_delivers); }
TEST(delivery, by_a_loop_that_a_continuation_runs) { fully_nested(run_delivers); }

// Continuations deferred before the loop runs do not wait until the loop is idle.
void busy_loop(std::size_t (event_loop::*run)()) {
  fully_nested([&] {
    event_loop loop;
    bool called = false;
    bool called_before = false;
    takt::promise<void> p;
    auto f = p.get_future().then([&] { called = true; });
    p.set_value();
    EXPECT_FALSE(called);
    loop.execute([&] {
      called_before = called;
      loop.stop();
    });
    (loop.*run)();
    EXPECT_TRUE(called_before);
  });
}

TEST(delivery, running_a_loop_calls_deferred_continuations) { busy_loop(&event_loop::run); }
TEST(delivery, polling_a_loop_calls_deferred_continuations) { busy_loop(&event_loop::poll); }

TEST(delivery, a_frame_calls_deferred_continuations) {
  fully_nested([] {
    event_loop loop;
    bool called = false;
    takt::promise<void> p;
    auto f = p.get_future().then([&] { called = true; });
    p.set_value();
    EXPECT_FALSE(called);
    loop.run_frame();
    EXPECT_TRUE(called);
  });
}

// As in exec/delivery_test.cpp: a continuation called later would use a stack frame that is gone.
constexpr int deep = 5 * static_cast<int>(takt::max_nested_continuations);

void run_at_each_level(int level) {
  event_loop loop;
  takt::promise<void> p;
  bool called = false;
  auto next = p.get_future().then([level, &called] {
    if (level < deep) run_at_each_level(level + 1);
    called = true;
  });
  loop.execute([&p] { p.set_value(); });
  loop.shutdown();
  loop.run();
  EXPECT_TRUE(called) << "at level " << level;
}

TEST(delivery, running_a_loop_is_not_deferred_however_deep) { run_at_each_level(1); }

// run() is called within the call that ends the loop, and does not wait for that call.
TEST(delivery, a_loop_that_its_own_end_runs_has_nothing_to_wait_for) {
  event_loop loop;
  std::size_t ran = 1;
  auto f = loop.submit([] {});
  auto g = std::move(f).then([&](const takt::future<void>&) { ran = loop.run(); });
  loop.shutdown_and_cancel();
  EXPECT_EQ(ran, 0u);
  EXPECT_TRUE(g.is_ready());
}

}  // namespace

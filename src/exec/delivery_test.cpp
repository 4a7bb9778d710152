// Results of tasks and coroutines reach their continuations at once, wherever the executor runs.
#include <deque>
#include <functional>
#include <system_error>

#include <gtest/gtest.h>

#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>
#include <takt/task/detail/executor_scope.hpp>
#include <takt/task/future.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/nesting.hpp"
#include "../../tests/support/pools.hpp"

namespace {

using takt_test::detached;
using takt_test::fully_nested;
using takt_test::gate;

// Delivers a result and returns whether its continuation has been called by then.
bool delivers_at_once() {
  bool called = false;
  takt::promise<void> p;
  auto f = p.get_future().then([&] { called = true; });
  p.set_value();
  return called;
}

// Calls `f` in a coroutine that a pool has resumed.
void in_a_resumed_coroutine(const std::function<void()>& f) {
  takt::thread_pool pool({.core_threads = 1});
  gate ended;
  [](takt::thread_pool& on, const std::function<void()>& call, gate& done) -> detached {
    co_await takt::resume_on(on);
    call();
    done.open();
  }(pool, f, ended);
  ended.wait();
  pool.close(takt::drain);
}

TEST(delivery, by_a_coroutine_on_a_pool) {
  in_a_resumed_coroutine([] { EXPECT_TRUE(delivers_at_once()); });
}

void poll_delivers() {
  takt::manual_executor later;
  bool at_once = false;
  later.execute([&] { at_once = delivers_at_once(); });
  EXPECT_EQ(later.poll(), 1U);
  EXPECT_TRUE(at_once);
}

TEST(delivery, by_a_task_that_a_coroutine_polls) { in_a_resumed_coroutine(poll_delivers); }
TEST(delivery, by_a_task_that_a_continuation_polls) { fully_nested(poll_delivers); }

// Continuations that the thread has deferred before are called as well.
TEST(delivery, polling_calls_deferred_continuations) {
  fully_nested([] {
    bool called = false;
    takt::promise<void> p;
    auto f = p.get_future().then([&] { called = true; });
    p.set_value();
    EXPECT_FALSE(called);
    takt::manual_executor later;
    EXPECT_EQ(later.poll(), 0U);
    EXPECT_TRUE(called);
  });
}

TEST(delivery, a_blocking_region_calls_deferred_continuations) {
  fully_nested([] {
    bool called = false;
    takt::promise<void> p;
    auto f = p.get_future().then([&] { called = true; });
    p.set_value();
    EXPECT_FALSE(called);
    const takt::blocking_region waiting;
    EXPECT_TRUE(called);
  });
}

// The coroutine resumes within the strand, although the strand is drained within continuations.
void resumes_on_a_strand() {
  const takt::detail::executor_scope* const outer = takt::detail::executor_scope::innermost();
  takt::inline_executor here;
  takt::serial_executor strand(here);
  bool arrived = false;
  const takt::detail::executor_scope* runner = outer;
  [](takt::serial_executor& on, bool& ended,
     const takt::detail::executor_scope*& runs_it) -> detached {
    co_await takt::resume_on(on);
    runs_it = takt::detail::executor_scope::innermost();
    ended = true;
  }(strand, arrived, runner);
  EXPECT_TRUE(arrived);
  EXPECT_NE(runner, outer) << "it was resumed after the strand had been drained";
}

TEST(delivery, a_coroutine_resumes_another_one_within_its_strand) {
  in_a_resumed_coroutine(resumes_on_a_strand);
}
TEST(delivery, continuations_resume_a_coroutine_within_its_strand) {
  fully_nested(resumes_on_a_strand);
}

// One coroutine that resumes within execute(), a million times.
TEST(delivery, a_million_hops_on_an_inline_executor_need_no_stack) {
  constexpr int count = 1'000'000;
  int hops = 0;
  [](int& n) -> detached {
    takt::inline_executor here;
    while (n < count) {
      co_await takt::resume_on(here);
      ++n;
    }
  }(hops);
  EXPECT_EQ(hops, count);
}

constexpr int deep = 5 * static_cast<int>(takt::max_nested_continuations);

// Each level polls an executor within a continuation of the level above. A deferred continuation
// would use the frame of a call that has returned.
void poll_at_each_level(int level) {
  takt::manual_executor later;
  takt::promise<void> p;
  bool called = false;
  auto next = p.get_future().then([level, &called] {
    if (level < deep) poll_at_each_level(level + 1);
    called = true;
  });
  later.execute([&p] { p.set_value(); });
  EXPECT_TRUE(later.poll_one());
  EXPECT_TRUE(called) << "at level " << level;
}

TEST(delivery, polling_is_not_deferred_however_deep) { poll_at_each_level(1); }

TEST(delivery, resumes_a_coroutine_within_each_of_many_strands) {
  takt::inline_executor here;
  std::deque<takt::serial_executor> strands;
  for (int i = 0; i < deep; ++i) strands.emplace_back(here);
  int hops = 0;
  [](std::deque<takt::serial_executor>& all, int& n) -> detached {
    for (takt::serial_executor& strand : all) {
      co_await takt::resume_on(strand);
      EXPECT_THROW(strand.await_termination(), std::system_error) << "outside of strand " << n;
      ++n;
    }
  }(strands, hops);
  EXPECT_EQ(hops, deep);
}

}  // namespace

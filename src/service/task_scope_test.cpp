#include <takt/service/task_scope.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::task_outcome;
using takt::task_scope;
using takt::sync::stop_source;
using takt::sync::stop_token;
using takt_test::gate;
using takt_test::tally;
using takt_test::until_stopped;

template <class T>
std::vector<task_outcome> outcomes(const std::vector<future<T>>& all) {
  std::vector<task_outcome> found;
  found.reserve(all.size());
  for (const future<T>& f : all) found.push_back(f.outcome());
  return found;
}

constexpr auto finished = task_outcome::finished;
constexpr auto failed = task_outcome::failed;
constexpr auto stopped = task_outcome::cancelled;

TEST(task_scope, gives_all_results_in_the_order_of_spawn) {
  task_scope<int> scope;
  gate second_has_run;
  scope.spawn([&] {
    second_has_run.wait();
    return 1;
  });
  scope.spawn([&] {
    second_has_run.open();
    return 2;
  });
  auto all = scope.join();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].get(), 1);
  EXPECT_EQ(all[1].get(), 2);
}

TEST(task_scope, tells_per_task_what_became_of_it) {
  takt::manual_clock time;
  task_scope<int> scope{{.time = &time}};
  tally begun;
  scope.spawn([&] {
    begun.add();
    return 1;
  });
  scope.spawn([&]() -> int {
    begun.add();
    throw std::runtime_error("no");
  });
  scope.spawn([&](const stop_token& stop) -> int {
    begun.add();
    until_stopped(stop);
    throw takt::cancelled();
  });
  scope.spawn([&](const stop_token& stop) {  // finishes although stop was requested
    begun.add();
    until_stopped(stop);
    return 4;
  });
  begun.wait_for(4);  // tasks that have not begun by then do not run
  // The idle threads of the scope wait on the clock, too, so wait_for_waiters() cannot detect
  // join().
  takt::sync::thread later([&] {
    while (!scope.stop_requested()) time.advance(5s);
  });
  auto all = scope.join(5s);
  later.join();
  EXPECT_EQ(outcomes(all), (std::vector{finished, failed, stopped, finished}));
  EXPECT_THROW(all[1].get(), std::runtime_error);
  EXPECT_EQ(all[3].get(), 4);
}

TEST(task_scope, what_has_not_begun_in_time_never_begins) {
  takt::manual_clock time;
  takt::thread_pool pool{{.core_threads = 1, .time = &time}};
  takt_test::busy others(pool, 1);
  bool ran = false;
  auto held = std::make_shared<int>(0);
  task_scope scope{{.executor = pool}};
  scope.spawn([&ran, held] { ran = true; });
  takt::sync::thread later([&] {
    time.wait_for_waiters(1);
    time.advance(1s);
  });
  const auto all = scope.join(1s);
  later.join();
  EXPECT_EQ(held.use_count(), 1) << "its closure is gone, though the pool has not come to it";
  EXPECT_EQ(outcomes(all), std::vector{stopped});
  others.release();
  takt_test::drain(pool);
  EXPECT_FALSE(ran);
}

TEST(task_scope, a_time_out_of_zero_asks_at_once) {
  task_scope scope;
  scope.spawn([](const stop_token& stop) {
    until_stopped(stop);
    throw takt::cancelled();
  });
  EXPECT_EQ(outcomes(scope.join(0s)), std::vector{stopped});
  EXPECT_TRUE(scope.stop_requested());
}

TEST(task_scope, waits_for_what_its_tasks_spawn) {
  task_scope scope;
  takt::sync::atomic<int> ran{0};
  std::function<void(int)> split = [&](int depth) {
    ran.fetch_add(1);
    if (depth == 0) return;
    for (int i = 0; i < 2; ++i) scope.spawn([&split, depth] { split(depth - 1); });
  };
  scope.spawn([&] { split(4); });
  EXPECT_EQ(scope.join().size(), 31u);
  EXPECT_EQ(ran.load(), 31);
}

TEST(task_scope, what_is_spawned_after_a_stop_does_not_begin_but_is_told) {
  task_scope scope;
  scope.request_stop();
  scope.spawn([] { FAIL() << "it was stopped before"; });
  scope.spawn([](const stop_token&) { FAIL() << "it was stopped before"; });
  EXPECT_EQ(outcomes(scope.join()), (std::vector{stopped, stopped}));
}

TEST(task_scope, can_be_used_again_after_join) {
  task_scope<int> scope;
  scope.spawn([] { return 1; });
  EXPECT_EQ(scope.join().at(0).get(), 1);
  scope.spawn([] { return 2; });
  EXPECT_EQ(scope.join().at(0).get(), 2);
  EXPECT_TRUE(scope.join().empty());
}

TEST(task_scope, its_destructor_stops_and_waits) {
  bool ended = false;
  tally begun;
  {
    task_scope scope;
    scope.spawn([&](const stop_token& stop) {
      begun.add();
      until_stopped(stop);
      ended = true;
    });
    begun.wait_for(1);
  }
  EXPECT_TRUE(ended);
}

TEST(task_scope, a_scope_within_a_task_stops_with_it) {
  tally begun;
  bool inner_ended = false;
  task_scope outer;
  outer.spawn([&](const stop_token& stop) {
    task_scope inner{{.stop = stop}};
    inner.spawn([&](const stop_token& innermost) {
      begun.add();
      until_stopped(innermost);
      inner_ended = true;
    });
    static_cast<void>(inner.join());
  });
  begun.wait_for(1);
  outer.request_stop();
  EXPECT_EQ(outcomes(outer.join()), std::vector{finished});
  EXPECT_TRUE(inner_ended);
}

TEST(task_scope, takes_a_token_that_was_stopped_before) {
  stop_source source;
  source.request_stop();
  task_scope scope{{.stop = source.get_token()}};
  EXPECT_TRUE(scope.stop_requested());
  scope.spawn([] { FAIL(); });
  EXPECT_EQ(outcomes(scope.join()), std::vector{stopped});
}

TEST(task_scope, what_an_executor_rejects_is_no_part_of_it) {
  takt::thread_pool pool{{.core_threads = 1}};
  task_scope<int> scope{{.executor = pool}};
  scope.spawn([] { return 1; });
  pool.shutdown();
  EXPECT_THROW(scope.spawn([] { return 2; }), takt::rejected);
  auto all = scope.join();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].get(), 1);
}

TEST(task_scope, an_empty_callable_is_refused) {
  task_scope scope;
  EXPECT_THROW(scope.spawn(std::function<void()>()), std::invalid_argument);
  EXPECT_TRUE(scope.join().empty());
}

TEST(task_scope, an_executor_that_is_stopped_stops_its_tasks) {
  takt::thread_pool pool{{.core_threads = 1}};
  task_scope scope{{.executor = pool}};
  tally begun;
  scope.spawn([&](const stop_token& stop) {
    begun.add();
    until_stopped(stop);
    throw takt::cancelled();
  });
  begun.wait_for(1);
  scope.spawn([] { FAIL() << "it is given back"; });
  for (takt::task& t : pool.shutdown_now()) t.cancel();
  EXPECT_EQ(outcomes(scope.join()), (std::vector{stopped, stopped}));
}

TEST(task_scope, works_where_tasks_run_inline) {
  takt::inline_executor here;
  task_scope<int> scope{{.executor = here}};
  scope.spawn([] { return 1; });
  scope.spawn([&](const stop_token& stop) {
    scope.request_stop();  // by a task of its own
    return stop.stop_requested() ? 2 : 0;
  });
  scope.spawn([]() -> int { throw std::runtime_error("does not begin"); });
  EXPECT_EQ(outcomes(scope.join()), (std::vector{finished, finished, stopped}));
}

// The task runs within spawn(), which another thread calls.
TEST(task_scope, the_time_out_reaches_what_runs_while_it_is_spawned) {
  takt::inline_executor here;
  task_scope<void> scope{{.executor = here}};
  gate begun;
  takt::sync::thread other([&] {
    scope.spawn([&](const stop_token& stop) {
      begun.open();
      until_stopped(stop);
    });
  });
  begun.wait();
  EXPECT_EQ(outcomes(scope.join(0s)), (std::vector{finished}));
  other.join();
}

TEST(task_scope, a_wait_for_ever_inside_a_pool_is_found_out) {
  takt::thread_pool pool{{.core_threads = 1}};
  auto found = pool.submit([&] {
    task_scope scope{{.executor = pool}};
    scope.spawn([] {});
    return takt_test::finds_deadlock([&] { static_cast<void>(scope.join()); });
  });
  EXPECT_TRUE(found.get());
}

TEST(task_scope, errors_that_nobody_saw_reach_the_hook) {
  takt_test::recording_hook hook;
  takt::thread_pool pool{{.core_threads = 1, .unhandled = &hook}};
  {
    task_scope scope{{.executor = pool}};
    scope.spawn([] { throw std::runtime_error("unseen"); });
    pool.submit([] {}).get();  // ends after the task
  }
  EXPECT_EQ(hook.unobserved(), std::vector<std::string>{"unseen"});
}

TEST(future_request_stop, prevents_what_has_not_begun) {
  takt::thread_pool pool{{.core_threads = 1}};
  takt_test::busy others(pool, 1);
  auto held = std::make_shared<int>(0);
  future<void> f = pool.submit([held] { FAIL(); });
  f.request_stop();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(f.outcome(), stopped);
}

TEST(future_request_stop, leaves_the_result_to_what_runs) {
  takt::thread_pool pool{{.core_threads = 1}};
  tally begun;
  future<int> f = pool.submit([&](const stop_token& stop) {
    begun.add();
    until_stopped(stop);
    return 7;
  });
  begun.wait_for(1);
  EXPECT_THROW(static_cast<void>(f.outcome()), std::logic_error);
  f.request_stop();
  EXPECT_EQ(f.get(), 7);
}

}  // namespace

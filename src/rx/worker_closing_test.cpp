// How workers and their executors end.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/aggregate_error.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt::cancel_result;
using takt::manual_executor;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::rejection_of;

// Keeps, rejects or drops tasks, as the test says.
class moody_executor {
 public:
  enum class mood { keeps, full, drops, gone };
  void execute(takt::task t) {
    switch (now) {
      case mood::keeps:
        kept.execute(std::move(t));
        return;
      case mood::full:
        throw takt::rejected(takt::rejection::saturated);
      case mood::drops:
        t.reject(takt::rejection::dropped);
        return;
      case mood::gone:
        throw takt::rejected(takt::rejection::shut_down);
    }
  }
  mood now = mood::keeps;
  manual_executor kept;
};
using mood = moody_executor::mood;

const std::string dropped_text = "takt: rejected: dropped";

TEST(worker_closing, unsubscribe_cancels_what_has_not_begun_in_order) {
  manual_executor executor;
  takt::manual_clock time;
  takt::event_loop timers({.time = &time});
  worker w(executor, {.timers = &timers});
  auto token = std::make_shared<std::string>();
  w.schedule([token] { *token += "!"; }).add([token] { *token += "a"; });
  w.schedule(1s, [token] { *token += "!"; }).add([token] { *token += "b"; });
  w.schedule_at_fixed_rate(0s, 1s, [token] { *token += "!"; }).add([token] { *token += "c"; });
  EXPECT_EQ(w.tracked(), 3u);
  w.unsubscribe();
  w.unsubscribe();
  EXPECT_EQ(*token, "abc");
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(w.tracked(), 0u);
  EXPECT_EQ(timers.next_deadline(), takt::clock::time_point::max());
  executor.poll();
  EXPECT_EQ(*token, "abc");
}

TEST(worker_closing, what_waits_and_what_is_queued_is_cancelled_in_one_order) {
  manual_executor executor;
  takt::manual_clock time;
  takt::event_loop timers({.time = &time});
  worker w(executor, {.timers = &timers});
  std::string order;
  const auto cleanup = [&order](const char* name) { return [&order, name] { order += name; }; };
  w.as_subscription().add(cleanup("z"));
  w.schedule(1s, [] {}).add(cleanup("a"));
  w.schedule([] {}).add(cleanup("b"));
  w.schedule(2s, [] {}).add(cleanup("c"));
  w.schedule(1s, [] {}).add(cleanup("d"));
  w.schedule([] {}).add(cleanup("e"));
  w.schedule([] {}).add(cleanup("f"));
  w.schedule(3s, [] {}).add(cleanup("g"));
  time.advance(1s);
  timers.poll();  // a and d are queued behind the others, and keep their numbers
  EXPECT_EQ(w.tracked(), 7u);
  w.unsubscribe();
  EXPECT_EQ(order, "abcdefgz");
  EXPECT_EQ(w.tracked(), 0u);
}

TEST(worker_closing, unsubscribe_throws_what_cleaning_up_throws) {
  manual_executor executor;
  worker w(executor);
  w.schedule([] {}).add([] { throw std::runtime_error("a"); });
  w.schedule([] {}).add([] { throw std::runtime_error("b"); });
  EXPECT_THROW(w.unsubscribe(), aggregate_error);
  EXPECT_TRUE(w.is_unsubscribed());
}

TEST(worker_closing, a_closed_worker_rejects) {
  manual_executor executor;
  worker w(executor);
  w.unsubscribe();
  auto token = std::make_shared<int>(0);
  const task_subscription a = w.schedule([token] { ++*token; });
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_TRUE(a.is_rejected());
  EXPECT_EQ(a.cancel(), cancel_result::done);
  EXPECT_EQ(token.use_count(), 1);
  int cleaned = 0;
  a.add([&] { ++cleaned; });
  EXPECT_EQ(cleaned, 1);
  EXPECT_EQ(executor.queued(), 0u);
}

TEST(worker_closing, a_borrowed_executor_goes_on) {
  takt::thread_pool pool({.core_threads = 1});
  {
    worker w(pool);
    w.schedule([] {});
    w.unsubscribe();
  }
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
}

TEST(worker_closing, an_owned_executor_is_stopped_and_what_runs_is_asked) {
  auto owned = std::make_unique<takt::scheduled_pool>(takt::scheduled_pool::single());
  takt::scheduled_pool& pool = *owned;
  gate begun;
  bool ran = false;
  gate stopped;
  worker w(std::move(owned));
  const task_subscription runs = w.schedule([&](const takt::sync::stop_token& stop) {
    begun.open();
    takt_test::until_stopped(stop);
    stopped.open();
  });
  const task_subscription waits = w.schedule([&] { ran = true; });
  const task_subscription delayed = w.schedule(1h, [&] { ran = true; });
  begun.wait();
  w.unsubscribe();
  EXPECT_TRUE(pool.is_shutdown());
  stopped.wait();
  EXPECT_TRUE(waits.is_unsubscribed());
  EXPECT_FALSE(waits.is_rejected());
  EXPECT_TRUE(delayed.is_unsubscribed());
  pool.await_termination();
  EXPECT_FALSE(ran);
}

// shutdown_now() of the executor comes first, but the worker cancels the tasks.
TEST(worker_closing,
     what_waits_on_an_owned_executor_is_cancelled_in_order_and_its_errors_are_thrown) {
  std::string log;
  worker w(std::make_unique<takt::scheduled_pool>(takt::scheduled_pool::single()));
  w.schedule(2h, [] {}).add([&] { log += "first "; });
  w.schedule(1h, [] {}).add([&] {
    log += "second";
    throw std::runtime_error("planned");
  });
  EXPECT_THROW(w.unsubscribe(), std::runtime_error);
  EXPECT_EQ(log, "first second");
}

TEST(worker_closing, the_destructor_waits_for_what_runs) {
  takt::thread_pool pool({.core_threads = 2});
  gate begun;
  bool ended = false;
  {
    worker w(pool);
    w.schedule([&](const takt::sync::stop_token& stop) {
      begun.open();
      takt_test::until_stopped(stop);
      ended = true;
    });
    begun.wait();
  }
  EXPECT_TRUE(ended);
}

TEST(worker_closing, a_handle_that_was_moved_from_is_closed) {
  takt::thread_pool pool({.core_threads = 1});
  worker w(pool);
  task_subscription first = w.schedule([] {});
  {
    const task_subscription second = std::move(first);
  }
  EXPECT_EQ(first.cancel(), cancel_result::done);  // NOLINT(bugprone-use-after-move): specified
  EXPECT_EQ(first.run_count(), 0u);
}

TEST(worker_closing, the_destructor_asks_what_was_cancelled_and_still_runs) {
  takt::thread_pool pool({.core_threads = 2});
  gate begun;
  bool ended = false;
  {
    worker w(pool);
    const task_subscription a = w.schedule([&](const takt::sync::stop_token& stop) {
      begun.open();
      takt_test::until_stopped(stop);
      ended = true;
    });
    begun.wait();
    EXPECT_EQ(a.cancel(), cancel_result::running);
    EXPECT_EQ(w.tracked(), 0u);
    w.unsubscribe();
  }
  EXPECT_TRUE(ended);
}

TEST(worker_closing, a_task_may_destroy_its_worker) {
  takt::thread_pool pool({.core_threads = 1});
  auto w = std::make_optional<worker>(pool);
  gate done;
  task_subscription a = w->schedule([&] { w.reset(); });
  a.add([&] { done.open(); });
  done.wait();
  EXPECT_FALSE(w.has_value());
  auto own = std::make_optional<worker>(
      std::make_unique<takt::scheduled_pool>(takt::scheduled_pool::single()));
  gate gone;
  own->schedule([&] {
    own.reset();
    gone.open();
  });
  gone.wait();
}

TEST(worker_closing, what_a_refused_task_calls_may_destroy_the_worker) {
  const recording_hook hook;
  takt::manual_clock time;
  takt::event_loop timers({.time = &time});
  moody_executor executor;
  auto w =
      std::make_optional<worker>(executor, worker_options{.timers = &timers, .unhandled = &hook});
  w->schedule(1s, [] {}).add([&] { w.reset(); });
  executor.now = mood::gone;
  time.advance(1s);
  timers.poll();
  EXPECT_FALSE(w.has_value());
}

TEST(worker_closing, the_end_of_a_callable_may_join_its_own_task) {
  manual_executor executor;
  worker w(executor);
  task_subscription a;
  cancel_result outcome = cancel_result::done;
  struct joins {
    task_subscription* of;
    cancel_result* outcome;
    joins(task_subscription& a, cancel_result& o) : of(&a), outcome(&o) {}
    joins(joins&& other) noexcept : of(std::exchange(other.of, nullptr)), outcome(other.outcome) {}
    joins& operator=(joins&&) = delete;
    ~joins() {
      if (of != nullptr) *outcome = of->cancel_and_join();
    }
  };
  a = w.schedule([held = joins(a, outcome)] {});
  EXPECT_EQ(a.cancel_and_join(), cancel_result::prevented);
  EXPECT_EQ(outcome, cancel_result::running);
}

// A callable whose destructor drops the handle of its own task, and runs the executor, which
// removes the task's queue entry.
struct lets_go {
  task_subscription* handle;
  manual_executor* executor;
  lets_go(task_subscription& h, manual_executor& e) : handle(&h), executor(&e) {}
  lets_go(lets_go&& other) noexcept
      : handle(std::exchange(other.handle, nullptr)), executor(other.executor) {}
  lets_go& operator=(lets_go&&) = delete;
  ~lets_go() {
    if (handle == nullptr) return;
    *handle = {};
    executor->poll();
  }
  void operator()() const {}
};

TEST(worker_closing, the_end_of_a_callable_may_let_go_of_its_own_task) {
  manual_executor executor;
  worker w(executor);
  task_subscription a;
  a = w.schedule(lets_go(a, executor));
  EXPECT_EQ(a.cancel(), cancel_result::prevented);
  EXPECT_EQ(w.tracked(), 0u);
  a = w.schedule(lets_go(a, executor));
  EXPECT_EQ(a.cancel_and_join(), cancel_result::prevented);
  EXPECT_EQ(w.tracked(), 0u);
  a = w.schedule(lets_go(a, executor));
  EXPECT_EQ(a.cancel_and_join_for(1s), cancel_result::prevented);
  EXPECT_EQ(w.tracked(), 0u);
}

TEST(worker_closing, handles_outlive_the_worker) {
  std::vector<task_subscription> handles;
  {
    takt::thread_pool pool({.core_threads = 1});
    worker w(pool);
    for (int i = 0; i < 10; ++i) handles.push_back(w.schedule([] {}));
  }
  for (const task_subscription& a : handles) {
    EXPECT_TRUE(a.is_unsubscribed());
    EXPECT_EQ(a.cancel(), cancel_result::done);
  }
}

TEST(worker_closing, a_worker_is_a_subscription_of_others) {
  manual_executor executor;
  composite_subscription all;
  {
    worker w(executor);
    all.add(w.as_subscription());
    EXPECT_EQ(all.size(), 1u);
  }
  EXPECT_EQ(all.size(), 0u) << "it is closed, and has left";
  worker w(executor);
  all.add(w.as_subscription());
  all.unsubscribe();
  EXPECT_TRUE(w.is_unsubscribed());
}

TEST(worker_closing, a_full_executor_throws_and_the_worker_stays) {
  const recording_hook hook;
  moody_executor executor;
  worker w(executor, {.unhandled = &hook});
  auto token = std::make_shared<int>(0);
  executor.now = mood::full;
  EXPECT_EQ(rejection_of([&] { w.schedule([token] { ++*token; }); }), takt::rejection::saturated);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(w.tracked(), 0u);
  EXPECT_FALSE(w.is_unsubscribed());
  executor.now = mood::keeps;
  w.schedule([token] { ++*token; });
  executor.kept.poll();
  EXPECT_EQ(*token, 1);
  EXPECT_TRUE(hook.unobserved().empty()) << "the caller got the exception";
}

TEST(worker_closing, an_executor_that_is_gone_closes_it) {
  const recording_hook hook;
  takt::manual_clock time;
  takt::event_loop timers({.time = &time});
  moody_executor executor;
  worker w(executor, {.timers = &timers, .unhandled = &hook});
  auto token = std::make_shared<int>(0);
  const task_subscription delayed = w.schedule(1s, [token] { ++*token; });
  executor.now = mood::gone;
  const task_subscription a = w.schedule([token] { ++*token; });
  EXPECT_TRUE(a.is_rejected());
  EXPECT_TRUE(w.is_unsubscribed());
  EXPECT_TRUE(delayed.is_unsubscribed());
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_TRUE(hook.unobserved().empty());
}

TEST(worker_closing, an_executor_that_drops_is_reported) {
  const recording_hook hook;
  moody_executor executor;
  worker w(executor, {.unhandled = &hook});
  executor.now = mood::drops;
  const task_subscription a = w.schedule([] {});
  EXPECT_TRUE(a.is_rejected());
  EXPECT_EQ(hook.unobserved(), std::vector<std::string>{dropped_text});
  executor.now = mood::keeps;
  const task_subscription b = w.schedule([] {});
  const task_subscription c = w.schedule([] {});
  c.unsubscribe();
  static_cast<void>(executor.kept.shutdown_now());  // returned, and dropped
  EXPECT_TRUE(b.is_rejected());
  EXPECT_FALSE(c.is_rejected());
  EXPECT_EQ(hook.unobserved().size(), 2u) << "not the one that was cancelled";
  EXPECT_EQ(w.tracked(), 0u);
  EXPECT_TRUE(w.schedule([] {}).is_rejected());
  EXPECT_TRUE(w.is_unsubscribed());
}

TEST(worker_closing, what_comes_to_its_time_and_is_refused_is_reported) {
  const recording_hook hook;
  takt::manual_clock time;
  takt::event_loop timers({.time = &time});
  moody_executor executor;
  worker w(executor, {.timers = &timers, .unhandled = &hook});
  const task_subscription first = w.schedule(1s, [] {});
  const task_subscription second = w.schedule(2s, [] {});
  const task_subscription third = w.schedule(3s, [] {});
  executor.now = mood::full;
  time.advance(1s);
  timers.poll();
  EXPECT_TRUE(first.is_rejected());
  EXPECT_FALSE(w.is_unsubscribed());
  EXPECT_EQ(hook.unobserved().size(), 1u);
  executor.now = mood::gone;
  time.advance(1s);
  timers.poll();
  EXPECT_TRUE(second.is_rejected());
  EXPECT_TRUE(w.is_unsubscribed());
  EXPECT_TRUE(third.is_unsubscribed());
  EXPECT_EQ(hook.unobserved().size(), 2u);
}

TEST(worker_closing, a_refused_turn_of_a_fair_worker_is_taken_at_once) {
  const recording_hook hook;
  moody_executor executor;
  std::string order;
  worker w(executor, {.batch = 1, .unhandled = &hook});
  for (const char* const name : {"a", "b", "c"}) w.schedule([&order, name] { order += name; });
  executor.now = mood::full;
  executor.kept.poll();
  EXPECT_EQ(order, "abc");
  EXPECT_TRUE(hook.unobserved().empty());
  executor.now = mood::keeps;
  w.schedule([&order] { order += "d"; });
  executor.kept.poll();
  EXPECT_EQ(order, "abcd");
}

TEST(worker_closing, a_series_whose_executor_goes_ends) {
  const recording_hook hook;
  takt::manual_clock time;
  takt::scheduled_pool pool({.threads = 1, .time = &time});
  gate ran;
  worker w(pool, {.unhandled = &hook});
  const task_subscription a = w.schedule_at_fixed_rate(0s, 1s, [&] {
    if (!ran.is_open()) ran.open();
  });
  ran.wait();
  static_cast<void>(pool.shutdown_now());
  pool.await_termination();
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(w.tracked(), 0u);
}

TEST(worker_closing, timers_that_end_cancel_what_waits) {
  const recording_hook hook;
  manual_executor executor;
  auto timers = std::make_unique<takt::event_loop>();
  worker w(executor, {.timers = timers.get(), .unhandled = &hook});
  auto token = std::make_shared<int>(0);
  const task_subscription a = w.schedule(1h, [token] {});
  timers.reset();
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(w.tracked(), 0u);
}

}  // namespace

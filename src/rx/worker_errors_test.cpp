// Tasks that throw and executors that reject, on every kind of worker: it continues, or closes.
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/schedulers.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/task/unhandled.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt_test::gate;
using takt_test::recording_hook;

// Counts errors without storing them.
class counting_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled kind, const std::exception_ptr& error) const noexcept override {
    if (kind == takt::unhandled::uncaught && error != nullptr) count_.fetch_add(1);
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(); }

 private:
  mutable takt::sync::atomic<std::size_t> count_{0};
};

constexpr int share = 130'000;  // of a million

// Schedules `share` tasks that throw, in rounds, and then one that does not.
void throw_often(worker& w, const counting_hook& hook, const std::function<void()>& work) {
  int ran = 0;  // not atomic: tasks do not overlap
  for (int i = 0; i < share; i += 1000) {
    for (int k = 0; k < 1000; ++k) {
      w.schedule([&ran] {
        ++ran;
        throw std::runtime_error("bad");
      });
    }
    work();
  }
  gate done;
  w.schedule([&] { done.open(); });
  work();
  done.wait();
  EXPECT_EQ(ran, share);
  EXPECT_EQ(hook.count(), static_cast<std::size_t>(share));
  EXPECT_FALSE(w.is_unsubscribed());
}

TEST(worker_errors, a_million_throwing_tasks_on_a_strand) {
  for (const std::size_t batch : {takt::unbounded, std::size_t{1}, std::size_t{3}}) {
    const counting_hook hook;
    takt::thread_pool pool({.core_threads = 2});
    worker w(pool, {.batch = batch, .unhandled = &hook});
    throw_often(w, hook, [] {});
  }
}

TEST(worker_errors, a_million_throwing_tasks_on_a_loop) {
  const counting_hook hook;
  takt::event_loop loop;
  worker w(loop, {.unhandled = &hook});
  throw_often(w, hook, [&] { loop.poll(); });
  EXPECT_EQ(w.tracked(), 0u);
}

TEST(worker_errors, a_million_throwing_tasks_on_schedulers) {
  for (worker_scheduler& (schedulers::*which)() noexcept :
       {&schedulers::immediate, &schedulers::trampoline, &schedulers::single, &schedulers::io}) {
    const counting_hook hook;
    schedulers run({.unhandled = &hook});
    worker w = (run.*which)().create_worker();
    throw_often(w, hook, [] {});
  }
}

TEST(worker_errors, a_loop_that_is_gone_closes_its_worker) {
  const recording_hook hook;
  takt::manual_clock time;
  takt::event_loop loop({.frame = takt::never, .time = &time});
  worker w(loop, {.unhandled = &hook});
  auto token = std::make_shared<int>(0);
  const task_subscription far = w.schedule(1h, [token] {});
  const task_subscription beat = w.schedule_at_fixed_rate(0s, 1s, [token] { ++*token; });
  loop.poll();
  EXPECT_EQ(*token, 1);
  static_cast<void>(loop.shutdown_now());
  EXPECT_TRUE(w.schedule([token] { ++*token; }).is_rejected());
  EXPECT_TRUE(w.is_unsubscribed());
  EXPECT_TRUE(far.is_unsubscribed());
  EXPECT_TRUE(beat.is_unsubscribed());
  EXPECT_EQ(w.tracked(), 0u);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(*token, 1);
}

TEST(worker_errors, timers_that_are_gone_close_the_worker) {
  takt::manual_executor executor;
  takt::event_loop timers;
  worker w(executor, {.timers = &timers});
  timers.shutdown();
  EXPECT_TRUE(w.schedule(1h, [] {}).is_rejected());
  EXPECT_TRUE(w.is_unsubscribed());
}

TEST(worker_errors, without_timers_it_cannot_wait) {
  takt::manual_executor executor;
  worker w(executor);
  EXPECT_THROW(w.schedule(1ms, [] {}), std::logic_error);
  EXPECT_THROW(w.schedule_at_fixed_rate(0ms, 1ms, [] {}), std::logic_error);
  EXPECT_EQ(w.tracked(), 0u);
  int ran = 0;
  w.schedule(0ms, [&] { ++ran; });
  w.schedule(w.now() - 1ms, [&] { ++ran; });  // a past time is no delay
  executor.poll();
  EXPECT_EQ(ran, 2);
}

// Rejects every second task, but is never shut down.
class fickle_executor {
 public:
  void execute(takt::task t) {
    if (++given_ % 2 == 0) throw takt::rejected(takt::rejection::saturated);
    kept.execute(std::move(t));
  }
  takt::manual_executor kept;

 private:
  int given_ = 0;
};

TEST(worker_errors, an_executor_that_refuses_often_loses_no_account) {
  for (const std::size_t batch : {takt::unbounded, std::size_t{1}}) {
    const recording_hook hook;
    fickle_executor executor;
    worker w(executor, {.batch = batch, .unhandled = &hook});
    int thrown = 0;
    int ran = 0;
    for (int i = 0; i < 1000; ++i) {
      try {
        w.schedule([&ran] { ++ran; });
      } catch (const takt::rejected&) {
        ++thrown;
      }
      if (i % 3 == 0) executor.kept.poll();
    }
    executor.kept.poll();
    EXPECT_EQ(ran + thrown, 1000);
    EXPECT_GT(thrown, 0);
    EXPECT_TRUE(hook.unobserved().empty()) << "each caller got the exception";
    EXPECT_EQ(w.tracked(), 0u);
    EXPECT_FALSE(w.is_unsubscribed());
  }
}

}  // namespace

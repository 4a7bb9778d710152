// The regression programs beside java.util.concurrent's TCK that concern scheduled pools, and the
// tests of ExecutorsTest for them, with their names.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../support/pools.hpp"
#include "scheduled_executor_suite.hpp"

namespace {

using namespace std::chrono_literals;
using scheduled_executor_suite::plain;
using scheduled_executor_suite::subject;
using takt::cancel_result;
using takt::clock;
using takt::scheduled_pool;
using takt::task;
using takt_test::busy;
using takt_test::tally;
using ::testing::ElementsAre;

// Cancelled tasks leave the queue at once, in any order; the others run in their order.
TEST(Regression, BasicCancelTest) {
  constexpr std::size_t count = 200;
  std::mt19937 random(20240229);
  subject<plain> s;
  busy one(s.pool, 1);
  std::vector<std::size_t> ran;
  std::vector<std::size_t> delays(count);  // in ms
  std::vector<takt::scheduled_future<void>> tasks;
  for (std::size_t i = 0; i < count; ++i) {
    delays[i] = random() % 10;
    const std::chrono::milliseconds delay(delays[i]);
    tasks.push_back(s.pool.schedule(delay, [&ran, i] { ran.push_back(i); }));
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  for (std::size_t i = 0; i < count / 2; ++i) {
    EXPECT_EQ(s.pool.statistics().delayed, count - i);
    EXPECT_EQ(tasks[order[i]].cancel(), cancel_result::prevented);
    EXPECT_THROW(tasks[order[i]].get(), takt::cancelled);
  }
  std::vector<std::size_t> expected(order.begin() + count / 2, order.end());
  std::ranges::sort(expected, {}, [&](std::size_t i) { return std::pair(delays[i], i); });
  s.time.advance(10ms);
  one.release();
  EXPECT_EQ(s.drain().tasks.cancelled, count / 2);
  EXPECT_EQ(ran, expected);
}

// A queue with tasks that were due long ago and tasks at the end of time: the order is correct at
// any current time.
TEST(Regression, DelayOverflow) {
  using add = std::function<void(scheduled_pool&, task)>;
  const auto series = [](auto schedule) {  // keeps its future in its body, and runs once
    return [schedule](scheduled_pool& pool, task t) {
      auto once = std::make_shared<task>(std::move(t));
      schedule(pool, [once] { once->run(); });
    };
  };
  const std::vector<add> now{
      [](scheduled_pool& pool, task t) { pool.execute(std::move(t)); },
      [](scheduled_pool& pool, task t) { pool.execute(0ns, std::move(t)); },
      [](scheduled_pool& pool, task t) { pool.execute(-1ns, std::move(t)); },
      [](scheduled_pool& pool, task t) {
        pool.execute(std::chrono::nanoseconds::min(), std::move(t));
      },
      [](scheduled_pool& pool, task t) { pool.execute(clock::time_point::min(), std::move(t)); },
      series([](scheduled_pool& pool, auto f) {
        static_cast<void>(pool.schedule_at_fixed_rate(0ns, takt::never, f));
      }),
      series([](scheduled_pool& pool, auto f) {
        static_cast<void>(pool.schedule_with_fixed_delay(0ns, std::chrono::hours::max(), f));
      })};
  const std::vector<add> at_the_end{
      [](scheduled_pool& pool, task t) { pool.execute(takt::never, std::move(t)); },
      [](scheduled_pool& pool, task t) { pool.execute(std::chrono::hours::max(), std::move(t)); },
      [](scheduled_pool& pool, task t) { pool.execute(takt::never - 1ns, std::move(t)); },
      [](scheduled_pool& pool, task t) { pool.execute(takt::never / 2 + 1ns, std::move(t)); },
      [](scheduled_pool& pool, task t) { pool.execute(clock::time_point::max(), std::move(t)); },
      [](scheduled_pool& pool, task t) {
        pool.execute(clock::time_point::max() - 1ns, std::move(t));
      },
      series([](scheduled_pool& pool, auto f) {
        static_cast<void>(pool.schedule_at_fixed_rate(takt::never - 1ns, 1ns, f));
      }),
      series([](scheduled_pool& pool, auto f) {
        static_cast<void>(pool.schedule_with_fixed_delay(takt::never, takt::never, f));
      })};
  for (const clock::time_point start :
       {clock::time_point::min(), clock::time_point(), clock::time_point::max() - 3h}) {
    takt::manual_clock time{start};
    scheduled_pool pool{{.threads = 1, .time = &time}};
    busy one(pool, 1);
    tally ran;
    for (std::size_t round = 0; round < 2; ++round) {  // before and after the other tasks
      for (const add& add_now : now) {
        add_now(pool, [&] { ran.add(); });
      }
      time.advance(1h);  // these tasks are late now
      for (const add& add_later : at_the_end) add_later(pool, [] { ADD_FAILURE(); });
    }
    one.release();
    ran.wait_for(2 * now.size());
    time.wait_for_waiters(1);
    EXPECT_EQ(ran.count(), 2 * now.size());
    EXPECT_EQ(pool.statistics().delayed, 2 * at_the_end.size() + 4);
    pool.close(takt::cancel_pending);
    takt_test::expect_balance(pool);
  }
}

// Idle workers keep no finished task alive, and no cancelled task is kept alive.
TEST(Regression, GCRetention) {
  constexpr std::size_t n = 10;
  subject<plain> s({.threads = n});
  s.pool.prestart();
  std::vector<std::weak_ptr<int>> alive;
  const auto owner = [&] {
    auto made = std::make_shared<int>(1);
    alive.push_back(made);
    return made;
  };
  const auto expect_none = [&] {
    for (const auto& one : alive) EXPECT_TRUE(one.expired());
    alive.clear();
  };
  for (std::size_t i = 0; i < n; ++i) {
    s.pool.execute([kept = owner()] { static_cast<void>(*kept); });
    s.pool.execute(1ms, [kept = owner()] { static_cast<void>(*kept); });
    static_cast<void>(s.pool.schedule(1ms, [kept = owner()] { return kept; }));
    static_cast<void>(s.pool.schedule_at_fixed_rate(1ms, 1ms, [kept = owner()] {
      throw takt::cancelled();  // ends the periodic task
    }));
  }
  s.time.wait_for_waiters(n);
  s.time.advance(1ms);
  s.time.wait_for_waiters(n);
  expect_none();
  // Cancelled tasks whose handles stay.
  std::vector<takt::timer_handle> handles;
  for (std::size_t i = 0; i < n; ++i) {
    handles.push_back(s.pool.execute(1h, [kept = owner()] { static_cast<void>(*kept); }));
    handles.push_back(s.pool.schedule(1h, [kept = owner()] { return kept; }));
    handles.push_back(s.pool.schedule_at_fixed_rate(1h, 1h, [kept = owner()] {}));
  }
  for (const auto& each : handles) EXPECT_EQ(each.cancel(), cancel_result::prevented);
  expect_none();
  s.drain();
}

// Without core threads, delayed tasks still run.
TEST(Regression, ZeroCorePoolSize) {
  subject<plain> s({.threads = 0});
  tally ran;
  auto once = s.pool.schedule(1s, [&] { ran.add(); });
  EXPECT_EQ(s.pool.statistics().threads, 1u);
  auto rate = s.pool.schedule_at_fixed_rate(1s, 1s, [&] { ran.add(); });
  s.time.wait_for_waiters(1);
  s.time.advance(1s);
  once.get();
  for (std::size_t i = 2; i < 5; ++i) {
    ran.wait_for(i);
    s.time.wait_for_waiters(1);
    s.time.advance(1s);
  }
  ran.wait_for(5);
  EXPECT_EQ(s.pool.submit([] { return 1; }).get(), 1);
  EXPECT_EQ(s.drain().largest, 1u);
  EXPECT_TRUE(rate.is_cancelled());
}

// Counts the waits.
class counting_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override { return time.now(); }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    ++waits;
    time.park_until(p, deadline);
  }
  takt::manual_clock time;
  mutable takt::sync::atomic<std::size_t> waits{0};
};

// While tasks are delayed, the only thread waits without busy-waiting; it ends when none is left.
TEST(Regression, ZeroCoreThreads) {
  for (const std::size_t core : {std::size_t{0}, std::size_t{1}}) {
    counting_clock time;
    tally started;
    tally gone;
    scheduled_pool pool{
        {.threads = core,
         .keep_alive = 1ms,
         .core_times_out = true,
         .thread = {.on_start = [&] { started.add(); }, .on_exit = [&] { gone.add(); }},
         .time = &time}};
    for (std::size_t round = 1; round < 4; ++round) {
      time.waits = 0;
      auto f = pool.schedule(1h, [] {});
      time.time.wait_for_waiters(1);
      for (int i = 0; i < 50; ++i) time.time.advance(1min);
      time.time.wait_for_waiters(1);
      EXPECT_EQ(time.waits.load(), 1u);
      EXPECT_EQ(gone.count(), round - 1);
      time.time.advance(10min);
      f.get();
      time.time.wait_for_waiters(1);  // the thread waits for more work
      time.time.advance(1ms);
      gone.wait_for(round);
      EXPECT_EQ(pool.statistics().threads, 0u);
      EXPECT_EQ(started.count(), round);
    }
    pool.close(takt::drain);
    takt_test::expect_balance(pool);
  }
}

// Every submitted task is decorated, and so is each run of a periodic task. The decorator may wrap,
// replace or drop the task, which can still be cancelled.
TEST(Regression, DecorateTask) {
  takt::manual_clock time;
  std::vector<std::string> seen;
  tally wrapped;
  scheduled_pool pool{{.threads = 1,
                       .decorate =
                           [&](task t) {
                             seen.emplace_back(t.name());
                             if (t.name() == "replaced") return task([&] { wrapped.add(); });
                             if (t.name() == "dropped") return task();
                             if (t.name() == "refused") throw std::domain_error("refused");
                             return task([&, inner = std::move(t)]() mutable {
                               inner.run();
                               wrapped.add();
                             });
                           },
                       .time = &time}};
  tally ran;
  const auto body = [&] { ran.add(); };
  pool.execute(task(body, {.name = "execute"}));
  pool.submit(body, {.name = "submit"}).get();
  auto once = pool.schedule(1ms, body, {.name = "once"});
  auto series = pool.schedule_at_fixed_rate(1ms, 1ms, body, {.name = "series"});
  auto cancelled = pool.schedule(1ms, body, {.name = "cancelled"});
  EXPECT_EQ(cancelled.cancel(), cancel_result::prevented);
  EXPECT_EQ(pool.statistics().delayed, 2u);
  time.wait_for_waiters(1);
  time.advance(1ms);
  once.get();
  time.wait_for_waiters(1);
  time.advance(1ms);
  time.wait_for_waiters(1);
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  EXPECT_THAT(seen, ElementsAre("execute", "submit", "once", "series", "series"));
  EXPECT_EQ(ran.count(), 5u);
  EXPECT_EQ(wrapped.count(), 5u);
  auto replaced = pool.schedule(0ms, body, {.name = "replaced"});
  EXPECT_THROW(replaced.get(), takt::broken_promise);
  auto dropped = pool.schedule(0ms, body, {.name = "dropped"});
  EXPECT_THROW(dropped.get(), takt::broken_promise);
  auto refused = pool.schedule_at_fixed_rate(0ms, 1ms, body, {.name = "refused"});
  EXPECT_THROW(refused.get(), std::domain_error);
  pool.close(takt::drain);
  EXPECT_EQ(ran.count(), 5u);
  EXPECT_EQ(wrapped.count(), 6u);
  takt_test::expect_balance(pool);
}

// --- ExecutorsTest

void expect_delayed_run(const scheduled_pool::options_type& how) {
  subject<plain> s(how);
  auto f = s.pool.schedule(50ms, [&] { return s.now(); });
  s.time.wait_for_waiters(1);
  EXPECT_FALSE(f.is_ready());
  s.time.advance(50ms);
  EXPECT_EQ(f.get(), 50ms);
  s.drain();
}

TEST(ExecutorsTest, testNewScheduledThreadPool) { expect_delayed_run({.threads = 2}); }

TEST(ExecutorsTest, testNewSingleThreadScheduledExecutor) {
  expect_delayed_run(scheduled_pool::single());
}

TEST(ExecutorsTest, testUnconfigurableScheduledExecutorService) {
  scheduled_pool::options_type how{.threads = 2, .resizable = false};
  expect_delayed_run(how);
  for (const auto& fixed : {how, scheduled_pool::single()}) {
    scheduled_pool pool{fixed};
    EXPECT_THROW(pool.resize(3), std::logic_error);
    EXPECT_EQ(pool.threads(), fixed.threads);
    pool.close(takt::drain);
  }
}

}  // namespace

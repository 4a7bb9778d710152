// Continues scheduled_executor_suite.hpp with the shutdown of a pool.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../support/pools.hpp"
#include "scheduled_executor_suite.hpp"

namespace scheduled_executor_suite {

template <class Kind>
void is_shutdown() {
  subject<Kind> s;
  EXPECT_FALSE(s.pool.is_shutdown());
  s.pool.shutdown();
  EXPECT_TRUE(s.pool.is_shutdown());
  s.drain();
}

template <class Kind>
void is_terminated() {
  subject<Kind> s;
  EXPECT_FALSE(s.pool.is_terminated());
  busy one(s.pool, 1);
  EXPECT_FALSE(s.pool.is_terminating());
  s.pool.shutdown();
  EXPECT_FALSE(s.pool.is_terminated());
  one.release();
  s.pool.await_termination();
  EXPECT_TRUE(s.pool.is_terminated());
  s.ended();
}

template <class Kind>
void is_terminating() {
  subject<Kind> s;
  EXPECT_FALSE(s.pool.is_terminating());
  auto later = s.pool.schedule(1ms, [] { return 1; });
  EXPECT_FALSE(s.pool.is_terminating());
  s.pool.shutdown();
  s.time.wait_for_waiters(1);
  EXPECT_TRUE(s.pool.is_terminating());
  s.time.advance(1ms);
  s.drain();
  EXPECT_FALSE(s.pool.is_terminating());
  EXPECT_EQ(later.get(), 1);
}

template <class Kind>
void shutdown_now() {
  constexpr std::size_t threads = 2;
  constexpr std::size_t count = 5;
  tally ran;
  tally begun;
  subject<Kind> s({.threads = threads});
  for (std::size_t i = 0; i < count; ++i) {
    s.pool.execute([&](const takt::sync::stop_token& stop) {
      begun.add();
      takt_test::until_stopped(stop);
      ran.add();
    });
  }
  begun.wait_for(threads);
  const takt::task_list rest = s.pool.shutdown_now();
  EXPECT_TRUE(s.pool.is_shutdown());
  EXPECT_EQ(rest.size(), count - threads);
  s.pool.await_termination();
  EXPECT_EQ(ran.count(), threads);
  EXPECT_EQ(s.ended().tasks.finished, threads);
}

// Returned tasks are neither done nor cancelled, and can still run.
template <class Kind>
void shutdown_now_with_delayed_tasks() {
  subject<Kind> s;
  tally ran;
  std::vector<takt::scheduled_future<void>> once;
  std::vector<takt::periodic_future> series;
  for (int i = 0; i < 3; ++i) {
    once.push_back(s.pool.schedule(9s, [&] { ran.add(); }));
    series.push_back(s.pool.schedule_at_fixed_rate(9s, 9s, [&] { ran.add(); }));
    series.push_back(s.pool.schedule_with_fixed_delay(9s, 9s, [&] { ran.add(); }));
    s.pool.execute(9s, [&] { ran.add(); });
  }
  EXPECT_EQ(s.pool.statistics().delayed, 12u);
  takt::task_list rest = s.pool.shutdown_now();
  EXPECT_TRUE(s.pool.is_shutdown());
  s.pool.await_termination();
  EXPECT_EQ(s.ended().tasks.returned, 12u);
  EXPECT_EQ(ran.count(), 0u);
  ASSERT_EQ(rest.size(), 12u);
  for (const task& t : rest) EXPECT_EQ(t.deadline().time_since_epoch(), 9s);
  const auto each_future = [&](auto check) {
    for (auto& f : once) check(f);
    for (auto& f : series) check(f);
  };
  each_future([](auto& f) { EXPECT_FALSE(f.is_ready()); });
  for (task& t : rest) t.run();
  EXPECT_EQ(ran.count(), 12u);
  each_future([](auto& f) { f.get(); });
}

// Every combination of policies, set at construction, before or after shutdown.
enum class said : std::uint8_t { at_first, before, after };
template <class Kind>
void shutdown_cancellation(takt::after_shutdown keep, said when) {
  constexpr takt::after_shutdown all{.delayed = true, .periodic = true};
  subject<Kind> s({.threads = 2, .keep = when == said::at_first ? keep : all});
  if (when == said::before) s.pool.keep_after_shutdown(keep);
  const auto kept = s.pool.kept_after_shutdown();
  EXPECT_EQ(kept.delayed, when == said::after || keep.delayed);
  EXPECT_EQ(kept.periodic, when == said::after || keep.periodic);
  // Two tasks run, one of them periodic; the others wait.
  busy one(s.pool, 1);
  gate begun;
  gate go_on;
  tally runs;
  auto running = s.pool.schedule_at_fixed_rate(0s, 1h, [&] {
    if (!begun.is_open()) begun.open();
    go_on.wait();
    runs.add();
  });
  begun.wait();
  auto queued = s.pool.submit([] { return 1; });
  auto due = s.pool.schedule(1ms, [] { return 2; });
  auto later = s.pool.schedule(1h, [] { return 3; });
  auto rate = s.pool.schedule_at_fixed_rate(1h, 1h, [&] { runs.add(); });
  auto delay = s.pool.schedule_with_fixed_delay(1h, 1h, [&] { runs.add(); });
  s.time.advance(1ms);
  s.pool.shutdown();
  if (when == said::after) {
    EXPECT_FALSE(later.is_ready());
    EXPECT_FALSE(rate.is_ready());
    EXPECT_FALSE(delay.is_ready());
    s.pool.keep_after_shutdown(keep);
  }
  EXPECT_FALSE(queued.is_ready());
  EXPECT_FALSE(due.is_ready());
  EXPECT_FALSE(running.is_ready());
  EXPECT_EQ(later.is_cancelled(), !keep.delayed);
  EXPECT_EQ(rate.is_cancelled(), !keep.periodic);
  EXPECT_EQ(delay.is_cancelled(), !keep.periodic);
  EXPECT_EQ(s.pool.statistics().delayed, 1u + (keep.delayed ? 1 : 0) + (keep.periodic ? 2 : 0));
  go_on.open();
  one.release();
  EXPECT_EQ(queued.get(), 1);
  EXPECT_EQ(due.get(), 2);
  if (!keep.periodic) {
    EXPECT_THROW(running.get(), takt::cancelled);
  }
  if (keep.delayed || keep.periodic) {
    s.time.wait_for_waiters(2);
    EXPECT_TRUE(s.pool.is_terminating());
    s.time.advance(1h);
  }
  if (keep.delayed) {
    EXPECT_EQ(later.get(), 3);
  }
  if (keep.periodic) {
    runs.wait_for(4);
    s.time.wait_for_waiters(2);
    EXPECT_TRUE(s.pool.is_terminating());
    for (const auto* f : {&running, &rate, &delay}) {
      EXPECT_EQ(f->cancel(), cancel_result::prevented);
    }
  }
  s.pool.await_termination();
  EXPECT_EQ(runs.count(), keep.periodic ? 4u : 1u);
  s.ended();
}
template <class Kind>
void shutdown_cancellation() {
  for (const bool delayed : {false, true}) {
    for (const bool periodic : {false, true}) {
      for (const said when : {said::at_first, said::before, said::after}) {
        shutdown_cancellation<Kind>({.delayed = delayed, .periodic = periodic}, when);
      }
    }
  }
}

}  // namespace scheduled_executor_suite

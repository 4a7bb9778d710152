// The checks of java.util.concurrent's ScheduledExecutorTest, which ScheduledExecutorSubclassTest
// repeats with a pool that decorates its tasks. Each suite has a test per upstream test, with the
// upstream name, which calls the check of that name.
//
// Time is a manual clock: what upstream checks within tolerances is exact here.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../support/pools.hpp"

namespace scheduled_executor_suite {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using takt::cancel_result;
using takt::rejection;
using takt::scheduled_pool;
using takt::task;
using takt_test::busy;
using takt_test::gate;
using takt_test::rejection_of;
using takt_test::tally;

// --- the pools

struct plain {
  static constexpr bool decorates = false;
};
// Upstream's CustomExecutor: each task is wrapped in another.
struct decorated {
  static constexpr bool decorates = true;
};

template <class Kind>
struct subject {
  explicit subject(scheduled_pool::options_type how = {.threads = 1})
      : pool(prepare(std::move(how))) {}

  scheduled_pool::options_type prepare(scheduled_pool::options_type how) {
    how.time = &time;
    if (Kind::decorates) {
      how.decorate = [this](task t) {
        wrapped.add();
        return task([inner = std::move(t)]() mutable { inner.run(); });
      };
    }
    return how;
  }

  // Requires a terminated pool.
  takt_test::last_figures ended() {
    takt_test::expect_balance(pool);
    const takt_test::last_figures s{pool.statistics(), pool.totals()};
    EXPECT_EQ(s.delayed, 0u);
    EXPECT_EQ(wrapped.count(), Kind::decorates ? s.tasks.started : 0u);
    return s;
  }
  // Drains the pool. No task may be left that waits for its deadline.
  takt_test::last_figures drain() {
    EXPECT_TRUE(pool.close(takt::drain));
    return ended();
  }
  [[nodiscard]] nanoseconds now() const { return time.now().time_since_epoch(); }

  takt::manual_clock time;
  tally wrapped;
  scheduled_pool pool;
};

// --- tasks

template <class Kind>
void execute() {
  subject<Kind> s;
  gate ran;
  s.pool.execute([&] { ran.open(); });
  ran.wait();
  s.drain();
}

// A callable runs after its delay.
template <class Kind>
void schedule_callable() {
  subject<Kind> s;
  auto f = s.pool.schedule(10ms, [&] { return s.now(); });
  EXPECT_EQ(f.time_left(), 10ms);
  s.time.wait_for_waiters(1);
  s.time.advance(10ms - 1ns);
  s.pool.submit([] {}).get();  // makes the thread check for due tasks
  s.time.wait_for_waiters(1);
  EXPECT_FALSE(f.is_ready());
  EXPECT_EQ(f.time_left(), 1ns);
  s.time.advance(1ns);
  EXPECT_EQ(f.get(), 10ms);
  s.drain();
}

// A runnable runs after its delay.
template <class Kind>
void schedule_runnable() {
  subject<Kind> s;
  nanoseconds ran{};
  auto f = s.pool.schedule(10ms, [&] { ran = s.now(); });
  s.time.wait_for_waiters(1);
  EXPECT_FALSE(f.is_ready());
  s.time.advance(10ms);
  f.get();
  EXPECT_EQ(ran, 10ms);
  s.drain();
}

// A periodic task starts after its first delay, and can be cancelled.
template <class Kind, class Add>
void series_begins_after_delay(Add add) {
  subject<Kind> s;
  std::vector<nanoseconds> ran;
  takt::periodic_future f = add(s.pool, [&] { ran.push_back(s.now()); });
  s.time.wait_for_waiters(1);
  s.time.advance(10ms - 1ns);
  s.time.wait_for_waiters(1);
  EXPECT_EQ(f.run_count(), 0u);
  s.time.advance(1ns);
  s.time.wait_for_waiters(1);
  EXPECT_THAT(ran, testing::ElementsAre(10ms));
  EXPECT_FALSE(f.is_ready());
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  EXPECT_TRUE(f.is_ready());
  EXPECT_TRUE(f.is_cancelled());
  s.time.advance(1h);
  EXPECT_EQ(s.drain().tasks.started, 1u);
}
template <class Kind>
void fixed_rate_begins_after_delay() {
  series_begins_after_delay<Kind>(
      [](scheduled_pool& pool, auto body) { return pool.schedule_at_fixed_rate(10ms, 7ms, body); });
}
template <class Kind>
void fixed_delay_begins_after_delay() {
  series_begins_after_delay<Kind>([](scheduled_pool& pool, auto body) {
    return pool.schedule_with_fixed_delay(10ms, 7ms, body);
  });
}

// Returns the start times of eight runs, the third of which takes 25 ms.
template <class Kind, class Add>
std::vector<nanoseconds> sequence(Add add) {
  subject<Kind> s({.threads = 1, .missed = takt::catch_up});
  constexpr std::size_t cycles = 8;
  std::vector<nanoseconds> began;
  takt::periodic_future f = add(s.pool, [&] {
    began.push_back(s.now());
    if (began.size() == 3) s.time.advance(25ms);
  });
  for (;;) {
    s.time.wait_for_waiters(1);
    if (began.size() >= cycles) break;
    EXPECT_TRUE(s.time.advance_to_next());
  }
  EXPECT_EQ(f.run_count(), cycles);
  EXPECT_EQ(f.missed_count(), 0u);
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  s.drain();
  return began;
}

// No drift: late runs are made up for.
template <class Kind>
void fixed_rate_sequence() {
  EXPECT_THAT(sequence<Kind>([](scheduled_pool& pool, auto body) {
                return pool.schedule_at_fixed_rate(0ms, 10ms, body);
              }),
              testing::ElementsAre(0ms, 10ms, 20ms, 45ms, 45ms, 50ms, 60ms, 70ms));
}
// The delay counts from the end of a run to the start of the next one.
template <class Kind>
void fixed_delay_sequence() {
  EXPECT_THAT(sequence<Kind>([](scheduled_pool& pool, auto body) {
                return pool.schedule_with_fixed_delay(0ms, 10ms, body);
              }),
              testing::ElementsAre(0ms, 10ms, 20ms, 55ms, 65ms, 75ms, 85ms, 95ms));
}

// A delay beyond the range of the clock does not keep other tasks from running.
template <class Kind>
void fixed_delay_overflow() {
  subject<Kind> s;
  gate immediate;
  auto f = s.pool.schedule_with_fixed_delay(0s, std::chrono::seconds::max(),
                                            [&] { s.pool.execute([&] { immediate.open(); }); });
  immediate.wait();
  s.time.wait_for_waiters(1);
  s.time.advance(std::chrono::hours(24 * 365 * 100));
  EXPECT_EQ(f.run_count(), 1u);
  EXPECT_FALSE(f.is_ready());
  s.drain();
  EXPECT_TRUE(f.is_cancelled());
}

// Calls `check` with every way to submit `f`.
template <class F, class Check>
void each_submission(scheduled_pool& pool, F f, Check check) {
  check([&] { pool.execute(f); });
  check([&] { static_cast<void>(pool.execute(1ms, f)); });
  check([&] { static_cast<void>(pool.submit(f)); });
  check([&] { static_cast<void>(pool.schedule(0ms, f)); });
  check([&] { static_cast<void>(pool.schedule(1ms, f)); });
  check([&] { static_cast<void>(pool.schedule_at_fixed_rate(0ms, 1ms, f)); });
  check([&] { static_cast<void>(pool.schedule_with_fixed_delay(1ms, 1ms, f)); });
}

template <class Kind>
void null_task_submission() {
  subject<Kind> s;
  const auto check = [](auto call) { EXPECT_THROW(call(), std::invalid_argument); };
  check([&] { s.pool.execute(task()); });
  check([&] { static_cast<void>(s.pool.execute(1ms, task())); });
  each_submission(s.pool, std::function<void()>(), check);
  each_submission(s.pool, static_cast<void (*)()>(nullptr), check);
  EXPECT_EQ(s.drain().tasks.submitted, 0u);
}

// Runs with every way to shut down, and from inside and outside of the pool.
template <class Kind>
void submitted_tasks_rejected_when_shutdown() {
  using end = void (*)(scheduled_pool&);
  const std::array<end, 2> ends{[](scheduled_pool& pool) { pool.shutdown(); },
                                [](scheduled_pool& pool) { pool.shutdown_and_cancel(); }};
  for (const end shut : ends) {
    for (const bool within : {false, true}) {
      subject<Kind> s({.threads = 2});
      busy hold(s.pool, 1);
      if (within) {
        s.pool.submit([&] { shut(s.pool); }).get();
      } else {
        shut(s.pool);
      }
      std::uint64_t refused = 0;
      each_submission(
          s.pool, [] { ADD_FAILURE(); },
          [&](auto call) {
            EXPECT_EQ(rejection_of(call), rejection::shut_down);
            ++refused;
          });
      EXPECT_FALSE(s.pool.is_terminated());
      hold.release();
      EXPECT_EQ(s.drain().tasks.rejected, refused);
    }
  }
}

// --- counts

template <class Kind>
void active_count() {
  subject<Kind> s({.threads = 2});
  EXPECT_EQ(s.pool.statistics().active, 0u);
  busy one(s.pool, 1);
  EXPECT_EQ(s.pool.statistics().active, 1u);
  auto later = s.pool.schedule(1h, [] {});
  s.time.wait_for_waiters(1);
  EXPECT_EQ(s.pool.statistics().active, 1u);  // a thread that waits for a deadline is not active
  EXPECT_EQ(later.cancel(), cancel_result::prevented);
  one.release();
  s.drain();
  EXPECT_EQ(s.pool.statistics().active, 0u);
}

template <class Kind>
void completed_task_count() {
  subject<Kind> s({.threads = 2});
  EXPECT_EQ(s.pool.totals().finished, 0u);
  s.pool.prestart();
  gate begun;
  gate go_on;
  auto f = s.pool.schedule(1ms, [&] {
    begun.open();
    go_on.wait();
  });
  s.time.wait_for_waiters(2);
  s.time.advance(1ms);
  begun.wait();
  EXPECT_EQ(s.pool.totals().finished, 0u);
  go_on.open();
  s.time.wait_for_waiters(2);  // the task has ended and is counted
  EXPECT_EQ(s.pool.totals().finished, 1u);
  s.drain();
}

template <class Kind>
void core_pool_size() {
  subject<Kind> s;
  EXPECT_EQ(s.pool.threads(), 1u);
  s.pool.resize(3);
  EXPECT_EQ(s.pool.threads(), 3u);
  busy all(s.pool, 3);
  EXPECT_EQ(s.pool.statistics().threads, 3u);
  all.release();
  s.drain();
}

template <class Kind>
void largest_pool_size() {
  subject<Kind> s({.threads = 3});
  EXPECT_EQ(s.pool.statistics().largest, 0u);
  busy all(s.pool, 3);
  EXPECT_EQ(s.pool.statistics().largest, 3u);
  all.release();
  EXPECT_EQ(s.drain().largest, 3u);
}

template <class Kind>
void pool_size() {
  subject<Kind> s;
  EXPECT_EQ(s.pool.statistics().threads, 0u);
  busy one(s.pool, 1);
  EXPECT_EQ(s.pool.statistics().threads, 1u);
  one.release();
  s.drain();
}

template <class Kind>
void task_count() {
  subject<Kind> s;
  EXPECT_EQ(s.pool.totals().submitted, 0u);
  busy one(s.pool, 1);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(s.pool.totals().submitted, 1 + i);
    if (i % 2 == 0) {
      s.pool.execute([] {});
    } else {
      s.pool.execute(1ms, [] {});
    }
    EXPECT_EQ(s.pool.totals().submitted, 2 + i);
    EXPECT_EQ(s.pool.totals().finished, 0u);
  }
  s.time.advance(1ms);
  one.release();
  EXPECT_EQ(s.drain().tasks.finished, 6u);
}

template <class Kind>
void thread_factory() {
  takt::sync::atomic<int> made{0};
  subject<Kind> s({.threads = 1, .thread = {.on_start = [&] { ++made; }}});
  auto f = s.pool.schedule(0ms, [&] { return made.load(); });
  EXPECT_EQ(f.get(), 1);
  s.drain();
}

// --- the queue

template <class Kind>
void queue() {
  subject<Kind> s;
  busy one(s.pool, 1);
  std::vector<int> ran;
  std::vector<takt::scheduled_future<void>> tasks;
  for (int i = 0; i < 5; ++i) {
    tasks.push_back(s.pool.schedule(1ms, [&ran, i] { ran.push_back(i); }));
    EXPECT_EQ(s.pool.statistics().delayed, tasks.size());
  }
  s.pool.execute([&] { ran.push_back(5); });
  EXPECT_EQ(s.pool.statistics().queued, 1u);
  s.time.advance(1ms);
  EXPECT_EQ(s.pool.statistics().delayed, 5u);  // no thread has processed them
  EXPECT_EQ(tasks[4].time_left(), 0ms);
  one.release();
  s.drain();
  EXPECT_THAT(ran, testing::ElementsAre(5, 0, 1, 2, 3, 4));
}

// Java removes a task with remove(), and its future then waits forever; here cancelling removes it.
template <class Kind>
void remove() {
  subject<Kind> s;
  gate begun;
  gate go_on;
  tally ran;
  std::vector<takt::scheduled_future<void>> tasks;
  tasks.push_back(s.pool.schedule(0ms, [&] {
    begun.open();
    go_on.wait();
  }));
  for (int i = 1; i < 6; ++i) tasks.push_back(s.pool.schedule(1ms, [&] { ran.add(); }));
  begun.wait();
  EXPECT_EQ(s.pool.statistics().delayed, 5u);
  EXPECT_EQ(tasks[4].cancel(), cancel_result::prevented);
  EXPECT_EQ(s.pool.statistics().delayed, 4u);
  EXPECT_EQ(tasks[4].cancel(), cancel_result::done);
  EXPECT_EQ(tasks[3].cancel(), cancel_result::prevented);
  EXPECT_EQ(tasks[3].cancel(), cancel_result::done);
  EXPECT_EQ(s.pool.statistics().delayed, 3u);
  EXPECT_EQ(tasks[0].cancel(), cancel_result::running);
  s.time.advance(1ms);
  go_on.open();
  const auto counts = s.drain().tasks;
  EXPECT_EQ(ran.count(), 3u);
  EXPECT_EQ(counts.finished, 3u);
  EXPECT_EQ(counts.cancelled, 3u);
}

// purge() has nothing to do: cancelled tasks leave at once, periodic ones too.
template <class Kind>
void purge() {
  subject<Kind> s;
  busy one(s.pool, 1);
  std::vector<takt::scheduled_future<void>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(s.pool.schedule(9s, [] { ADD_FAILURE(); }));
  auto rate = s.pool.schedule_at_fixed_rate(9s, 9s, [] { ADD_FAILURE(); });
  const takt::timer_handle plain_one = s.pool.execute(9s, [] { ADD_FAILURE(); });
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(s.pool.statistics().delayed, 7 - i);
    takt::future<void> moved = std::move(tasks[i]);
    EXPECT_EQ(moved.cancel(), cancel_result::prevented);
  }
  EXPECT_EQ(rate.cancel(), cancel_result::prevented);
  EXPECT_EQ(s.pool.statistics().delayed, 1u);
  EXPECT_EQ(plain_one.cancel(), cancel_result::prevented);
  EXPECT_EQ(s.pool.statistics().delayed, 0u);
  EXPECT_EQ(s.pool.totals().cancelled, 7u);
  one.release();
  s.drain();
}

}  // namespace scheduled_executor_suite

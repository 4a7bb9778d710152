#include <takt/sched/scheduled_pool.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>

#include "../../tests/support/pools.hpp"
#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using takt::cancel_result;
using takt::manual_clock;
using takt::scheduled_pool;
using takt::timer_handle;
using takt_test::busy;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::rejection_of;
using takt_test::tally;

static_assert(takt::executor<scheduled_pool>);

// A deadline of another clock does not compile.
template <class When>
concept can_be_when = requires(scheduled_pool& pool, When w) { pool.schedule(w, [] {}); };
static_assert(can_be_when<takt::clock::time_point>);
static_assert(can_be_when<std::chrono::duration<double>>);
static_assert(!can_be_when<std::chrono::system_clock::time_point>);
static_assert(!can_be_when<int>);

// The log of the tasks that ran.
class log {
 public:
  void add(const std::string& what) {
    const takt::detail::mutex_lock lock(mu_);
    all_ += what;
  }
  [[nodiscard]] std::string text() const {
    const takt::detail::mutex_lock lock(mu_);
    return all_;
  }

 private:
  mutable takt::detail::mutex mu_;
  std::string all_ TAKT_GUARDED_BY(mu_);
};

// The message of the std::invalid_argument that `call` throws.
template <class Call>
std::string complaint(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

// --- due times

TEST(scheduled_pool, runs_at_once_and_later) {
  manual_clock time;
  scheduled_pool pool({.threads = 2, .time = &time});
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  auto later = pool.schedule(10ms, [] { return 2; });
  EXPECT_EQ(later.time_left(), 10ms);
  EXPECT_EQ(later.next_time(), time.now() + 10ms);
  time.advance(9ms);
  pool.submit([] {}).get();
  EXPECT_FALSE(later.is_ready());
  EXPECT_EQ(pool.statistics().delayed, 1u);
  time.advance(1ms);
  EXPECT_EQ(later.get(), 2);
  pool.close(takt::drain);
  EXPECT_EQ(later.time_left(), takt::never);
  expect_balance(pool);
}

TEST(scheduled_pool, takes_absolute_times) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  const auto due = time.now() + 10ms;
  auto later = pool.schedule(due, [] { return 2; });
  EXPECT_EQ(later.next_time(), due);
  time.advance_to(due);
  EXPECT_EQ(later.get(), 2);
  EXPECT_EQ(pool.schedule(due - 5ms, [] { return 3; }).get(), 3);  // the time has passed: at once
}

TEST(scheduled_pool, runs_at_once_what_has_a_delay_below_zero) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  EXPECT_EQ(pool.schedule(-1s, [] { return 1; }).get(), 1);
  EXPECT_EQ(pool.schedule(nanoseconds::min(), [] { return 1; }).get(), 1);
}

TEST(scheduled_pool, never_is_never) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto far = pool.schedule(std::chrono::hours::max(), [] {});
  auto farther = pool.schedule(takt::clock::time_point::max(), [] {});
  auto most = pool.schedule(nanoseconds::max() - 1ns, [] {});
  EXPECT_EQ(far.time_left(), takt::never);
  // An overdue task runs before them.
  EXPECT_EQ(pool.schedule(-1s, [] { return 1; }).get(), 1);
  time.advance(10000h);
  EXPECT_EQ(pool.submit([] { return 2; }).get(), 2);
  EXPECT_EQ(pool.statistics().delayed, 3u);
  EXPECT_EQ(far.cancel(), cancel_result::prevented);
}

// --- order

TEST(scheduled_pool, runs_in_the_order_of_deadlines_and_then_of_submission) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  log ran;
  busy worker(pool, 1);
  pool.execute(3ms, [&] { ran.add("e"); });
  pool.execute(1ms, [&] { ran.add("b"); });
  pool.execute(2ms, [&] { ran.add("c"); });
  pool.execute(1ms, [&] { ran.add("B"); });
  pool.execute([&] { ran.add("a"); });
  time.advance(2ms);
  pool.execute([&] { ran.add("d"); });
  time.advance(8ms);
  pool.execute([&] { ran.add("f"); });
  worker.release();
  pool.close(takt::drain);
  EXPECT_EQ(ran.text(), "abBcdef");
}

TEST(scheduled_pool, a_periodic_task_keeps_its_turn_among_equal_deadlines) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  log ran;
  tally runs;
  auto series = pool.schedule_at_fixed_rate(1ms, 1ms, [&] {
    ran.add("s");
    runs.add();
  });
  pool.execute(2ms, [&] { ran.add("x"); });
  time.advance(1ms);
  runs.wait_for(1);
  time.advance(1ms);
  pool.submit([] {}).get();
  EXPECT_EQ(ran.text(), "ssx");
}

// --- handles

TEST(scheduled_pool, cancelling_takes_a_task_out_at_once) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto owner = std::make_shared<int>(1);
  auto f = pool.schedule(1h, [owner] {});
  const timer_handle h = pool.execute(1h, [owner] {});
  auto series = pool.schedule_at_fixed_rate(1h, 1h, [owner] {});
  EXPECT_EQ(owner.use_count(), 4);
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  EXPECT_EQ(h.cancel(), cancel_result::prevented);
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(pool.statistics().delayed, 0u);
  EXPECT_EQ(pool.totals().cancelled, 3u);
  EXPECT_EQ(f.cancel(), cancel_result::done);
  EXPECT_EQ(h.cancel(), cancel_result::done);
  EXPECT_EQ(series.cancel(), cancel_result::done);
  EXPECT_FALSE(h.reschedule(1s));
  EXPECT_FALSE(h.pause());
  EXPECT_FALSE(h.resume());
  EXPECT_THROW(f.get(), takt::cancelled);
  EXPECT_EQ(f.cancel(), cancel_result::done);  // by the handle, as the future is empty
  pool.close(takt::drain);
  expect_balance(pool);
}

TEST(scheduled_pool, the_future_alone_cancels_as_well) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): the handle goes
  takt::future<void> f = pool.schedule(1h, [] {});
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  EXPECT_EQ(pool.statistics().delayed, 0u);
}

TEST(scheduled_pool, a_handle_tells_that_its_task_runs) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  gate begun;
  gate go_on;
  const timer_handle h = pool.execute(0s, [&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  EXPECT_EQ(h.cancel(), cancel_result::running);
  EXPECT_EQ(h.next_time(), takt::clock::time_point::max());
  EXPECT_FALSE(h.reschedule(1s));
  EXPECT_FALSE(h.pause());
  go_on.open();
  pool.submit([] {}).get();
  EXPECT_EQ(h.cancel(), cancel_result::done);
}

TEST(scheduled_pool, handles_outlive_their_pool) {
  timer_handle h;
  takt::periodic_future series;
  takt::scheduled_future<void> f;
  {
    scheduled_pool pool({.threads = 1});
    h = pool.execute(1h, [] {});
    series = pool.schedule_at_fixed_rate(0s, 1h, [] {});
    f = pool.schedule(1h, [] {});
  }
  EXPECT_EQ(h.cancel(), cancel_result::done);
  EXPECT_EQ(h.time_left(), takt::never);
  EXPECT_FALSE(h.reschedule(1s));
  EXPECT_FALSE(h.pause());
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_LE(series.run_count(), 1u);
  EXPECT_EQ(timer_handle().cancel(), cancel_result::done);
  EXPECT_FALSE(timer_handle().resume());
  EXPECT_EQ(timer_handle().time_left(), takt::never);
}

// A clock that is destroyed after its pool.
class short_lived_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override {
    if (gone) ++late_uses;
    return takt::steady.now();
  }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    takt::steady.park_until(p, deadline);
  }
  bool gone = false;
  mutable int late_uses = 0;
};

TEST(scheduled_pool, handles_outlive_the_clock_of_their_pool) {
  short_lived_clock time;
  timer_handle h;
  timer_handle paused;
  {
    scheduled_pool pool({.threads = 1, .time = &time});
    h = pool.execute(1h, [] {});
    paused = pool.execute(1h, [] {});
    paused.pause();
  }
  time.gone = true;
  EXPECT_FALSE(h.reschedule(1s));
  EXPECT_FALSE(h.pause());
  EXPECT_FALSE(h.resume());
  EXPECT_FALSE(paused.resume());
  EXPECT_EQ(h.time_left(), takt::never);
  EXPECT_EQ(time.late_uses, 0);
}

TEST(scheduled_pool, reschedules_in_place) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto f = pool.schedule(10ms, [] {});
  EXPECT_TRUE(f.reschedule(20ms));
  time.advance(10ms);
  pool.submit([] {}).get();
  EXPECT_FALSE(f.is_ready());
  EXPECT_EQ(f.time_left(), 10ms);
  EXPECT_TRUE(f.reschedule(time.now() + 1ms));
  time.advance(1ms);
  f.get();
  EXPECT_FALSE(f.reschedule(1ms));
}

TEST(scheduled_pool, stops_the_time_of_what_is_paused) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto f = pool.schedule(10ms, [] {});
  time.advance(4ms);
  EXPECT_TRUE(f.pause());
  EXPECT_FALSE(f.pause());
  EXPECT_EQ(f.time_left(), takt::never);
  time.advance(1h);
  pool.submit([] {}).get();
  EXPECT_FALSE(f.is_ready());
  EXPECT_TRUE(f.resume());
  EXPECT_FALSE(f.resume());
  EXPECT_EQ(f.time_left(), 6ms);
  EXPECT_TRUE(f.pause());
  EXPECT_TRUE(f.reschedule(1ms));  // which ends the pause
  EXPECT_FALSE(f.resume());
  time.advance(1ms);
  f.get();
}

TEST(scheduled_pool, pauses_moves_and_changes_a_series_while_it_runs) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  std::function<void()> then = [] {};
  tally runs;
  auto series = pool.schedule_at_fixed_rate(10ms, 10ms, [&] {
    then();
    runs.add();
  });
  const auto settled = [&] { pool.submit([] {}).get(); };
  then = [&] { EXPECT_TRUE(series.pause()); };
  time.advance(10ms);
  runs.wait_for(1);
  settled();
  EXPECT_EQ(series.time_left(), takt::never);
  time.advance(1h);
  EXPECT_TRUE(series.resume());
  EXPECT_EQ(series.time_left(), 10ms);
  then = [&] { EXPECT_TRUE(series.reschedule(3ms)); };
  time.advance(10ms);
  runs.wait_for(2);
  settled();
  EXPECT_EQ(series.time_left(), 3ms);
  then = [&] { series.set_period(1ms); };
  time.advance(3ms);
  runs.wait_for(3);
  settled();
  EXPECT_EQ(series.time_left(), 1ms);
  EXPECT_EQ(complaint([&] { series.set_period(0ms); }),
            "takt: the period is 0 ns; it has to be above 0");
  EXPECT_EQ(series.run_count(), 3u);
}

// --- slack

TEST(scheduled_pool, deadlines_with_slack_become_one) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto a = pool.schedule(1000001ns, [] {}, {.slack = 1ms});
  auto b = pool.schedule(1040000ns, [] {}, {.slack = 1ms});
  auto exact = pool.schedule(1040000ns, [] {});
  EXPECT_EQ(a.time_left(), 1000001ns);
  time.advance(1040000ns);
  exact.get();
  EXPECT_FALSE(a.is_ready());
  EXPECT_FALSE(b.is_ready());
  time.wait_for_waiters(1);
  ASSERT_TRUE(time.advance_to_next());
  EXPECT_LE(time.now().time_since_epoch(), 2000001ns);
  a.get();
  b.get();
  EXPECT_EQ(complaint([&] { pool.execute(1s, [] {}, {.slack = -1ns}); }),
            "takt::scheduler: the slack is negative (-1 ns)");
  pool.close(takt::drain);
  expect_balance(pool);
}

TEST(scheduled_pool, slack_does_not_reach_beyond_the_end_of_time) {
  const auto due = takt::clock::time_point::max() - 1s;
  manual_clock time(due - 1h);
  scheduled_pool pool({.threads = 1, .time = &time});
  auto last = pool.schedule(due, [] {}, {.slack = 1h});
  time.wait_for_waiters(1);
  ASSERT_TRUE(time.advance_to_next());
  last.get();
  EXPECT_EQ(time.now(), due);
}

// --- bad input

TEST(scheduled_pool, names_what_is_wrong_and_queues_nothing) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  EXPECT_EQ(complaint([&] { pool.schedule_at_fixed_rate(0s, 0s, [] {}).cancel(); }),
            "takt: the period is 0 ns; it has to be above 0");
  EXPECT_EQ(complaint([&] { pool.schedule_with_fixed_delay(0s, -1ns, [] {}).cancel(); }),
            "takt: the period is -1 ns; it has to be above 0");
  EXPECT_EQ(complaint([&] { pool.schedule(0s, std::function<void()>()).cancel(); }),
            "takt::scheduler: the callable is empty");
  EXPECT_EQ(
      complaint([&] { pool.schedule_at_fixed_rate(0s, 1s, std::function<void()>()).cancel(); }),
      "takt::scheduler: the callable is empty");
  EXPECT_EQ(complaint([&] { pool.execute(1s, takt::task()); }),
            "takt::scheduler: the task is empty");
  EXPECT_EQ(complaint([&] { pool.execute(takt::task()); }),
            "takt::scheduled_pool: the task is empty");
  EXPECT_NE(complaint([&] {
              pool.schedule(std::chrono::duration<double>(std::nan("")), [] {}).cancel();
            }),
            "");
  EXPECT_EQ(complaint([] { const scheduled_pool p({.keep_alive = -1ns}); }),
            "takt::scheduled_pool: keep_alive is negative (-1 ns)");
  EXPECT_NE(complaint([] { const scheduled_pool p({.keep_alive = 0ns, .core_times_out = true}); }),
            "");
  EXPECT_EQ(complaint([] { const scheduled_pool p({.time = nullptr}); }),
            "takt::scheduled_pool: time is null");
  EXPECT_EQ(complaint([] { const scheduled_pool p({.unhandled = nullptr}); }),
            "takt::scheduled_pool: unhandled is null");
  EXPECT_EQ(complaint([] { static_cast<void>(takt::catch_up_within(-1ns)); }),
            "takt::missed_runs: the tolerance is negative (-1 ns)");
  EXPECT_EQ(pool.statistics().delayed, 0u);
  EXPECT_EQ(pool.totals().submitted, 0u);
  pool.shutdown();
  EXPECT_EQ(rejection_of([&] { pool.schedule(1s, [] {}).cancel(); }), takt::rejection::shut_down);
  EXPECT_EQ(rejection_of([&] { pool.execute(1s, [] {}); }), takt::rejection::shut_down);
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), takt::rejection::shut_down);
  EXPECT_EQ(pool.totals().rejected, 3u);
  pool.await_termination();
  expect_balance(pool);
}

TEST(scheduled_pool, without_a_thread_it_rejects) {
  bool may = false;
  scheduled_pool pool({.threads = 1, .thread = {.may_start = [&] { return may; }}});
  EXPECT_EQ(rejection_of([&] { pool.execute(1h, [] {}); }), takt::rejection::no_thread);
  EXPECT_EQ(pool.statistics().delayed, 0u);
  EXPECT_EQ(pool.totals().rejected, 1u);
  may = true;
  EXPECT_EQ(pool.schedule(0s, [] { return 1; }).get(), 1);
}

// --- threads

TEST(scheduled_pool, works_without_core_threads) {
  manual_clock time;
  scheduled_pool pool({.threads = 0, .keep_alive = 1s, .time = &time});
  auto f = pool.schedule(1h, [] {});
  time.wait_for_waiters(1);
  time.advance(30min);  // longer than keep_alive
  time.wait_for_waiters(1);
  EXPECT_EQ(pool.statistics().threads, 1u);
  time.advance(30min);
  f.get();
  time.wait_for_waiters(1);
  time.advance(1s);
  while (pool.statistics().threads != 0) takt::sync::yield();
  EXPECT_EQ(pool.schedule(-1s, [] { return 1; }).get(), 1);
}

// keep_alive begins when the last delayed task is cancelled, however far away its deadline was.
TEST(scheduled_pool, a_thread_ends_after_the_last_delayed_task_was_cancelled) {
  for (const std::size_t core : {0UL, 2UL}) {
    manual_clock time;
    scheduled_pool pool(
        {.threads = core, .keep_alive = 1s, .core_times_out = core != 0, .time = &time});
    auto f = pool.schedule(1h, [] {});
    time.wait_for_waiters(1);
    EXPECT_EQ(f.cancel(), cancel_result::prevented);
    time.wait_for_waiters(1);
    EXPECT_EQ(pool.statistics().threads, 1u);
    time.advance(1s);
    ASSERT_EQ(time.waiters(), 0u);
    while (pool.statistics().threads != 0) takt::sync::yield();
  }
}

// Also for a thread that was idle before the delayed task was added.
TEST(scheduled_pool, keep_alive_begins_anew_when_a_delayed_task_is_cancelled) {
  manual_clock time;
  scheduled_pool pool({.threads = 0, .keep_alive = 10s, .time = &time});
  pool.submit([] {}).get();
  time.wait_for_waiters(1);
  auto f = pool.schedule(1h, [] {});
  time.advance(
      11s);  // the thread is on its way now, or was before: it has seen the task when it is
  time.wait_for_waiters(1);  // the thread waits again
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  while (time.waiters() == 0 && pool.statistics().threads != 0) takt::sync::yield();
  ASSERT_EQ(pool.statistics().threads, 1u);
  EXPECT_TRUE(time.advance_to_next());
  EXPECT_EQ(time.now().time_since_epoch(), 21s);
  while (pool.statistics().threads != 0) takt::sync::yield();
}

// The same if the last delayed task is a series that another thread is running.
TEST(scheduled_pool, a_thread_ends_after_the_last_run_of_a_series) {
  manual_clock time;
  scheduled_pool pool({.threads = 2, .keep_alive = 1s, .core_times_out = true, .time = &time});
  EXPECT_EQ(pool.prestart(), 2u);
  takt::parker begun;
  takt::parker go;
  auto series = pool.schedule_with_fixed_delay(0s, 1h, [&] {
    begun.unpark();
    go.park();
  });
  begun.park();
  pool.submit([] {}).get();  // the other thread is idle again, and stays for the series
  time.wait_for_waiters(1);
  EXPECT_EQ(series.cancel(), cancel_result::running);
  go.unpark();
  time.wait_for_waiters(2);
  time.advance(1s);
  ASSERT_EQ(time.waiters(), 0u);
  while (pool.statistics().threads != 0) takt::sync::yield();
}

TEST(scheduled_pool, changes_its_size) {
  manual_clock time;
  scheduled_pool pool({.threads = 3, .time = &time});
  EXPECT_EQ(pool.prestart(), 3u);
  auto far = pool.schedule(1h, [] {});
  time.wait_for_waiters(3);
  pool.resize(1);
  while (pool.statistics().threads != 1) takt::sync::yield();
  EXPECT_EQ(pool.threads(), 1u);
  time.advance(1h);
  far.get();
  pool.resize(0);
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  scheduled_pool one(scheduled_pool::single());
  EXPECT_THROW(one.resize(2), std::logic_error);
}

// One thread waits for the deadline, the others only for work.
TEST(scheduled_pool, only_one_thread_wakes_for_a_deadline) {
  manual_clock time;
  scheduled_pool pool({.threads = 3, .time = &time});
  pool.prestart();
  const timer_handle h = pool.execute(1h, [] {});
  time.wait_for_waiters(3);
  EXPECT_EQ(h.cancel(), cancel_result::prevented);
  ASSERT_TRUE(time.advance_to_next());  // wakes the leader in vain
  time.wait_for_waiters(3);
  EXPECT_FALSE(time.advance_to_next());
}

// --- memory

TEST(scheduled_pool, allocates_nothing_to_delay_a_small_callable) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  scheduled_pool pool({.threads = 1});
  pool.execute(1h, [] {}).cancel();
  const auto before = takt::allocations();
  for (int i = 0; i < 100; ++i) pool.execute(1h, [] {}).cancel();
  EXPECT_EQ(takt::allocations() - before, 0u);
  pool.schedule(1h, [] {}).cancel();
  EXPECT_EQ(takt::allocations() - before, 1u);
}

}  // namespace

// Shutdown of a scheduled_pool, and coroutines that wait on one.
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::manual_clock;
using takt::scheduled_pool;
using takt_test::busy;
using takt_test::detached;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::owned;
using takt_test::tally;

class after_shutdown_policy : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(after_shutdown_policy, says_what_is_still_run) {
  const auto [delayed, periodic] = GetParam();
  manual_clock time;
  scheduled_pool pool(
      {.threads = 1, .keep = {.delayed = delayed, .periodic = periodic}, .time = &time});
  tally ran;
  busy worker(pool, 1);
  auto due = pool.schedule(1ms, [&] { ran.add(); });
  auto later = pool.schedule(10ms, [] {});
  auto paused = pool.schedule(10ms, [] {});
  auto never = pool.schedule(takt::never, [] {});
  paused.pause();
  auto series = pool.schedule_at_fixed_rate(10ms, 10ms, [&] { ran.add(); });
  time.advance(1ms);
  pool.shutdown();
  EXPECT_TRUE(pool.is_shutdown());
  EXPECT_TRUE(paused.is_cancelled());
  EXPECT_TRUE(never.is_cancelled());
  EXPECT_EQ(later.is_cancelled(), !delayed);
  EXPECT_EQ(series.is_cancelled(), !periodic);
  EXPECT_FALSE(later.pause());
  worker.release();
  due.get();  // runs in all cases
  if (delayed || periodic) {
    time.wait_for_waiters(1);
    EXPECT_FALSE(pool.is_terminated());
    time.advance(9ms);
  }
  if (delayed) later.get();
  if (periodic) {
    ran.wait_for(2);
    EXPECT_FALSE(pool.is_terminated());
    series.cancel();
  }
  pool.await_termination();
  EXPECT_EQ(ran.count(), periodic ? 2u : 1u);
  expect_balance(pool);
}

INSTANTIATE_TEST_SUITE_P(scheduled_pool, after_shutdown_policy,
                         ::testing::Values(std::pair(false, false), std::pair(false, true),
                                           std::pair(true, false), std::pair(true, true)));

TEST(scheduled_pool_end, a_policy_that_is_changed_later_takes_effect) {
  manual_clock time;
  scheduled_pool pool({.threads = 2, .keep = {.delayed = true, .periodic = true}, .time = &time});
  auto later = pool.schedule(10ms, [] {});
  auto series = pool.schedule_at_fixed_rate(10ms, 10ms, [] {});
  pool.shutdown();
  pool.keep_after_shutdown({.delayed = true, .periodic = false});
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_FALSE(later.is_ready());
  EXPECT_FALSE(pool.is_terminated());
  EXPECT_TRUE(pool.kept_after_shutdown().delayed);
  pool.keep_after_shutdown({.delayed = false, .periodic = false});
  EXPECT_TRUE(later.is_cancelled());
  pool.await_termination();
  expect_balance(pool);
}

TEST(scheduled_pool_end, cancelling_what_is_left_ends_it) {
  manual_clock time;
  scheduled_pool pool({.threads = 3, .time = &time});
  pool.prestart();
  auto later = pool.schedule(1h, [] {});
  const auto guard = pool.execute(1h, [] {});
  pool.shutdown();
  time.wait_for_waiters(1);
  later.cancel();
  EXPECT_FALSE(pool.is_terminated());
  guard.cancel();
  pool.await_termination();
  expect_balance(pool);
}

TEST(scheduled_pool_end, what_is_moved_to_never_after_shutdown_does_not_keep_the_pool) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto later = pool.schedule(1ms, [] {});
  pool.shutdown();
  EXPECT_FALSE(later.reschedule(takt::never));
  EXPECT_TRUE(later.reschedule(2ms));
  time.advance(2ms);
  later.get();
  pool.await_termination();
}

TEST(scheduled_pool_end,
     a_series_that_was_paused_or_moved_to_never_in_its_run_does_not_keep_the_pool) {
  for (const bool pauses : {true, false}) {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .keep = {.periodic = true}, .time = &time});
    gate begun;
    gate go_on;
    auto series = pool.schedule_at_fixed_rate(0ms, 1ms, [&] {
      begun.open();
      go_on.wait();
    });
    begun.wait();
    if (pauses) {
      EXPECT_TRUE(series.pause());
    } else {
      EXPECT_TRUE(series.reschedule(takt::never));
    }
    pool.shutdown();
    go_on.open();
    pool.await_termination();
    EXPECT_TRUE(series.is_cancelled());
    expect_balance(pool);
  }
}

TEST(scheduled_pool_end, what_is_paused_is_given_back_with_what_was_left) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto once = pool.schedule(10ms, [] {});
  time.advance(4ms);
  EXPECT_TRUE(once.pause());
  time.advance(1h);
  takt::task_list unstarted = pool.shutdown_now();
  ASSERT_EQ(unstarted.size(), 1u);
  EXPECT_EQ(unstarted[0].deadline(), time.now() + 6ms);
}

TEST(scheduled_pool_end, shutdown_now_gives_back_what_has_not_begun_with_its_deadline) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  busy worker(pool, 1);
  auto queued = pool.submit([] { return 1; });
  auto later = pool.schedule(10ms, [] { return 2; });
  tally ran;
  auto series = pool.schedule_at_fixed_rate(20ms, 10ms, [&] { ran.add(); });
  const auto guard = pool.execute(30ms, [&] { ran.add(); }, {.name = "guard"});
  pool.schedule(40ms, [] {}).cancel();
  takt::task_list unstarted = pool.shutdown_now();
  ASSERT_EQ(unstarted.size(), 4u);
  EXPECT_EQ(guard.cancel(), cancel_result::done);
  EXPECT_FALSE(later.reschedule(1ms));
  std::chrono::nanoseconds left{0};
  for (takt::task& t : unstarted) {
    EXPECT_GE(t.deadline(), time.now());  // queued tasks have one, too
    if (t.deadline() > time.now()) left += t.deadline() - time.now();
    if (t.deadline() == time.now() + 30ms) {
      EXPECT_EQ(t.name(), "guard");
    }
    t.run();
  }
  EXPECT_EQ(left, 60ms);
  EXPECT_EQ(queued.get(), 1);
  EXPECT_EQ(later.get(), 2);
  series.get();  // the last run of the series
  EXPECT_EQ(ran.count(), 2u);
  worker.release();
  pool.await_termination();
  EXPECT_EQ(pool.totals().returned, 4u);
  expect_balance(pool);
}

TEST(scheduled_pool_end, what_was_given_back_and_dropped_is_abandoned) {
  scheduled_pool pool({.threads = 1});
  auto later = pool.schedule(1h, [] {});
  auto series = pool.schedule_at_fixed_rate(1h, 1h, [] {});
  EXPECT_EQ(pool.shutdown_now().size(), 2u);
  EXPECT_THROW(later.get(), takt::broken_promise);
  EXPECT_THROW(series.get(), takt::broken_promise);
}

TEST(scheduled_pool_end, the_destructor_cancels_and_does_not_wait_for_deadlines) {
  takt::scheduled_future<void> later;
  takt::periodic_future series;
  auto owner = std::make_shared<int>();
  {
    scheduled_pool pool({.threads = 2, .keep = {.periodic = true}});
    later = pool.schedule(1h, [owner] {});
    series = pool.schedule_at_fixed_rate(0s, 1h, [owner] {});
    pool.execute(1h, [owner] {});
  }
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_THROW(later.get(), takt::cancelled);
  EXPECT_THROW(series.get(), takt::cancelled);
}

TEST(scheduled_pool_end, gives_back_a_hundred_thousand) {
  scheduled_pool pool({.threads = 1});
  for (int i = 0; i < 100'000; ++i) pool.execute(1h, [] {});
  EXPECT_EQ(pool.shutdown_now().size(), 100'000u);
  pool.await_termination();
  expect_balance(pool);
}

// A task that is never due would keep the pool for ever; also one that becomes so after shutdown().
TEST(scheduled_pool_end, a_kept_series_that_was_paused_while_it_ran_is_cancelled) {
  for (const bool pauses : {true, false}) {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .keep = {.periodic = true}, .time = &time});
    gate begun;
    gate go_on;
    const std::chrono::nanoseconds delay = pauses ? 1ms : takt::never;
    auto series = pool.schedule_with_fixed_delay(0ms, delay, [&] {
      begun.open();
      go_on.wait();
    });
    begun.wait();
    if (pauses) {
      EXPECT_TRUE(series.pause());
    }
    pool.shutdown();
    go_on.open();
    EXPECT_TRUE(pool.await_termination(10s));  // by the pool's clock, which stands still
    EXPECT_TRUE(series.is_cancelled());
    expect_balance(pool);
  }
}

TEST(scheduled_pool_end, a_series_that_is_shut_down_during_its_run_has_no_next_one) {
  for (const bool kept : {false, true}) {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .keep = {.periodic = kept}, .time = &time});
    gate begun;
    gate go_on;
    auto series = pool.schedule_at_fixed_rate(0ms, 10ms, [&] {
      begun.open();
      go_on.wait();
    });
    begun.wait();
    EXPECT_TRUE(series.pause());
    pool.shutdown();
    EXPECT_EQ(series.resume(), kept);
    EXPECT_FALSE(series.pause());
    EXPECT_EQ(series.reschedule(10ms), kept);
    series.cancel();
    go_on.open();
    pool.await_termination();
  }
}

TEST(scheduled_pool_end, what_was_paused_and_given_back_is_not_resumed) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  time.advance(1h);
  auto f = pool.schedule(10ms, [] {});
  EXPECT_TRUE(f.pause());
  auto unstarted = pool.shutdown_now();
  ASSERT_EQ(unstarted.size(), 1u);
  EXPECT_EQ(unstarted[0].deadline(), time.now() + 10ms);  // as if it had been resumed
  EXPECT_FALSE(f.resume());
  EXPECT_EQ(f.time_left(), takt::never);
}

// A task that is never due has a thread, in case it is rescheduled.
TEST(scheduled_pool_end, what_was_accepted_is_run_though_no_thread_can_be_started_later) {
  manual_clock time;
  bool may = false;
  scheduled_pool pool({.threads = 1, .thread = {.may_start = [&] { return may; }}, .time = &time});
  EXPECT_THROW(pool.execute(takt::never, [] {}), takt::rejected);
  may = true;
  tally ran;
  const auto h = pool.execute(takt::never, [&] { ran.add(); });
  may = false;
  EXPECT_TRUE(h.reschedule(0ms));
  pool.shutdown();
  pool.await_termination();
  EXPECT_EQ(ran.count(), 1u);
  expect_balance(pool);
}

// The clock of a thread that was suspended after it had read the time.
class late_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override {
    return stale != time_point() ? stale : time.now();
  }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    time.park_until(p, deadline);
  }
  manual_clock time;
  static thread_local time_point stale;
};
thread_local takt::clock::time_point late_clock::stale{};

// shutdown() has decided that the due task runs, and is cancelling others, when a worker takes it.
TEST(scheduled_pool_end, what_is_due_is_not_left_out_while_others_are_cancelled) {
  late_clock time;
  time.time.advance(1h);
  const auto start = time.now();
  scheduled_pool pool({.threads = 1, .keep = {.delayed = false}, .time = &time});
  gate begun;
  gate go_on;
  gate queued_ran;
  auto due = pool.schedule(8ms, [] {});
  std::shared_ptr<void> last(nullptr, [&](void*) {
    go_on.open();
    queued_ran.wait();
  });
  for (int i = 0; i < 32; ++i) pool.execute(1h, [held = i == 0 ? std::move(last) : nullptr] {});
  auto series = pool.schedule_at_fixed_rate(3ms, 1h, [] {});
  auto first = pool.schedule(2ms, [&] {
    begun.open();
    go_on.wait();
  });
  time.time.advance(10ms);
  begun.wait();
  late_clock::stale = start + 5ms;
  pool.execute([&] { queued_ran.open(); });
  late_clock::stale = {};
  pool.shutdown();
  pool.await_termination();
  due.get();
  EXPECT_TRUE(series.is_cancelled());
  expect_balance(pool);
}

// --- coroutines

detached wait_for(scheduled_pool& pool, std::string& outcome, gate& ended,
                  takt::sync::stop_token stop = {}) {
  try {
    co_await pool.after(10ms, stop);
    outcome = takt::detail::executor_scope::innermost() != nullptr ? "on the pool" : "elsewhere";
  } catch (const takt::cancelled&) {
    outcome = "cancelled";
  } catch (const takt::rejected&) {
    outcome = "rejected";
  }
  ended.open();
}

TEST(co_await_after, goes_on_on_the_pool_at_its_time) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  std::string outcome;
  gate ended;
  wait_for(pool, outcome, ended);
  time.advance(9ms);
  pool.submit([] {}).get();
  EXPECT_EQ(outcome, "");
  time.advance(1ms);
  ended.wait();
  EXPECT_EQ(outcome, "on the pool");
  gate again;
  [](scheduled_pool& p, manual_clock& t, gate& done) -> detached {
    co_await p.at(t.now() + 5ms);
    done.open();
  }(pool, time, again);
  time.advance(5ms);
  again.wait();
  pool.close(takt::drain);
  expect_balance(pool);
}

TEST(co_await_after, hears_a_stop_request) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  std::string outcome;
  gate ended;
  takt::sync::stop_source source;
  wait_for(pool, outcome, ended, source.get_token());
  EXPECT_EQ(outcome, "");
  source.request_stop();
  EXPECT_EQ(outcome, "cancelled");
  EXPECT_EQ(pool.statistics().delayed, 0u);
  gate at_once;
  wait_for(pool, outcome, at_once, source.get_token());
  EXPECT_TRUE(at_once.is_open());
  EXPECT_EQ(outcome, "cancelled");
  pool.close(takt::drain);
  expect_balance(pool);
}

TEST(co_await_after, is_cancelled_when_its_pool_stops) {
  manual_clock time;
  std::string outcome;
  {
    scheduled_pool pool({.threads = 1, .time = &time});
    gate ended;
    wait_for(pool, outcome, ended);
    EXPECT_TRUE(pool.shutdown_now().empty());
    ended.wait();
    EXPECT_EQ(outcome, "cancelled");
    gate rejected;
    wait_for(pool, outcome, rejected);
    EXPECT_EQ(outcome, "rejected");
    pool.await_termination();
    expect_balance(pool);
  }
  gate ended;
  {
    scheduled_pool pool({.threads = 1, .time = &time});
    wait_for(pool, outcome, ended);
  }
  EXPECT_TRUE(ended.is_open());
  EXPECT_EQ(outcome, "cancelled");
}

TEST(co_await_after, leaves_with_its_frame) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  takt::sync::stop_source source;
  {
    const owned waiting = [](scheduled_pool& p, takt::sync::stop_token stop) -> owned {
      co_await p.after(10ms, stop);
    }(pool, source.get_token());
    EXPECT_EQ(pool.statistics().delayed, 1u);
  }
  EXPECT_EQ(pool.statistics().delayed, 0u);
  source.request_stop();
  time.advance(10ms);
  pool.close(takt::drain);
  expect_balance(pool);
}

// shutdown_now() checks whether a task resumes a coroutine while another thread cancels the task:
// for ThreadSanitizer.
TEST(co_await_after, hears_a_stop_request_while_its_pool_stops) {
  constexpr std::size_t many = 200;
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  takt::sync::stop_source source;
  std::array<std::string, many> outcomes;
  std::array<gate, many> ended;
  for (std::size_t i = 0; i < many; ++i) wait_for(pool, outcomes[i], ended[i], source.get_token());
  takt::sync::atomic<int> there{0};
  const auto meet = [&] {
    ++there;
    while (there.load() != 2) takt::sync::yield();
  };
  takt::sync::thread other([&] {
    meet();
    source.request_stop();
  });
  meet();
  EXPECT_TRUE(pool.shutdown_now().empty());
  other.join();
  for (const gate& g : ended) g.wait();
  for (const std::string& s : outcomes) EXPECT_EQ(s, "cancelled");
  pool.await_termination();
  expect_balance(pool);
}

}  // namespace

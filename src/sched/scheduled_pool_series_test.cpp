// Periodic tasks; before, after and decorate.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::manual_clock;
using takt::scheduled_pool;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::tally;

// The times at which the runs of a series began.
class beats {
 public:
  explicit beats(const manual_clock& time) : time_(time) {}
  void operator()() {
    const takt::detail::mutex_lock lock(mu_);
    at_.push_back((time_.now().time_since_epoch()) / 1ms);
    changed_.notify_all();
  }
  std::vector<std::int64_t> first(std::size_t count) const {
    takt::detail::mutex_lock lock(mu_);
    while (at_.size() < count) changed_.wait(lock);
    return at_;
  }

 private:
  const manual_clock& time_;
  mutable takt::detail::mutex mu_;
  mutable takt::detail::condition changed_;
  std::vector<std::int64_t> at_ TAKT_GUARDED_BY(mu_);
};

using times = std::vector<std::int64_t>;

TEST(scheduled_series, repeats_at_a_fixed_rate) {
  manual_clock time;
  beats ran(time);
  scheduled_pool pool({.threads = 1, .time = &time});
  auto series = pool.schedule_at_fixed_rate(5ms, 10ms, std::ref(ran));
  for (const auto step : {5ms, 10ms, 10ms}) {
    time.wait_for_waiters(1);
    time.advance(step);
  }
  EXPECT_EQ(ran.first(3), (times{5, 15, 25}));
  EXPECT_EQ(series.run_count(), 3u);
  EXPECT_EQ(series.missed_count(), 0u);
  EXPECT_NE(series.cancel_and_join(), cancel_result::running);
  EXPECT_THROW(series.get(), takt::cancelled);
  pool.close(takt::drain);
  EXPECT_EQ(pool.totals().started, 3u);
  EXPECT_EQ(pool.totals().ran, 3u);
  EXPECT_EQ(pool.totals().submitted, 1u);
  expect_balance(pool);
}

// A fixed delay counts from the end of a run, a fixed rate from its deadline.
TEST(scheduled_series, a_fixed_delay_counts_from_the_end) {
  manual_clock time;
  std::vector<std::chrono::nanoseconds> delays;
  scheduled_pool pool({.threads = 2, .time = &time});
  for (const bool rate : {false, true}) {
    tally ran;
    const auto body = [&] {
      time.advance(3ms);  // the run takes that long
      ran.add();
    };
    auto series = rate ? pool.schedule_at_fixed_rate(0s, 10ms, body)
                       : pool.schedule_with_fixed_delay(0s, 10ms, body);
    ran.wait_for(1);
    while (series.time_left() == takt::never) takt::sync::yield();
    delays.push_back(series.time_left());
    series.cancel_and_join();
  }
  EXPECT_EQ(delays, (std::vector<std::chrono::nanoseconds>{10ms, 7ms}));
}

struct missed_case {
  takt::missed_runs policy;
  std::chrono::nanoseconds behind;
  times runs;
  std::uint64_t missed;
};

class missed : public ::testing::TestWithParam<missed_case> {};

TEST_P(missed, runs) {
  manual_clock time;
  beats ran(time);
  takt::task_statistics figures;
  scheduled_pool pool({.threads = 1, .time = &time, .observer = &figures});
  auto series = pool.schedule_at_fixed_rate(0s, 10ms, std::ref(ran), {.missed = GetParam().policy});
  ran.first(1);
  time.wait_for_waiters(1);
  time.advance(GetParam().behind);
  EXPECT_EQ(ran.first(GetParam().runs.size()), GetParam().runs);
  pool.submit([] {}).get();
  EXPECT_EQ(series.missed_count(), GetParam().missed);
  EXPECT_EQ(pool.totals().missed, GetParam().missed);
  EXPECT_EQ(figures.totals().missed, GetParam().missed);
  EXPECT_EQ((time.now() + series.time_left()).time_since_epoch() % 10ms, 0ms);  // on its grid
  EXPECT_GE(series.time_left(), 0ms);
}

INSTANTIATE_TEST_SUITE_P(scheduled_series, missed,
                         ::testing::Values(
                             // No run is skipped.
                             missed_case{takt::catch_up, 45ms, {0, 45, 45, 45, 45}, 0},
                             // The run of 10 ms is late; those of 20, 30 and 40 ms are skipped.
                             missed_case{takt::catch_up_within(0s), 45ms, {0, 45}, 3},
                             // After the run of 10 ms it is behind by 25 ms, which is too much.
                             missed_case{takt::catch_up_within(24ms), 45ms, {0, 45}, 3},
                             missed_case{takt::catch_up_within(25ms), 45ms, {0, 45, 45, 45, 45}, 0},
                             // A run that is due just now is not skipped.
                             missed_case{takt::catch_up_within(0s), 40ms, {0, 40, 40}, 2},
                             // The default is one second.
                             missed_case{takt::missed_runs(), 1030ms, {0, 1030, 1030}, 101}));

TEST(scheduled_series, the_pool_says_what_is_done_about_missed_runs) {
  manual_clock time;
  beats ran(time);
  scheduled_pool pool({.threads = 1, .missed = takt::catch_up_within(0s), .time = &time});
  auto series = pool.schedule_at_fixed_rate(0s, 10ms, std::ref(ran));
  ran.first(1);
  time.wait_for_waiters(1);
  time.advance(45ms);
  EXPECT_EQ(ran.first(2), (times{0, 45}));
  pool.submit([] {}).get();
  EXPECT_EQ(series.missed_count(), 3u);
}

TEST(scheduled_series, begins_in_the_most_distant_past) {
  manual_clock time;
  time.advance(1000h);
  scheduled_pool pool({.threads = 1, .missed = takt::catch_up_within(0s), .time = &time});
  auto series = pool.schedule_at_fixed_rate(takt::clock::time_point::min(), 1h, [] {});
  while (series.run_count() == 0) takt::sync::yield();
  pool.submit([] {}).get();
  EXPECT_GE(series.next_time(), time.now());
  EXPECT_LE(series.run_count(), 2u);
  EXPECT_EQ(series.run_count(), 1u);  // all runs that have passed are skipped, however many
}

TEST(scheduled_series, what_it_throws_ends_it) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto series = pool.schedule_at_fixed_rate(0s, 1ms, [n = 0]() mutable {
    if (++n == 2) throw std::runtime_error("enough");
  });
  while (series.run_count() == 0) takt::sync::yield();
  time.wait_for_waiters(1);
  time.advance(1ms);
  EXPECT_THROW(series.get(), std::runtime_error);
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  EXPECT_EQ(pool.statistics().delayed, 0u);
  EXPECT_EQ(series.run_count(), 2u);
  pool.close(takt::drain);
  EXPECT_EQ(pool.totals().failed, 1u);
  expect_balance(pool);
}

// Even if the future of the series is dropped.
TEST(scheduled_series, an_error_that_nobody_sees_goes_to_the_hook) {
  recording_hook hook;
  {
    scheduled_pool pool({.threads = 1, .unhandled = &hook});
    static_cast<void>(
        pool.schedule_at_fixed_rate(0s, 1ms, [] { throw std::runtime_error("unseen"); }));
    pool.execute(0s, [] { throw std::runtime_error("nobody's"); });
    while (pool.totals().failed != 2) takt::sync::yield();
  }
  EXPECT_EQ(hook.unobserved(), (std::vector<std::string>{"unseen"}));
  EXPECT_EQ(hook.uncaught(), (std::vector<std::string>{"nobody's"}));
}

TEST(scheduled_series, a_body_that_takes_a_token_is_asked_to_stop) {
  scheduled_pool pool({.threads = 1});
  tally begun;
  auto series = pool.schedule_with_fixed_delay(0s, 1ms, [&](const takt::sync::stop_token& stop) {
    begun.add();
    takt_test::until_stopped(stop);
  });
  begun.wait_for(1);
  EXPECT_EQ(series.cancel_and_join(), cancel_result::done);
  auto other = pool.schedule_with_fixed_delay(0s, 1ms, [&](const takt::sync::stop_token& stop) {
    begun.add();
    takt_test::until_stopped(stop);
  });
  begun.wait_for(2);
  EXPECT_TRUE(pool.shutdown_now().empty());
  pool.await_termination();
  EXPECT_THROW(other.get(), takt::cancelled);
  expect_balance(pool);
}

TEST(scheduled_series, cancels_itself) {
  manual_clock time;
  takt::periodic_future series;
  gate ready;
  cancel_result told{};
  scheduled_pool pool({.threads = 1, .time = &time});
  series = pool.schedule_at_fixed_rate(0s, 1ms, [&] {
    ready.wait();
    told = series.cancel_and_join();
  });
  ready.open();
  series.wait();
  pool.close(takt::drain);
  EXPECT_EQ(told, cancel_result::running);
  EXPECT_EQ(series.run_count(), 1u);
  expect_balance(pool);
}

TEST(scheduled_series, that_was_cancelled_while_it_runs_has_no_next_run) {
  manual_clock time;
  takt::periodic_future series;
  gate ready;
  std::vector<bool> told;
  scheduled_pool pool({.threads = 1, .time = &time});
  series = pool.schedule_at_fixed_rate(0s, 1ms, [&] {
    ready.wait();
    told = {series.pause(), series.resume(), series.pause()};
    series.cancel();
    told.insert(told.end(), {series.resume(), series.pause(), series.reschedule(1ms)});
  });
  ready.open();
  pool.submit([] {}).get();
  EXPECT_EQ(told, (std::vector<bool>{true, true, true, false, false, false}));
  EXPECT_EQ(series.run_count(), 1u);
  pool.close(takt::drain);
  expect_balance(pool);
}

// --- before, after and decorate

TEST(scheduled_series, hooks_are_around_each_run) {
  manual_clock time;
  std::string order;
  scheduled_pool pool({.threads = 1,
                       .before = [&](const takt::task& t) { order += t.name(); },
                       .after = [&](const takt::task&, const std::exception_ptr&) { order += ")"; },
                       .time = &time});
  tally ran;
  auto series = pool.schedule_at_fixed_rate(0s, 1ms, [&] { ran.add(); }, {.name = "s("});
  ran.wait_for(1);
  time.wait_for_waiters(1);
  time.advance(1ms);
  ran.wait_for(2);
  time.wait_for_waiters(1);
  pool.execute(1ms, [&] { ran.add(); }, {.name = "x("});
  series.cancel();
  time.advance(1ms);
  ran.wait_for(3);
  pool.close(takt::drain);
  EXPECT_EQ(order, "s()s()x()");
}

TEST(scheduled_series, a_hook_that_throws_ends_it) {
  scheduled_pool pool(
      {.threads = 1, .before = [](const takt::task&) { throw std::runtime_error("no"); }});
  auto series = pool.schedule_at_fixed_rate(0s, 1ms, [] {});
  EXPECT_THROW(series.get(), std::runtime_error);
  pool.close(takt::drain);
  expect_balance(pool);
}

TEST(scheduled_series, decorates_each_run) {
  manual_clock time;
  std::atomic<int> around = 0;
  scheduled_pool pool({.threads = 1,
                       .decorate =
                           [&](takt::task t) {
                             return takt::task([&around, inner = std::move(t)]() mutable {
                               ++around;
                               inner.run();
                             });
                           },
                       .time = &time});
  tally ran;
  auto series = pool.schedule_at_fixed_rate(0s, 1ms, [&] { ran.add(); });
  ran.wait_for(1);
  time.wait_for_waiters(1);
  time.advance(1ms);
  ran.wait_for(2);
  EXPECT_EQ(pool.schedule(0s, [] { return 7; }).get(), 7);
  EXPECT_EQ(pool.submit([] { return 8; }).get(), 8);
  auto far = pool.schedule(1h, [] {});
  EXPECT_EQ(far.cancel(), cancel_result::prevented);  // as if it were not decorated
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  EXPECT_EQ(pool.statistics().delayed, 0u);
  auto failing = pool.schedule_at_fixed_rate(0s, 1ms, [] { throw std::runtime_error("inner"); });
  EXPECT_THROW(failing.get(), std::runtime_error);
  pool.close(takt::drain);
  EXPECT_EQ(around, 5);
  EXPECT_EQ(pool.totals().failed, 1u);
  expect_balance(pool);
}

TEST(scheduled_series, a_decoration_that_throws_or_drops_the_task) {
  manual_clock time;
  recording_hook hook;
  takt::task_statistics figures;
  bool throws = false;
  scheduled_pool pool({.threads = 1,
                       .decorate =
                           [&](takt::task t) {
                             static_cast<void>(t);
                             if (throws) throw std::runtime_error("decorate");
                             return takt::task();
                           },
                       .time = &time,
                       .unhandled = &hook,
                       .observer = &figures});
  auto dropped = pool.schedule(0s, [] { return 1; });
  EXPECT_THROW(dropped.get(), takt::broken_promise);
  auto series = pool.schedule_at_fixed_rate(0s, 1ms, [] {});
  while (series.missed_count() == 0) takt::sync::yield();
  time.wait_for_waiters(1);
  EXPECT_FALSE(series.is_ready());  // the series continues
  EXPECT_EQ(series.run_count(), 0u);
  throws = true;
  time.advance(1ms);
  EXPECT_THROW(series.get(), std::runtime_error);
  EXPECT_EQ(series.missed_count(), 1u);
  EXPECT_THROW(pool.schedule(0s, [] {}).get(), std::runtime_error);
  EXPECT_TRUE(hook.uncaught().empty());
  pool.execute([] {});
  pool.close(takt::drain);
  EXPECT_EQ(hook.uncaught(), (std::vector<std::string>{"decorate"}));
  const takt::task_totals totals = pool.totals();
  EXPECT_EQ(totals.ran,
            0u);  // a dropped run is missed, and a failed one ends its series
  EXPECT_EQ(totals.failed, 3u);
  EXPECT_EQ(totals.cancelled, 1u);
  EXPECT_EQ(totals.missed, 1u);
  expect_balance(pool);
  const takt::task_totals told = figures.totals();
  EXPECT_EQ(told.started, totals.started);
  EXPECT_EQ(told.finished, totals.finished);
  EXPECT_EQ(told.failed, totals.failed);
  EXPECT_EQ(told.cancelled, totals.cancelled);
  EXPECT_EQ(told.pending(), 0u);
}

// A task without a future moves through decorate: its error is uncaught, as if it were not
// decorated.
TEST(scheduled_series, an_error_of_a_decorated_task_without_a_future_is_uncaught) {
  recording_hook hook;
  int after = 0;
  scheduled_pool pool(
      {.threads = 1,
       .after = [&](const takt::task&, const std::exception_ptr& e) { after += e != nullptr; },
       .decorate = [](takt::task t) { return t; },
       .unhandled = &hook});
  pool.execute([](const takt::sync::stop_token&) { throw std::runtime_error("with a token"); });
  pool.execute([] { throw std::runtime_error("plain"); });
  pool.close(takt::drain);
  EXPECT_EQ(hook.uncaught(), (std::vector<std::string>{"with a token", "plain"}));
  EXPECT_EQ(after, 2);
  expect_balance(pool);
}

TEST(scheduled_series, an_observer_sees_how_late_runs_were) {
  manual_clock time;
  takt::task_statistics figures;
  scheduled_pool pool({.threads = 1, .time = &time, .observer = &figures});
  pool.prestart();
  auto f = pool.schedule(10ms, [] {});
  time.wait_for_waiters(1);
  time.advance(12ms);
  f.get();
  pool.close(takt::drain);
  EXPECT_EQ(figures.delays().count(), 1u);
  EXPECT_NEAR(static_cast<double>(figures.delays().max().count()), 2e6, 2e5);
  EXPECT_EQ(figures.totals().pending(), 0u);
}

TEST(scheduled_series, a_future_that_was_moved_away_tells_nothing) {
  scheduled_pool pool({.threads = 1});
  takt::periodic_future series = pool.schedule_at_fixed_rate(1h, 1h, [] {});
  const takt::periodic_future kept = std::move(series);
  EXPECT_EQ(series.run_count(), 0u);  // NOLINT(bugprone-use-after-move): that is the test
  EXPECT_EQ(series.missed_count(), 0u);
  series.set_period(1s);
  EXPECT_EQ(series.cancel(), takt::cancel_result::done);
  takt::timer_handle first = pool.execute(1h, [] {});
  takt::timer_handle second = pool.execute(1h, [] {});
  first = std::move(second);
  EXPECT_EQ(second.cancel(), takt::cancel_result::done);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(kept.cancel(), takt::cancel_result::prevented);
}

TEST(scheduled_series, the_grid_may_begin_as_long_ago_as_can_be_said) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  auto series = pool.schedule_at_fixed_rate(takt::clock::time_point::min(), 1h, [] {});
  auto once = pool.schedule(takt::clock::time_point::min(), [] {});
  once.get();
  time.wait_for_waiters(1);
  EXPECT_EQ(series.run_count(), 1u);
  EXPECT_GT(series.missed_count(), 1'000'000u);
  EXPECT_LE(series.next_time(), pool.now() + 1h);
}

TEST(scheduled_series, a_stop_request_between_two_runs_does_nothing) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  tally ran;
  tally asked;
  auto series = pool.schedule_at_fixed_rate(1s, 1s, [&](const takt::sync::stop_token& stop) {
    if (stop.stop_requested()) asked.add();
    ran.add();
  });
  series.request_stop();  // before the first run
  for (std::size_t runs = 1; runs <= 3; ++runs) {
    time.wait_for_waiters(1);
    time.advance(1s);
    ran.wait_for(runs);
    time.wait_for_waiters(1);
    series.request_stop();
  }
  EXPECT_FALSE(series.is_ready());
  EXPECT_EQ(asked.count(), 0u);
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
}

// For a run that is under way see future_task, the_last_run_of_a_series_can_be_stopped.
TEST(scheduled_series, a_stop_request_reaches_the_run_in_progress) {
  manual_clock time;
  scheduled_pool pool({.threads = 1, .time = &time});
  gate begun;
  tally ended;
  auto series = pool.schedule_at_fixed_rate(1s, 1s, [&](const takt::sync::stop_token& stop) {
    if (ended.count() == 0) {
      begun.open();
      takt_test::until_stopped(stop);
    }
    EXPECT_EQ(stop.stop_requested(), ended.count() == 0);
    ended.add();
  });
  time.wait_for_waiters(1);
  time.advance(1s);
  begun.wait();
  series.request_stop();
  ended.wait_for(1);
  time.wait_for_waiters(1);
  time.advance(1s);
  ended.wait_for(2);
  EXPECT_FALSE(series.is_ready());
}

}  // namespace

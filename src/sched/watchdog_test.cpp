#include <takt/sched/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::manual_clock;
using takt::scheduled_pool;
using takt::task_event;
using takt::watchdog;
using takt_test::gate;
using takt_test::tally;
using testing::ElementsAre;
using testing::IsEmpty;

struct report {
  std::string name;
  std::chrono::nanoseconds so_far;
  friend bool operator==(const report&, const report&) = default;
};

struct watchdog_test : testing::Test {
  manual_clock time;
  takt::detail::mutex mu;
  std::vector<report> seen;
  tally reports;
  takt::task_statistics figures;
  scheduled_pool timers{{.threads = 1, .time = &time}};
  watchdog watch{{.limit = 10ms,
                  .timers = &timers,
                  .report =
                      [this](const task_event& started, std::chrono::nanoseconds so_far) {
                        EXPECT_EQ(started.what, task_event::kind::started);
                        {
                          const takt::detail::mutex_lock lock(mu);
                          seen.push_back({std::string(started.name), so_far});
                        }
                        reports.add();
                      },
                  .next = &figures}};
  takt::thread_pool pool{{.core_threads = 2, .time = &time, .observer = &watch}};

  // Waits until the watchdog has checked all runs that are due.
  void settle() {
    timers.submit([] {}).get();
  }
  std::vector<report> taken() {
    const takt::detail::mutex_lock lock(mu);
    return std::exchange(seen, {});
  }
};

TEST_F(watchdog_test, reports_once_what_runs_too_long) {
  gate begun;
  gate go_on;
  auto f = pool.submit(
      [&] {
        begun.open();
        go_on.wait();
      },
      {.name = "slow"});
  begun.wait();
  time.advance(9ms);
  settle();
  EXPECT_THAT(taken(), IsEmpty());
  time.advance(3ms);
  reports.wait_for(1);
  EXPECT_THAT(taken(), ElementsAre(report{"slow", 12ms}));
  time.advance(1h);
  settle();
  EXPECT_THAT(taken(), IsEmpty());
  go_on.open();
  f.get();
}

TEST_F(watchdog_test, what_ends_in_time_is_not_reported) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    watch.on_event({.what = task_event::kind::started, .id = i, .when = time.now()});
    time.advance(7ms);
    watch.on_event({.what = task_event::kind::finished, .id = i, .when = time.now()});
  }
  time.advance(1h);
  settle();
  EXPECT_THAT(taken(), IsEmpty());
}

// The timer is set for the first limit, and then for the next.
TEST_F(watchdog_test, each_has_its_own_limit) {
  tally begun;
  gate go_on;
  const auto wait = [&] {
    begun.add();
    go_on.wait();
  };
  auto first = pool.submit(wait, {.name = "first"});
  begun.wait_for(1);
  time.advance(4ms);
  auto second = pool.submit(wait, {.name = "second"});
  begun.wait_for(2);
  time.advance(6ms);
  reports.wait_for(1);
  EXPECT_THAT(taken(), ElementsAre(report{"first", 10ms}));
  settle();
  time.advance(4ms);
  reports.wait_for(2);
  EXPECT_THAT(taken(), ElementsAre(report{"second", 10ms}));
  go_on.open();
  first.get();
  second.get();
}

// Two emitters: a run within a run, with the same id, on the same thread.
TEST_F(watchdog_test, runs_within_runs) {
  const auto tell = [&](task_event::kind what, const char* name) {
    watch.on_event({.what = what, .id = 1, .name = name, .when = time.now()});
  };
  tell(task_event::kind::started, "outer");
  tell(task_event::kind::started, "inner");
  tell(task_event::kind::finished, "inner");
  time.advance(10ms);
  reports.wait_for(1);
  EXPECT_THAT(taken(), ElementsAre(report{"outer", 10ms}));
  tell(task_event::kind::ran, "outer");
  tell(task_event::kind::finished, "unknown");
}

TEST_F(watchdog_test, every_run_of_a_series_counts) {
  scheduled_pool other({.threads = 1, .time = &time, .observer = &watch});
  tally begun;
  tally go_on;
  auto series = other.schedule_with_fixed_delay(0ms, 1ms,
                                                [&] {
                                                  begun.add();
                                                  go_on.wait_for(begun.count());
                                                },
                                                {.name = "series"});
  for (std::size_t i = 1; i <= 3; ++i) {
    begun.wait_for(i);
    time.advance(10ms);
    reports.wait_for(i);
    settle();
    go_on.add();
    time.wait_for_waiters(2);  // the series, and the watchdog
    time.advance(1ms);
  }
  go_on.add();
  series.cancel_and_join();
  EXPECT_THAT(taken(), testing::SizeIs(3));
}

TEST_F(watchdog_test, passes_everything_on) {
  pool.submit([] {}).get();
  pool.close(takt::drain);
  EXPECT_EQ(figures.totals().submitted, 1u);
  EXPECT_EQ(figures.totals().finished, 1u);
}

TEST_F(watchdog_test, a_long_name_is_cut) {
  static constexpr auto* name =
      "0123456789012345678901234567890123456789012345678901234567890123456789";
  watch.on_event({.what = task_event::kind::started, .id = 1, .name = name, .when = time.now()});
  time.advance(10ms);
  reports.wait_for(1);
  EXPECT_THAT(taken(), ElementsAre(report{std::string(name, 63), 10ms}));
}

TEST_F(watchdog_test, after_the_shutdown_of_its_timers_it_only_passes_on) {
  timers.close(takt::drain);
  gate begun;
  gate go_on;
  auto f = pool.submit([&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  time.advance(1h);
  go_on.open();
  f.get();
  pool.close(takt::drain);
  EXPECT_EQ(figures.totals().finished, 1u);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST(watchdog, waits_for_a_report_when_it_is_destroyed) {
  manual_clock time;
  scheduled_pool timers({.threads = 1, .time = &time});
  gate begun;
  gate go_on;
  bool reported = false;
  takt::sync::thread opener;
  {
    watchdog watch({.limit = 1ms, .timers = &timers, .report = [&](const auto&, auto) {
                      begun.open();
                      go_on.wait();
                      reported = true;
                    }});
    watch.on_event({.what = task_event::kind::started, .id = 1, .when = time.now()});
    time.advance(1ms);
    begun.wait();
    opener = takt::sync::thread([&] { go_on.open(); });
  }
  EXPECT_TRUE(reported);
  opener.join();
}

TEST(watchdog, bad_options) {
  scheduled_pool timers({.threads = 1});
  const auto message = [](watchdog::options_type how) -> std::string {
    try {
      const watchdog watch(std::move(how));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  const auto ignore = [](const task_event&, std::chrono::nanoseconds) {};
  using testing::HasSubstr;
  EXPECT_THAT(message({.limit = 0ms, .timers = &timers, .report = ignore}),
              HasSubstr("the limit is 0 ns; it has to be above 0"));
  EXPECT_THAT(message({.report = ignore}), HasSubstr("timers is null"));
  EXPECT_THAT(message({.timers = &timers}), HasSubstr("report is empty"));
  timers.close(takt::drain);
  EXPECT_THROW(message({.timers = &timers, .report = ignore}), takt::rejected);
}

}  // namespace

#include <takt/observe/task_statistics.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using takt::task_event;
using takt::task_statistics;
using takt::task_totals;
using kind = task_event::kind;

static_assert(sizeof(task_statistics) == 30'848, "as documented");

constexpr task_event::time_point zero{};

void tell(task_statistics& to, kind what) { to.on_event({.what = what}); }

TEST(task_statistics, begins_at_nothing) {
  const task_statistics figures;
  const task_totals now = figures.totals();
  EXPECT_EQ(now.submitted + now.started + now.finished + now.missed, 0U);
  EXPECT_EQ(now.pending(), 0U);
  EXPECT_EQ(now.running(), 0U);
  EXPECT_EQ(figures.delays().count(), 0U);
  EXPECT_EQ(figures.run_times().count(), 0U);
}

TEST(task_statistics, follows_a_task_to_its_end) {
  task_statistics figures;
  figures.on_event({.what = kind::submitted, .when = zero, .due = zero});
  EXPECT_EQ(figures.totals().submitted, 1U);
  EXPECT_EQ(figures.totals().pending(), 1U);
  EXPECT_EQ(figures.totals().running(), 0U);

  figures.on_event({.what = kind::started, .when = zero + 40ns, .due = zero});
  EXPECT_EQ(figures.totals().started, 1U);
  EXPECT_EQ(figures.totals().pending(), 1U);
  EXPECT_EQ(figures.totals().running(), 1U);
  EXPECT_EQ(figures.delays().max(), 40ns);

  figures.on_event(
      {.what = kind::finished, .when = zero + 50ns, .due = zero, .began = zero + 40ns});
  EXPECT_EQ(figures.totals().finished, 1U);
  EXPECT_EQ(figures.totals().failed, 0U);
  EXPECT_EQ(figures.totals().pending(), 0U);
  EXPECT_EQ(figures.totals().running(), 0U);
  EXPECT_EQ(figures.run_times().max(), 10ns);
  EXPECT_EQ(figures.run_times().count(), 1U);
  EXPECT_EQ(figures.delays().count(), 1U);
}

TEST(task_statistics, each_end_closes_one_task) {
  for (const kind end : {kind::rejected, kind::cancelled, kind::returned}) {
    task_statistics figures;
    tell(figures, kind::submitted);
    tell(figures, kind::submitted);
    tell(figures, end);
    const task_totals now = figures.totals();
    EXPECT_EQ(now.rejected, end == kind::rejected ? 1U : 0U);
    EXPECT_EQ(now.cancelled, end == kind::cancelled ? 1U : 0U);
    EXPECT_EQ(now.returned, end == kind::returned ? 1U : 0U);
    EXPECT_EQ(now.pending(), 1U);
    EXPECT_EQ(now.running(), 0U);
  }
}

TEST(task_statistics, counts_the_runs_of_a_periodic_task) {
  task_statistics figures;
  tell(figures, kind::submitted);
  for (int i = 1; i <= 3; ++i) {
    const auto due = zero + i * 100ns;
    figures.on_event({.what = kind::started, .when = due + i * 1ns, .due = due});
    figures.on_event({.what = kind::ran, .when = due + 20ns, .due = due, .began = due + i * 1ns});
  }
  figures.on_event({.what = kind::missed, .runs_missed = 7});
  EXPECT_EQ(figures.totals().pending(), 1U);
  tell(figures, kind::cancelled);

  const task_totals now = figures.totals();
  EXPECT_EQ(now.submitted, 1U);
  EXPECT_EQ(now.started, 3U);
  EXPECT_EQ(now.ran, 3U);
  EXPECT_EQ(now.finished, 0U);
  EXPECT_EQ(now.missed, 7U);
  EXPECT_EQ(now.pending(), 0U);
  EXPECT_EQ(now.running(), 0U);
  EXPECT_EQ(figures.delays().percentile(50), 2ns);
  EXPECT_EQ(figures.run_times().min(), 17ns);
}

TEST(task_statistics, body_of_a_cancelled_task_still_runs) {
  task_statistics figures;
  tell(figures, kind::submitted);
  tell(figures, kind::started);
  tell(figures, kind::cancelled);
  EXPECT_EQ(figures.totals().pending(), 0U);
  EXPECT_EQ(figures.totals().running(), 1U);
  figures.on_event({.what = kind::ran, .failed = true});
  EXPECT_EQ(figures.totals().running(), 0U);
  EXPECT_EQ(figures.totals().failed, 1U);
}

TEST(task_statistics, never_allocates) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::size_t before = takt::allocations();
  task_statistics figures;
  tell(figures, kind::submitted);
  tell(figures, kind::started);
  tell(figures, kind::finished);
  static_cast<void>(figures.totals());
  EXPECT_EQ(takt::allocations(), before);
}

TEST(task_statistics, sums_up_over_threads) {
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t each = 50'000;
  const auto figures = std::make_unique<task_statistics>();
  std::latch together(threads);
  std::latch done(threads);
  std::vector<std::jthread> workers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    workers.emplace_back([&figures, &together, &done] {
      together.arrive_and_wait();
      for (std::uint64_t i = 0; i < each; ++i) {
        tell(*figures, kind::submitted);
        if (i % 5 == 0) {
          tell(*figures, kind::rejected);
          continue;
        }
        tell(*figures, kind::started);
        figures->on_event({.what = kind::finished, .failed = i % 2 == 0});
      }
      done.count_down();
    });
  }
  task_totals seen;
  while (!done.try_wait()) {
    seen = figures->totals();
    // Not from one moment, but a later event of a task is never counted without its earlier ones.
    ASSERT_LE(seen.pending(), threads * each);
    ASSERT_LE(seen.running(), threads * each);
    ASSERT_LE(seen.failed, seen.finished);
    std::this_thread::yield();
  }
  workers.clear();
  seen = figures->totals();
  EXPECT_EQ(seen.submitted, threads * each);
  EXPECT_EQ(seen.rejected, threads * each / 5);
  EXPECT_EQ(seen.finished, threads * each / 5 * 4);
  EXPECT_EQ(seen.failed, threads * each / 5 * 2);
  EXPECT_EQ(seen.pending(), 0U);
  EXPECT_EQ(seen.running(), 0U);
  EXPECT_EQ(figures->delays().count(), seen.started);
  EXPECT_EQ(figures->run_times().count(), seen.finished);
}

}  // namespace

// Counters, histograms and statistics beside readers: nothing is lost, nothing is counted that has
// not happened, and what is read does not contradict itself.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include <takt/base/detail/sync.hpp>
#include <takt/observe/counter.hpp>
#include <takt/observe/histogram.hpp>
#include <takt/observe/task_statistics.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;

// By sampling, and every interleaving that can be told apart.
void check_both_ways(const std::function<void()>& body) {
  check({.runs = 20'000}, body);
  check({.runs = 1'000'000, .how = model::strategy::exhaustive}, body);
}

TEST(counter, is_never_too_large_and_exact_at_the_end) {
  check_both_ways([] {
    counter c;
    sync::thread a([&] { c.add(1); });
    sync::thread b([&] { c.add(2); });
    const std::uint64_t first = c.value();
    const std::uint64_t second = c.value();
    model::require(first <= second && second <= 3, "it grows to what was added, not beyond");
    a.join();
    b.join();
    model::require(c.value() == 3, "nothing is lost");
  });
}

// The task goes from one thread to another by something that orders them; here, a relay of flags.
TEST(counter, later_event_is_never_seen_without_the_earlier_one) {
  check_both_ways([] {
    counter submitted;
    counter finished;
    sync::atomic<int> queue{0};
    sync::thread client([&] {
      submitted.add();
      queue.store(1);
    });
    sync::thread worker([&] {
      if (queue.load() == 1) finished.add();
    });
    const std::uint64_t done = finished.value();
    const std::uint64_t all = submitted.value();
    model::require(done <= all, "read in reverse order, no difference is negative");
    client.join();
    worker.join();
  });
}

// Adds of several threads to the later counter: each one brings its own past with it.
TEST(counter, brings_the_past_of_every_add) {
  check_both_ways([] {
    counter submitted;
    counter finished;
    const auto both = [&] {
      submitted.add();
      finished.add();
    };
    sync::thread a(both);
    sync::thread b(both);
    const std::uint64_t done = finished.value();
    model::require(done <= submitted.value(), "also when another add came in between");
    a.join();
    b.join();
  });
}

// A histogram has 1,888 atomics, each of them a step to read and a step to destroy: too many for
// the exhaustive search and for a fiber's stack. Short durations are in the first buckets, so that
// a snapshot meets the records at once.
TEST(histogram, snapshot_never_shows_more_than_was_recorded) {
  check({.runs = 1'000}, [] {
    const auto h = std::make_unique<histogram>();
    sync::thread a([&] {
      h->record(0ns);
      h->record(1ns);
    });
    sync::thread b([&] {
      h->record(1ns);
      h->record(2ns);
    });
    const histogram_snapshot early = h->snapshot();
    const std::uint64_t count = early.count();
    model::require(count <= 4, "four were recorded");
    model::require(early.max() <= 2ns, "and none longer than 2 ns");
    model::require(count > 0 || early.max() == 0ns, "empty is empty");
    a.join();
    b.join();
    const histogram_snapshot late = h->snapshot();
    model::require(late.count() == 4, "nothing is lost");
    model::require(late.percentile(25) == 0ns && late.percentile(50) == 1ns &&
                       late.percentile(75) == 1ns && late.percentile(100) == 2ns,
                   "and each is in its place");
  });
}

TEST(histogram, later_snapshot_holds_the_earlier_one) {
  check({.runs = 1'000}, [] {
    const auto h = std::make_unique<histogram>();
    sync::thread a([&] { h->record(0ns); });
    sync::thread b([&] { h->record(0ns); });
    const std::uint64_t first = h->snapshot().count();
    const std::uint64_t second = h->snapshot().count();
    model::require(first <= second && second <= 2, "counts do not go back");
    a.join();
    b.join();
  });
}

TEST(task_statistics, figures_do_not_contradict_each_other) {
  check({.runs = 500}, [] {
    const auto figures = std::make_unique<task_statistics>();
    const auto tell = [&](task_event::kind what) {
      figures->on_event({.what = what, .failed = what == task_event::kind::finished});
    };
    sync::thread runs([&] {
      tell(task_event::kind::submitted);
      tell(task_event::kind::started);
      tell(task_event::kind::finished);
    });
    sync::thread rejects([&] {
      tell(task_event::kind::submitted);
      tell(task_event::kind::rejected);
    });
    const task_totals seen = figures->totals();
    model::require(seen.pending() <= 2, "no end without a beginning");
    model::require(seen.running() <= 1, "no finish without a start");
    model::require(seen.started <= seen.submitted, "no start without a submission");
    model::require(seen.failed <= seen.finished, "no failure without a finish");
    runs.join();
    rejects.join();
    const task_totals end = figures->totals();
    model::require(end.submitted == 2 && end.finished == 1 && end.rejected == 1 && end.failed == 1,
                   "exact at the end");
    model::require(end.pending() == 0 && end.running() == 0, "and balanced");
  });
}

}  // namespace

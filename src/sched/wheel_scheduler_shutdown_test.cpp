// Shutdown of a wheel_scheduler, and the events that its observer receives.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../../tests/support/pools.hpp"
#include "../../tests/support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using takt::at_close;
using takt::cancel_result;
using takt::inline_executor;
using takt::life_state;
using takt::manual_clock;
using takt::manual_executor;
using takt::task_event;
using takt::wheel_scheduler;
using takt_test::expect_balance;
using takt_test::finds_deadlock;
using takt_test::gate;
using takt_test::log;
using takt_test::rejection_of;
using takt_test::tally;
using takt_test::wheel_bench;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// --- shutdown()

TEST(wheel_shutdown, what_runs_once_is_still_handed_over_at_its_time) {
  for (const auto stamp : {takt::timer_stamp::caller, takt::timer_stamp::timer}) {
    wheel_bench b({.stamp = stamp});
    auto once = b.wheel.schedule(20ms, b.here, [] { return 42; });
    const auto paused = b.wheel.execute(20ms, b.here, b.say("paused"));
    paused.pause();
    auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.say("series"));
    b.settle();
    b.wheel.shutdown();
    EXPECT_EQ(b.wheel.state(), life_state::shutdown);
    EXPECT_TRUE(series.is_cancelled());
    EXPECT_EQ(paused.cancel(), cancel_result::done);
    EXPECT_FALSE(once.pause());
    EXPECT_TRUE(rejection_of([&] { b.wheel.execute(1ms, b.here, [] {}); }));
    EXPECT_TRUE(rejection_of([&] { b.wheel.execute(0ms, b.here, [] {}); }));
    b.pass(10ms);
    EXPECT_FALSE(b.wheel.is_terminated());
    b.time.advance(10ms);
    EXPECT_EQ(once.get(), 42);
    b.wheel.await_termination();
    EXPECT_THAT(b.said, IsEmpty());
    EXPECT_EQ(b.wheel.totals().rejected, 2u);
    expect_balance(b.wheel);
  }
}

TEST(wheel_shutdown, of_an_idle_wheel_ends_it) {
  wheel_bench b;
  b.wheel.shutdown();
  b.wheel.await_termination();
  b.wheel.shutdown();
  EXPECT_TRUE(b.wheel.is_terminated());
}

TEST(wheel_shutdown, ends_when_what_is_left_is_cancelled) {
  wheel_bench b;
  auto later = b.wheel.schedule(1h, b.here, [] {});
  const auto guard = b.wheel.execute(1h, b.here, [] {});
  b.wheel.shutdown();
  later.cancel();
  b.settle();
  EXPECT_FALSE(b.wheel.is_terminated());
  guard.cancel();
  b.wheel.await_termination();
  expect_balance(b.wheel);
}

TEST(wheel_shutdown, what_is_left_can_be_moved) {
  wheel_bench b;
  auto later = b.wheel.schedule(1h, b.here, [] {});
  b.wheel.shutdown();
  EXPECT_FALSE(later.reschedule(takt::never));
  EXPECT_TRUE(later.reschedule(10ms));
  b.pass(10ms - 1ns);
  b.time.advance(1ns);
  later.get();
  b.wheel.await_termination();
}

TEST(wheel_shutdown, waits_for_the_run_of_a_series_which_is_the_last) {
  takt::thread_pool pool({.core_threads = 1});
  for (int i = 0; i < 20; ++i) {
    wheel_bench b;
    gate begun;
    gate go_on;
    auto series = b.wheel.schedule_at_fixed_rate(0ms, 10ms, pool, [&] {
      begun.open();
      go_on.wait();
    });
    begun.wait();
    b.wheel.shutdown();
    EXPECT_FALSE(series.is_ready());
    b.settle();
    EXPECT_FALSE(b.wheel.is_terminated());
    go_on.open();
    b.wheel.await_termination();
    EXPECT_TRUE(series.is_cancelled());
    EXPECT_EQ(series.run_count(), 1u);
    expect_balance(b.wheel);
  }
}

TEST(wheel_shutdown, during_the_run_of_a_series_leaves_no_next_one) {
  takt::thread_pool pool({.core_threads = 1});
  wheel_bench b;
  gate begun;
  gate go_on;
  auto series = b.wheel.schedule_at_fixed_rate(0ms, 10ms, pool, [&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  EXPECT_TRUE(series.pause());
  b.wheel.shutdown();
  EXPECT_FALSE(series.resume());
  EXPECT_FALSE(series.pause());
  EXPECT_FALSE(series.reschedule(10ms));
  go_on.open();
  b.wheel.await_termination();
  EXPECT_TRUE(series.is_cancelled());
}

TEST(wheel_shutdown, waits_for_a_run_that_is_dropped) {
  for (int i = 0; i < 20; ++i) {
    auto executor = std::make_unique<manual_executor>();
    wheel_bench b;
    auto series = b.wheel.schedule_at_fixed_rate(0ms, 10ms, *executor, [] {});
    b.wheel.shutdown();
    executor.reset();
    b.wheel.await_termination();
    EXPECT_TRUE(series.is_ready());
    expect_balance(b.wheel);
  }
}

TEST(wheel_shutdown, from_inside_of_a_series_ends_it) {
  wheel_bench b;
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, [&] {
    b.said.emplace_back("ran");
    b.wheel.shutdown();
  });
  b.settle();
  b.time.advance(10ms);
  b.wheel.await_termination();
  EXPECT_EQ(b.said, (log{"ran"}));
  EXPECT_TRUE(series.is_cancelled());
  expect_balance(b.wheel);
}

TEST(wheel_shutdown, close_waits_or_cancels) {
  wheel_bench b;
  const auto handle = b.wheel.execute(1h, b.here, [] {});
  EXPECT_FALSE(b.wheel.close(takt::cancel_pending));
  EXPECT_EQ(handle.cancel(), cancel_result::done);
  EXPECT_TRUE(b.wheel.is_terminated());
  expect_balance(b.wheel);
  wheel_bench idle;
  EXPECT_TRUE(idle.wheel.close(takt::drain));
  wheel_bench other;
  other.wheel.execute(10ms, other.here, other.say("ran"));
  std::thread closes([&] { EXPECT_TRUE(other.wheel.close(takt::drain)); });
  other.time.wait_for_waiters(2);
  other.time.advance(10ms);
  closes.join();
  EXPECT_EQ(other.said, (log{"ran"}));
}

TEST(wheel_shutdown, a_closure_that_it_destroys_cannot_wait_for_the_end) {
  wheel_bench b;
  bool refused = false;
  const auto wait = [&](void*) {
    refused = finds_deadlock([&] { b.wheel.await_termination(0s); });
  };
  b.wheel.execute(1h, b.here, [last = std::shared_ptr<void>(nullptr, wait)] {});
  b.wheel.shutdown_and_cancel();
  EXPECT_TRUE(refused);
  b.wheel.await_termination();
}

// --- shutdown_now(), shutdown_and_cancel()

TEST(wheel_shutdown_now, gives_back_what_waits_in_any_order) {
  wheel_bench b;
  auto c = b.wheel.schedule(30ms, b.here, [] { return 3; }, {.name = "c"});
  b.wheel.execute(20ms, b.here, b.say("b"), {.name = "b"});
  auto a = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.say("a"), {.name = "a"});
  const auto d = b.wheel.execute(1h, b.here, b.say("d"), {.name = "d"});
  auto dropped = b.wheel.schedule(2h, b.here, [] {}, {.name = "e"});
  EXPECT_EQ(b.wheel.execute(5ms, b.here, [] {}).cancel(), cancel_result::prevented);
  {
    takt::task_list rest = b.wheel.shutdown_now();
    EXPECT_EQ(d.cancel(), cancel_result::done);
    ASSERT_EQ(rest.size(), 5u);
    std::string names;
    std::set<std::uint64_t> ids;
    for (takt::task& t : rest) {
      names += t.name();
      ids.insert(t.id());
      if (t.name() == "c") {
        EXPECT_EQ(t.deadline(), b.start + 30ms);
      }
      if (t.name() != "e") t.run();
    }
    std::ranges::sort(names);
    EXPECT_EQ(names, "abcde");
    EXPECT_EQ(ids.size(), 5u);
  }
  EXPECT_EQ(c.get(), 3);
  a.get();
  EXPECT_THAT(b.said, UnorderedElementsAre("a", "b", "d"));
  EXPECT_THROW(dropped.get(), takt::broken_promise);
  b.wheel.await_termination();
  EXPECT_THAT(b.wheel.shutdown_now(), IsEmpty());
  EXPECT_EQ(b.wheel.totals().returned, 5u);
  expect_balance(b.wheel);
}

TEST(wheel_shutdown_now, does_not_wait_for_the_timer_thread) {
  wheel_bench b;
  gate begun;
  gate go_on;
  b.wheel.execute(10ms, b.here, [&] {
    begun.open();
    go_on.wait();
  });
  b.wheel.execute(10ms, b.here, b.say("next"), {.name = "next"});
  b.wheel.execute(20ms, b.here, b.say("later"), {.name = "later"});
  b.settle();
  b.time.advance(20ms);
  begun.wait();
  takt::task_list rest = b.wheel.shutdown_now();
  EXPECT_EQ(rest.size(), 2u);
  EXPECT_FALSE(b.wheel.is_terminated());
  go_on.open();
  b.wheel.await_termination();
  EXPECT_THAT(b.said, IsEmpty());
  expect_balance(b.wheel);
}

TEST(wheel_shutdown_now, may_be_called_on_the_timer_thread) {
  wheel_bench b;
  std::string names;
  b.wheel.execute(10ms, b.here, [&] {
    b.wheel.execute(1s, b.here, [] {}, {.name = "c"});  // may reuse the slot of this task
    for (const takt::task& t : b.wheel.shutdown_now()) names += t.name();
  });
  b.wheel.execute(10ms, b.here, [] {}, {.name = "a"});
  b.wheel.execute(20ms, b.here, [] {}, {.name = "b"});
  b.settle();
  b.time.advance(10ms);
  b.wheel.await_termination();
  std::ranges::sort(names);
  EXPECT_EQ(names, "abc");
  expect_balance(b.wheel);
}

TEST(wheel_shutdown_now, asks_series_that_run_to_stop) {
  takt::thread_pool pool({.core_threads = 2});
  for (const bool gives_back : {true, false}) {
    wheel_bench b;
    tally begun;
    const auto wait = [&](const takt::sync::stop_token& stop) {
      begun.add();
      takt_test::until_stopped(stop);
    };
    auto first = b.wheel.schedule_at_fixed_rate(0ms, 10ms, pool, wait);
    auto second = b.wheel.schedule_with_fixed_delay(0ms, 10ms, pool, wait);
    begun.wait_for(2);
    if (gives_back) {
      EXPECT_THAT(b.wheel.shutdown_now(), IsEmpty());
    } else {
      b.wheel.shutdown_and_cancel();
    }
    EXPECT_THROW(first.get(), takt::cancelled);
    EXPECT_THROW(second.get(), takt::cancelled);
    b.wheel.await_termination();
    EXPECT_EQ(begun.count(), 2u);
  }
}

TEST(wheel_shutdown_and_cancel, cancels_all_that_waits) {
  wheel_bench b;
  auto once = b.wheel.schedule(10ms, b.here, b.say("once"), {.run_at_close = true});
  auto series = b.wheel.schedule_at_fixed_rate(10ms, 10ms, b.here, b.say("series"));
  const auto paused = b.wheel.execute(10ms, b.here, b.say("paused"));
  paused.pause();
  b.wheel.shutdown_and_cancel();
  EXPECT_TRUE(once.is_cancelled());
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_FALSE(paused.resume());
  b.wheel.await_termination();
  EXPECT_EQ(b.wheel.totals().cancelled, 3u);
  EXPECT_THAT(b.said, IsEmpty());
  expect_balance(b.wheel);
}

TEST(wheel_shutdown_now, after_shutdown_gives_back_what_is_left) {
  wheel_bench b;
  auto f = b.wheel.schedule(1h, b.here, [] { return 1; });
  b.wheel.shutdown();
  takt::task_list rest = b.wheel.shutdown_now();
  ASSERT_EQ(rest.size(), 1u);
  rest[0].run();
  EXPECT_EQ(f.get(), 1);
  b.wheel.await_termination();
}

// --- the observer

// The events of each task, as letters.
class letters final : public takt::task_observer {
 public:
  void on_event(const task_event& event) noexcept override {
    static constexpr char names[] = "SXsrfcbm";  // in the order of task_event::kind
    const takt::detail::mutex_lock lock(mu_);
    std::string& all = of_[event.id];
    all += names[static_cast<std::size_t>(event.what)];
    if (event.failed) all += '!';
    if (event.runs_missed != 0) all += std::to_string(event.runs_missed);
    name_[event.id] = event.name;
  }
  // By task name; the names are distinct.
  [[nodiscard]] std::map<std::string, std::string> of() const {
    const takt::detail::mutex_lock lock(mu_);
    std::map<std::string, std::string> result;
    for (const auto& [id, events] : of_) result[name_.at(id)] = events;
    EXPECT_EQ(result.size(), of_.size());
    return result;
  }

 private:
  mutable takt::detail::mutex mu_;
  std::map<std::uint64_t, std::string> of_ TAKT_GUARDED_BY(mu_);
  std::map<std::uint64_t, std::string> name_ TAKT_GUARDED_BY(mu_);
};

TEST(wheel_observer, is_told_of_everything_once) {
  manual_clock time;
  takt_test::recording_hook unhandled;
  letters told;
  manual_executor closed;
  closed.shutdown();
  const inline_executor here;
  wheel_scheduler wheel({.time = &time, .unhandled = &unhandled, .observer = &told});
  wheel.execute(0ms, here, [] {}, {.name = "at once"});
  wheel.execute(10ms, here, [] {}, {.name = "once"});
  wheel.execute(10ms, here, [] { throw std::runtime_error("x"); }, {.name = "fails"});
  wheel.execute(10ms, closed, [] {}, {.name = "refused"});
  EXPECT_THROW(wheel.execute(0ms, closed, [] {}, {.name = "refused at once"}), takt::rejected);
  wheel.execute(10ms, here, [] {}, {.name = "cancelled"}).cancel();
  auto f = wheel.schedule(10ms, here, [] {}, {.name = "cancelled future"});
  f.cancel();
  auto rate = wheel.schedule_at_fixed_rate(10ms, 10ms, here, [] {},
                                           {.name = "rate", .missed = takt::catch_up_within(0s)});
  auto fails = wheel.schedule_with_fixed_delay(
      10ms, 10ms, here, [] { throw std::runtime_error("x"); }, {.name = "failing series"});
  auto refused = wheel.schedule_with_fixed_delay(10ms, 10ms, closed, [] {}, {.name = "unwanted"});
  EXPECT_THROW(static_cast<void>(wheel.schedule_with_fixed_delay(0ms, 10ms, closed, [] {},
                                                                 {.name = "unwanted at once"})),
               takt::rejected);
  auto given_back = wheel.schedule(1h, here, [] {}, {.name = "given back"});
  time.wait_for_waiters(1);
  time.advance(10ms);
  time.wait_for_waiters(1);
  time.advance(45ms);
  time.wait_for_waiters(1);
  EXPECT_EQ(rate.cancel(), cancel_result::prevented);
  EXPECT_EQ(wheel.close(at_close::give_back).size(), 1u);
  EXPECT_THROW(wheel.execute(0ms, here, [] {}, {.name = "too late"}), takt::rejected);
  EXPECT_THROW(wheel.execute(1s, here, [] {}, {.name = "too late, too"}), takt::rejected);
  EXPECT_EQ(told.of(), (std::map<std::string, std::string>{
                           {"at once", "Ssf"},
                           {"once", "Ssf"},
                           {"fails", "Ssf!"},
                           {"refused", "SsrX"},
                           {"refused at once", "SsrX"},
                           {"cancelled", "Sc"},
                           {"cancelled future", "Sc"},
                           {"rate", "Ssrsrm3c"},
                           {"failing series", "Ssf!"},
                           {"unwanted", "SX"},
                           {"unwanted at once", "SX"},
                           {"given back", "Sb"},
                           {"too late", "SX"},
                           {"too late, too", "SX"},
                       }));
  expect_balance(wheel);
  EXPECT_THROW(fails.get(), std::runtime_error);
  EXPECT_THROW(refused.get(), takt::rejected);
}

TEST(wheel_observer, is_told_of_the_end) {
  for (const bool by_close : {true, false}) {
    manual_clock time;
    letters told;
    {
      wheel_scheduler wheel({.time = &time, .observer = &told});
      const inline_executor here;
      wheel.execute(10ms, here, [] {}, {.name = "marked", .run_at_close = true});
      wheel.execute(10ms, here, [] {}, {.name = "unmarked"});
      wheel.execute(10ms, here, [] {}, {.name = "paused"}).pause();
      static_cast<void>(wheel.schedule_at_fixed_rate(10ms, 10ms, here, [] {},
                                                     {.name = "series", .run_at_close = true}));
      if (by_close) wheel.close();
    }
    const char* const marked = by_close ? "Ssf" : "Sc";
    EXPECT_EQ(told.of(),
              (std::map<std::string, std::string>{
                  {"marked", marked}, {"unmarked", "Sc"}, {"paused", "Sc"}, {"series", marked}}));
  }
}

TEST(wheel_observer, agrees_with_the_ledger_whatever_happens) {
  manual_clock time;
  takt::task_statistics figures;
  constexpr std::size_t threads = 2;
  std::atomic<std::size_t> busy{threads};
  wheel_scheduler wheel({.tick = 1ms, .time = &time, .observer = &figures});
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto handle = wheel.execute(i % 7 * 1ms, inline_executor(), [] {});
        if (i % 3 == 0) handle.cancel();
        if (i % 10 == 0) {
          auto series = wheel.schedule_at_fixed_rate(i % 3 * 1ms, 1ms, inline_executor(), [] {});
          if (i % 20 == 0) series.cancel();
        }
      }
      --busy;
    });
  }
  while (busy != 0) {
    time.advance(100us);
    std::this_thread::yield();
  }
  for (auto& each : running) each.join();
  wheel.close();
  const takt::task_totals a = figures.totals();
  const takt::task_totals b = wheel.totals();
  EXPECT_EQ(a.submitted, threads * 550u);
  EXPECT_EQ(a.submitted, b.submitted);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.cancelled, b.cancelled);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.ran, b.ran);
  EXPECT_EQ(a.missed, b.missed);
  expect_balance(wheel);
}

}  // namespace

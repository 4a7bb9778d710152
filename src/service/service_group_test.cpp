#include <takt/service/service_group.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/service/stop_signals.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::service_actions;
using takt::service_group;
using takt::stop_outcome;
using takt::stop_report;
using takt::sync::stop_source;
using takt::sync::stop_token;
using takt_test::gate;
using takt_test::tally;
using takt_test::until_stopped;
using testing::ElementsAre;
using testing::HasSubstr;
using time_point = takt::clock::time_point;

// Services that record their calls and end as scripted.
class diary {
 public:
  service_actions service(const std::string& name, bool ends = true) {
    return {.start = [this, name] { write("start " + name); },
            .shutdown = [this, name] { write("shutdown " + name); },
            .await_end =
                [this, name, ends](time_point, const stop_token&) {
                  write("await " + name);
                  return ends;
                },
            .force = [this, name] { write("force " + name); }};
  }
  void write(std::string line) { lines.push_back(std::move(line)); }

  std::vector<std::string> lines;
};

std::vector<stop_outcome> outcomes(const stop_report& report) {
  std::vector<stop_outcome> found;
  for (const stop_report::service& s : report.services) found.push_back(s.outcome);
  return found;
}

TEST(service_group, starts_in_order_and_stops_in_reverse) {
  diary seen;
  service_group group;
  group.add("a", seen.service("a"));
  group.add("b", seen.service("b"));
  group.start();
  const stop_report report = group.stop(1s);
  EXPECT_THAT(seen.lines,
              ElementsAre("start a", "start b", "shutdown b", "await b", "shutdown a", "await a"));
  EXPECT_TRUE(report.is_clean());
  EXPECT_EQ(report.services.at(0).name, "b");
  EXPECT_EQ(report.services.at(1).name, "a");
}

TEST(service_group, has_all_hurry_that_are_left_when_one_does_not_end) {
  diary seen;
  service_group group;
  group.add("a", seen.service("a"));
  group.add("b", seen.service("b", false));
  group.add("c", seen.service("c"));
  group.start();
  seen.lines.clear();
  const stop_report report = group.stop(1s);
  EXPECT_THAT(seen.lines, ElementsAre("shutdown c", "await c", "shutdown b", "await b", "force b",
                                      "shutdown a", "force a", "await b", "await a"));
  EXPECT_THAT(outcomes(report),
              ElementsAre(stop_outcome::ended, stop_outcome::still_running, stop_outcome::forced));
  EXPECT_FALSE(report.is_clean());
  EXPECT_THAT(report.to_string(), HasSubstr("c ended ("));
  EXPECT_THAT(report.to_string(), HasSubstr("b still running ("));
}

TEST(service_group, a_service_that_throws_does_not_keep_others_from_stopping) {
  diary seen;
  service_group group;
  group.add("a", seen.service("a"));
  service_actions bad = seen.service("b");
  bad.shutdown = [] { throw std::runtime_error("broken"); };
  group.add("b", bad);
  group.start();
  const stop_report report = group.stop(1s);
  EXPECT_THAT(outcomes(report), ElementsAre(stop_outcome::failed, stop_outcome::ended));
  EXPECT_THROW(std::rethrow_exception(report.services.at(0).error), std::runtime_error);
  EXPECT_FALSE(report.is_clean());
}

// It is forced, and does not use up the time of the others: they drain.
TEST(service_group, a_service_that_throws_hurries_alone) {
  for (const bool in_shutdown : {true, false}) {
    diary seen;
    service_group group;
    group.add("a", seen.service("a"));
    service_actions bad = seen.service("b");
    if (in_shutdown) {
      bad.shutdown = [] { throw std::runtime_error("broken"); };
    } else {
      bad.await_end = [](auto, const auto&) -> bool { throw std::runtime_error("broken"); };
    }
    group.add("b", bad);
    group.start();
    seen.lines.clear();
    const stop_report report = group.stop(1s);
    if (in_shutdown) {
      EXPECT_THAT(seen.lines, ElementsAre("force b", "shutdown a", "await a", "await b"));
    } else {
      EXPECT_THAT(seen.lines, ElementsAre("shutdown b", "force b", "shutdown a", "await a"));
    }
    EXPECT_THAT(outcomes(report), ElementsAre(stop_outcome::failed, stop_outcome::ended));
  }
}

TEST(service_group, if_one_does_not_start_those_before_it_are_stopped) {
  diary seen;
  service_group group;
  group.add("a", seen.service("a"));
  service_actions bad = seen.service("b");
  bad.start = [] { throw std::runtime_error("no port"); };
  group.add("b", bad);
  group.add("c", seen.service("c"));
  EXPECT_THROW(group.start(), std::runtime_error);
  EXPECT_THAT(seen.lines, ElementsAre("start a", "shutdown a", "await a"));
  EXPECT_THROW(group.start(), std::logic_error);
  EXPECT_THAT(group.stop(1s).services, testing::SizeIs(1)) << "the report of that";
}

TEST(service_group, bad_input_is_named) {
  EXPECT_THROW(service_group({.linger = -1ns}), std::invalid_argument);
  EXPECT_THROW(service_group({.time = nullptr}), std::invalid_argument);
  diary seen;
  service_group group;
  EXPECT_THROW(group.add("", seen.service("a")), std::invalid_argument);
  EXPECT_THROW(group.add("a", {.shutdown = [] {}}), std::invalid_argument);
  EXPECT_THROW(group.add("a", {.await_end = [](auto, auto) { return true; }}),
               std::invalid_argument);
  group.start();
  EXPECT_THROW(group.add("late", seen.service("late")), std::logic_error);
  EXPECT_THROW(group.start(), std::logic_error);
}

TEST(service_group, one_that_was_not_started_stops_nothing_and_cannot_be_started) {
  diary seen;
  service_group group;
  group.add("a", seen.service("a"));
  EXPECT_TRUE(group.stop(1s).services.empty());
  EXPECT_EQ(group.stop(1s).to_string(), "stopped: nothing");
  EXPECT_THROW(group.start(), std::logic_error);
  EXPECT_TRUE(seen.lines.empty());
}

TEST(service_group, drains_pools_and_tells_the_same_to_all_who_stop_it) {
  takt::thread_pool pool{{.core_threads = 1}};
  service_group group;
  group.add("pool", pool);
  group.start();
  tally ran;
  for (int i = 0; i < 10; ++i) pool.execute([&] { ran.add(); });
  stop_report first;
  stop_report second;
  takt::sync::thread other([&] { first = group.stop(takt::never); });
  second = group.stop(takt::never);
  other.join();
  EXPECT_EQ(ran.count(), 10u);
  EXPECT_TRUE(first.is_clean());
  EXPECT_EQ(outcomes(first), outcomes(second));
  EXPECT_TRUE(pool.is_terminated());
}

// The stopping thread still returns the report while another thread, which has waited for it,
// destroys the group. The thread sanitizer would report a late read of the report.
TEST(service_group, may_be_destroyed_when_stop_has_returned_on_one_of_two_threads) {
  for (int i = 0; i < 100; ++i) {
    auto group = std::make_unique<service_group>();
    service_group& alive = *group;
    gate stopping;
    alive.add("a service that throws", {.shutdown =
                                            [&] {
                                              stopping.open();
                                              throw std::runtime_error("broken");
                                            },
                                        .await_end = [](auto, const auto&) { return true; }});
    alive.start();
    stop_report report;
    takt::sync::thread other([&] { report = alive.stop(takt::never); });
    stopping.wait();
    static_cast<void>(alive.stop(takt::never));
    group.reset();
    other.join();
    ASSERT_THAT(outcomes(report), ElementsAre(stop_outcome::failed));
    EXPECT_NE(report.services[0].error, nullptr);
  }
}

TEST(service_group, forces_when_the_time_is_up) {
  takt::manual_clock time;
  takt::thread_pool pool{{.core_threads = 1, .time = &time}};
  service_group group{{.time = &time}};
  group.add("pool", pool);
  group.start();
  pool.execute([](const stop_token& stop) { until_stopped(stop); });
  takt::sync::thread clock([&] {
    time.wait_for_waiters(1);
    time.advance(5s);
  });
  const stop_report report = group.stop(5s);
  clock.join();
  EXPECT_THAT(outcomes(report), ElementsAre(stop_outcome::forced));
  EXPECT_GE(report.services.at(0).took, 5s);
}

TEST(service_group, tells_of_those_that_do_not_end_after_linger) {
  takt::manual_clock time;
  takt::thread_pool pool{{.core_threads = 1, .time = &time}};
  service_group group{{.linger = 2s, .time = &time}};
  group.add("pool", pool);
  group.start();
  takt_test::busy stubborn(pool, 1);
  takt::sync::thread clock([&] {
    for (int i = 0; i < 2; ++i) {
      time.wait_for_waiters(1);
      time.advance_to_next();
    }
  });
  const stop_report report = group.stop(5s);
  clock.join();
  EXPECT_THAT(outcomes(report), ElementsAre(stop_outcome::still_running));
  EXPECT_EQ(report.services.at(0).took, 7s);
}

TEST(service_group, a_stop_request_makes_it_hurry) {
  takt::manual_clock time;
  takt::thread_pool pool{{.core_threads = 1, .time = &time}};
  service_group group{{.time = &time}};
  group.add("pool", pool);
  group.start();
  pool.execute([](const stop_token& stop) { until_stopped(stop); });
  stop_source force;
  takt::sync::thread user([&] {
    time.wait_for_waiters(1);
    force.request_stop();
  });
  const stop_report report = group.stop(takt::never, force.get_token());
  user.join();
  EXPECT_THAT(outcomes(report), ElementsAre(stop_outcome::forced));
}

TEST(service_group, a_task_asks_for_the_end_and_does_not_wait_for_it) {
  takt::thread_pool pool{{.core_threads = 1}};
  takt::wheel_scheduler timers;
  service_group group;
  group.add("pool", pool);
  group.add("timers", timers);
  group.start();
  auto told = pool.submit([&] {
    group.request_stop();
    return takt_test::finds_deadlock([&] { group.stop(1s); });
  });
  group.wait_for_request();
  EXPECT_TRUE(told.get());
  EXPECT_TRUE(group.stop(takt::never).is_clean());
}

// In its start and in its end, a service would wait for itself.
TEST(service_group, what_starts_or_stops_a_service_asks_and_does_not_wait) {
  service_group group;
  std::vector<bool> found;
  const auto try_to_stop = [&] {
    group.request_stop();
    found.push_back(takt_test::finds_deadlock([&] { group.stop(1s); }));
  };
  group.add("service", {.start = try_to_stop,
                        .shutdown = try_to_stop,
                        .await_end =
                            [&](auto, const auto&) {
                              try_to_stop();
                              return false;
                            },
                        .force = try_to_stop});
  group.start();
  group.wait_for_request();
  EXPECT_THAT(outcomes(group.stop(1s)), ElementsAre(stop_outcome::still_running));
  EXPECT_EQ(found, std::vector<bool>(5, true));
  EXPECT_EQ(group.stop(1s).services.size(), 1u);
}

TEST(service_group, its_destructor_forces_what_was_started) {
  takt::thread_pool pool{{.core_threads = 1}};
  bool ended = false;
  tally begun;
  {
    service_group group;
    group.add("pool", pool);
    group.start();
    pool.execute([&](const stop_token& stop) {
      begun.add();
      until_stopped(stop);
      ended = true;
    });
    begun.wait_for(1);
  }
  EXPECT_TRUE(ended);
  EXPECT_TRUE(pool.is_terminated());
}

TEST(service_group, starts_what_has_a_start) {
  struct startable : takt::lifecycle_interface<startable> {
    void start() { started = true; }
    void shutdown() noexcept {
      if (life_.advance_to(takt::life_state::shutdown) && life_.try_tidy(true)) life_.terminate();
    }
    void shutdown_and_cancel() noexcept { shutdown(); }
    [[nodiscard]] const takt::lifecycle& life() const noexcept { return life_; }
    void throw_if_own_task() const {}
    bool started = false;
    takt::lifecycle life_{takt::steady};
  } service;
  service_group group;
  group.add("service", service);
  EXPECT_FALSE(service.started);
  group.start();
  EXPECT_TRUE(service.started);
  EXPECT_TRUE(group.stop(1s).is_clean());
}

}  // namespace

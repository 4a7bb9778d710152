// Hooks around tasks, the unhandled hook, and observers.
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::rejection_policy;
using takt::task;
using takt::task_event;
using takt::thread_pool;
using takt::sync::stop_token;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::rejection_of;
using testing::ElementsAre;
using testing::IsEmpty;

// --- hooks

TEST(thread_pool, hooks_surround_each_task) {
  std::vector<std::string> told;
  thread_pool pool{
      {.core_threads = 1,
       .before = [&](const task& t) { told.push_back("before " + std::string(t.name())); },
       .after =
           [&](const task& t, const std::exception_ptr& error) {
             told.push_back("after " + std::string(t.name()));
             EXPECT_EQ(error, nullptr);
           }}};
  pool.execute(task([&] { told.emplace_back("a"); }, {.name = "A"}));
  auto failed = pool.submit(
      [&] {
        told.emplace_back("b");
        throw std::runtime_error("to the future");
      },
      {.name = "B"});
  EXPECT_THROW(failed.get(), std::runtime_error);
  drain(pool);
  EXPECT_THAT(told, ElementsAre("before A", "a", "after A", "before B", "b", "after B"));
}

TEST(thread_pool, what_is_uncaught_goes_to_after_and_to_the_hook) {
  recording_hook hook;
  int seen = 0;
  thread_pool pool{
      {.core_threads = 1,
       .after = [&](const task&, const std::exception_ptr& e) { seen += e != nullptr; },
       .unhandled = &hook}};
  const auto thread = pool.submit([] { return takt::sync::this_thread_id(); }).get();
  pool.execute([] { throw std::runtime_error("plain"); });
  pool.execute([](const stop_token&) { throw std::runtime_error("with token"); });
  // The worker survives.
  EXPECT_EQ(pool.submit([] { return takt::sync::this_thread_id(); }).get(), thread);
  const auto s = drain(pool);
  EXPECT_THAT(hook.uncaught(), ElementsAre("plain", "with token"));
  EXPECT_THAT(hook.unobserved(), IsEmpty());
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(s.tasks.failed, 2u);
}

TEST(thread_pool, what_nobody_looks_at_is_unobserved) {
  recording_hook hook;
  thread_pool pool{{.core_threads = 1, .unhandled = &hook}};
  static_cast<void>(pool.submit([] { throw std::runtime_error("unread"); }));
  drain(pool);
  EXPECT_THAT(hook.unobserved(), ElementsAre("unread"));
  EXPECT_THAT(hook.uncaught(), IsEmpty());
}

TEST(thread_pool, uncaught_ends_the_program_by_default) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        thread_pool pool{{.core_threads = 1}};
        pool.execute([] { throw std::runtime_error("nobody catches me"); });
        pool.close(takt::drain);
      },
      "nobody catches me");
}

TEST(thread_pool, before_that_throws_fails_the_task) {
  recording_hook hook;
  int after = 0;
  thread_pool pool{{.core_threads = 1,
                    .before =
                        [](const task& t) {
                          if (t.name() == "bad") throw std::logic_error("before");
                        },
                    .after = [&](const task&, const std::exception_ptr&) { ++after; },
                    .unhandled = &hook}};
  bool run = false;
  auto with = pool.submit([&] { run = true; }, {.name = "bad"});
  EXPECT_THROW(with.get(), std::logic_error);
  EXPECT_THAT(hook.uncaught(), IsEmpty());
  pool.execute(task([&] { run = true; }, {.name = "bad"}));
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);  // the worker survives
  EXPECT_THAT(hook.uncaught(), ElementsAre("before"));
  pool.execute(task([&](const stop_token&) { run = true; }, {.name = "bad"}));
  const auto s = drain(pool);
  EXPECT_THAT(hook.uncaught(), ElementsAre("before", "before"));
  EXPECT_FALSE(run);
  EXPECT_EQ(after, 1);  // as in Java: `after` is not called if `before` has thrown
  EXPECT_EQ(s.tasks.failed, 3u);
  EXPECT_EQ(s.tasks.finished, 4u);
}

// --- observers

class recorder final : public takt::task_observer {
 public:
  void on_event(const task_event& event) noexcept override {
    const takt::detail::mutex_lock lock(mu_);
    events_[event.id].push_back(event.what);
    names_[event.id] = event.name;
    if (event.what == task_event::kind::finished) failed_[event.id] = event.failed;
  }
  std::vector<task_event::kind> of(std::uint64_t id) {
    const takt::detail::mutex_lock lock(mu_);
    return events_[id];
  }
  std::string name(std::uint64_t id) {
    const takt::detail::mutex_lock lock(mu_);
    return names_[id];
  }
  bool failed(std::uint64_t id) {
    const takt::detail::mutex_lock lock(mu_);
    return failed_[id];
  }

 private:
  takt::detail::mutex mu_;
  std::map<std::uint64_t, std::vector<task_event::kind>> events_ TAKT_GUARDED_BY(mu_);
  std::map<std::uint64_t, std::string> names_ TAKT_GUARDED_BY(mu_);
  std::map<std::uint64_t, bool> failed_ TAKT_GUARDED_BY(mu_);
};

TEST(thread_pool, tells_an_observer_the_life_of_each_task) {
  using enum task_event::kind;
  recorder seen;
  recording_hook hook;
  thread_pool pool{{.core_threads = 1, .queue_capacity = 6, .unhandled = &hook, .observer = &seen}};
  gate begun;
  gate go_on;
  auto stopped = pool.submit(
      [&] {
        begun.open();
        go_on.wait();
      },
      {.name = "held"});  // 1: cancelled while it runs
  begun.wait();
  EXPECT_EQ(stopped.cancel(), takt::cancel_result::running);
  pool.execute([] { throw std::runtime_error("x"); });                  // 2
  auto cancelled_one = pool.submit([] {});                              // 3
  auto removed = pool.submit([] {});                                    // 4
  auto purged = pool.submit([] {});                                     // 5
  pool.execute([] {});                                                  // 6
  pool.execute([] {});                                                  // 7
  EXPECT_TRUE(rejection_of([&] { pool.execute([] {}); }).has_value());  // 8
  static_cast<void>(pool.remove(removed));
  purged.cancel();
  EXPECT_EQ(pool.purge(), 1u);
  cancelled_one.cancel();
  go_on.open();
  drain(pool);
  EXPECT_THAT(seen.of(1), ElementsAre(submitted, started, ran, cancelled));
  EXPECT_EQ(seen.name(1), "held");
  EXPECT_THAT(seen.of(2), ElementsAre(submitted, started, finished));
  EXPECT_TRUE(seen.failed(2));
  EXPECT_THAT(seen.of(3), ElementsAre(submitted, cancelled));
  EXPECT_THAT(seen.of(4), ElementsAre(submitted, returned));
  EXPECT_THAT(seen.of(5), ElementsAre(submitted, cancelled));
  for (const std::uint64_t id : {6U, 7U}) {
    EXPECT_THAT(seen.of(id), ElementsAre(submitted, started, finished));
    EXPECT_FALSE(seen.failed(id));
  }
  EXPECT_THAT(seen.of(8), ElementsAre(submitted, rejected));
}

TEST(thread_pool, tells_an_observer_that_a_task_has_started_although_before_throws) {
  using enum task_event::kind;
  recorder seen;
  recording_hook hook;
  thread_pool pool{{.core_threads = 1,
                    .before = [](const task&) { throw std::logic_error("before"); },
                    .unhandled = &hook,
                    .observer = &seen}};
  pool.execute([] {});                                       // 1
  EXPECT_THROW(pool.submit([] {}).get(), std::logic_error);  // 2
  drain(pool);
  for (const std::uint64_t id : {1U, 2U}) {
    EXPECT_THAT(seen.of(id), ElementsAre(submitted, started, finished));
    EXPECT_TRUE(seen.failed(id));
  }
}

TEST(thread_pool, an_observer_counts_what_the_pool_counts) {
  takt::manual_clock time;
  takt::task_statistics figures;
  recording_hook hook;
  thread_pool pool{{.core_threads = 1,
                    .queue_capacity = 4,
                    .rejection = rejection_policy::drop_oldest(),
                    .time = &time,
                    .unhandled = &hook,
                    .observer = &figures}};
  gate begun;
  gate go_on;
  pool.execute([&] {
    begun.open();
    go_on.wait();
    time.advance(2s);
  });
  begun.wait();
  time.advance(1s);
  for (int i = 0; i < 6; ++i) pool.execute([] {});  // two are dropped
  auto f = pool.submit([] {});                      // and a third
  f.cancel();
  go_on.open();
  pool.close(takt::drain);
  const auto all = pool.shutdown_now();
  EXPECT_TRUE(all.empty());
  takt_test::expect_balance(pool);
  const takt::task_totals told = figures.totals();
  const takt::task_totals counted = pool.totals();
  EXPECT_EQ(told.submitted, counted.submitted);
  EXPECT_EQ(told.rejected, counted.rejected);
  EXPECT_EQ(told.finished, counted.finished);
  EXPECT_EQ(told.cancelled, counted.cancelled);
  EXPECT_EQ(told.returned, counted.returned);
  EXPECT_EQ(told.started, counted.started);
  EXPECT_EQ(told.failed, counted.failed);
  EXPECT_EQ(told.ran, counted.ran);
  EXPECT_EQ(told.submitted, 8u);
  EXPECT_EQ(told.rejected, 3u);
  EXPECT_EQ(told.cancelled, 1u);
  EXPECT_EQ(std::chrono::round<std::chrono::seconds>(figures.run_times().max()), 3s);
  EXPECT_EQ(std::chrono::round<std::chrono::seconds>(figures.delays().max()), 2s);
}

TEST(thread_pool, tells_of_returned_and_cancelled_tasks_at_the_end) {
  using enum task_event::kind;
  recorder seen;
  gate go_on;
  gate begun;
  {
    thread_pool pool{{.core_threads = 1, .observer = &seen}};
    pool.execute([&] {
      begun.open();
      go_on.wait();
    });
    begun.wait();
    pool.execute([] {});
    auto f = pool.submit([] {});
    f.cancel();
    EXPECT_EQ(pool.shutdown_now().size(), 1u);
    EXPECT_THAT(seen.of(2), ElementsAre(submitted, returned));
    EXPECT_THAT(seen.of(3), ElementsAre(submitted, cancelled));
    EXPECT_TRUE(rejection_of([&] { pool.execute([] {}); }).has_value());
    EXPECT_THAT(seen.of(4), ElementsAre(submitted, rejected));
    go_on.open();
    drain(pool);
  }
  thread_pool other{{.core_threads = 1, .observer = &seen}};
  busy hold(other, 1);
  other.execute([] {});
  other.shutdown_and_cancel();
  EXPECT_THAT(seen.of(2), ElementsAre(submitted, returned, submitted, cancelled));
  hold.release();
  other.await_termination();
  takt_test::expect_balance(other);
}

}  // namespace

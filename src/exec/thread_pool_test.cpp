// Running tasks, and checks of options. Other subjects: thread_pool_*_test.cpp.
#include <takt/exec/thread_pool.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::rejection_policy;
using takt::task;
using takt::thread_pool;
using takt_test::drain;
using testing::ElementsAre;
using testing::HasSubstr;

// --- running

TEST(thread_pool, runs_what_is_submitted) {
  thread_pool pool{{.core_threads = 2}};
  EXPECT_EQ(pool.submit([] { return 42; }).get(), 42);
  EXPECT_THROW(pool.submit([]() -> int { throw std::out_of_range("x"); }).get(), std::out_of_range);
  bool run = false;
  pool.execute([&] { run = true; });
  const auto s = drain(pool);
  EXPECT_TRUE(run);
  EXPECT_EQ(s.tasks.submitted, 3u);
  EXPECT_EQ(s.tasks.finished, 3u);
  EXPECT_EQ(s.tasks.failed, 1u);
}

TEST(thread_pool, takes_several_tasks_at_once_while_its_threads_are_at_work) {
  const auto three = [](std::vector<int>& ran) {
    std::vector<task> some;
    for (int i = 0; i < 3; ++i) some.emplace_back([&ran, i] { ran.push_back(i); });
    return some;
  };
  std::vector<int> ran;
  std::vector<task> some = three(ran);
  {
    thread_pool pool{{.core_threads = 1}};
    EXPECT_EQ(pool.try_execute(some), 0u);  // the pool has no thread
    takt::parker at_work;
    takt::parker go;
    pool.execute([&] {
      at_work.unpark();
      go.park();
    });
    at_work.park();
    task numbered = task(takt::future_task<void>([&] { ran.push_back(3); }));
    EXPECT_EQ(pool.try_execute(some), 3u);
    EXPECT_EQ(pool.try_execute({&numbered, 1}), 1u);
    go.unpark();
    const auto s = drain(pool);
    EXPECT_THAT(ran, ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(s.tasks.submitted, 5u);
    some = three(ran);
    EXPECT_EQ(pool.try_execute(some), 0u);
  }
  for (const thread_pool::options_type& how :
       {thread_pool::options_type{.core_threads = 1, .queue_capacity = 100},
        thread_pool::options_type{.core_threads = 1, .order = takt::queue_order::priority}}) {
    thread_pool pool{how};
    pool.prestart();
    EXPECT_EQ(pool.try_execute(some), 0u);
    drain(pool);
  }
}

TEST(thread_pool, runs_on_its_own_threads) {
  thread_pool pool{{.core_threads = 1}};
  const auto first = pool.submit([] { return takt::sync::this_thread_id(); }).get();
  EXPECT_NE(first, takt::sync::this_thread_id());
  EXPECT_EQ(pool.submit([] { return takt::sync::this_thread_id(); }).get(), first);
  drain(pool);
}

TEST(thread_pool, default_options_are_enough) {
  thread_pool pool;
  EXPECT_EQ(pool.core_threads(), takt::default_pool_size());
  EXPECT_EQ(pool.max_threads(), pool.core_threads());
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  drain(pool);
}

TEST(thread_pool, knows_tasks_by_name_and_number) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> ids;
  thread_pool pool{{.core_threads = 1, .before = [&](const task& t) {
                      names.emplace_back(t.name());
                      ids.push_back(t.id());
                    }}};
  auto done = pool.submit([] {}, {.name = "report"});
  pool.execute(task([] {}, {.name = "step"}));
  pool.execute([] {});
  done.get();
  drain(pool);
  EXPECT_THAT(names, ElementsAre("report", "step", ""));
  EXPECT_THAT(ids, ElementsAre(1u, 2u, 3u));
}

TEST(thread_pool, destroys_a_closure_before_its_future_is_ready) {
  thread_pool pool{{.core_threads = 1}};
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = owner;
  pool.submit([owner = std::move(owner)] { return *owner; }).get();
  EXPECT_TRUE(alive.expired());
  drain(pool);
}

TEST(thread_pool, does_not_take_an_empty_task) {
  thread_pool pool{{.core_threads = 1}};
  EXPECT_THROW(pool.execute(task()), std::invalid_argument);
  EXPECT_THROW(pool.execute(std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pool.submit(std::function<int()>())), std::invalid_argument);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.submitted, 0u);
}

// --- options

std::string complaint(const thread_pool::options_type& how) {
  try {
    const thread_pool pool{how};
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(thread_pool, complains_about_bad_options) {
  EXPECT_EQ(complaint({.core_threads = 1}), "");
  EXPECT_EQ(complaint({.core_threads = 0, .max_threads = 1}), "");
  EXPECT_THAT(complaint({.core_threads = 0}), HasSubstr("core_threads and max_threads are 0"));
  EXPECT_THAT(complaint({.core_threads = 3, .max_threads = 2}),
              HasSubstr("max_threads (2) is less than core_threads (3)"));
  EXPECT_THAT(complaint({.core_threads = 2, .max_threads = 8}),
              HasSubstr("max_threads (8) is more than core_threads (2)"));
  EXPECT_EQ(complaint({.core_threads = 2, .max_threads = 8, .queue_capacity = 0}), "");
  EXPECT_THAT(complaint({.core_threads = 1, .keep_alive = -5ns}), HasSubstr("negative (-5 ns)"));
  EXPECT_THAT(complaint({.core_threads = 1, .keep_alive = 0s, .core_times_out = true}),
              HasSubstr("core_times_out"));
  EXPECT_EQ(complaint({.core_threads = 1, .keep_alive = 0s}), "");
  EXPECT_THAT(complaint({.core_threads = 1, .time = nullptr}), HasSubstr("time is null"));
  EXPECT_THAT(complaint({.core_threads = 1, .unhandled = nullptr}), HasSubstr("unhandled is null"));
  EXPECT_THAT(complaint({.core_threads = 1,
                         .order = takt::queue_order::priority,
                         .rejection = rejection_policy::drop_oldest()}),
              HasSubstr("drop_oldest"));
  EXPECT_THROW(static_cast<void>(rejection_policy::call(nullptr)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rejection_policy::wait(
                   std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()))),
               std::invalid_argument);
}

TEST(thread_pool, complains_about_bad_changes_and_stays_as_it_was) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 2, .max_threads = 3, .queue_capacity = 10, .time = &time}};
  EXPECT_THROW(pool.resize(0), std::invalid_argument);
  EXPECT_THROW(pool.resize(4, 3), std::invalid_argument);
  EXPECT_THROW(pool.set_keep_alive(-1ns, false), std::invalid_argument);
  EXPECT_THROW(pool.set_keep_alive(0s, true), std::invalid_argument);
  EXPECT_EQ(pool.core_threads(), 2u);
  EXPECT_EQ(pool.max_threads(), 3u);
  pool.prestart();
  time.wait_for_waiters(2);
  time.advance(24h);
  EXPECT_EQ(time.waiters(), 2u);
  drain(pool);
}

}  // namespace

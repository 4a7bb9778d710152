// Threads, sizes, order, hooks and figures. Rejection, waiting and the end have files of their own.
#include <takt/exec/thread_pool.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/mutex.hpp>
#include <takt/base/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task_runner.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::rejection;
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
using takt_test::tally;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- running

TEST(thread_pool, runs_what_is_submitted) {
  thread_pool pool{{.core = 2}};
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

TEST(thread_pool, runs_on_its_own_threads) {
  thread_pool pool{{.core = 1}};
  const auto first = pool.submit([] { return takt::sync::this_thread_id(); }).get();
  EXPECT_NE(first, takt::sync::this_thread_id());
  EXPECT_EQ(pool.submit([] { return takt::sync::this_thread_id(); }).get(), first);
  drain(pool);
}

TEST(thread_pool, default_options_are_enough) {
  thread_pool pool;
  EXPECT_EQ(pool.core(), takt::default_pool_size());
  EXPECT_EQ(pool.max(), pool.core());
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  drain(pool);
}

TEST(thread_pool, begins_in_the_order_of_submission) {
  thread_pool pool{{.core = 1}};
  std::vector<int> order;
  busy hold(pool, 1);
  for (int i = 0; i < 5; ++i) pool.execute([&order, i] { order.push_back(i); });
  hold.release();
  drain(pool);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(thread_pool, begins_by_priority_and_equals_as_they_came) {
  thread_pool pool{{.core = 1, .order = takt::queue_order::priority}};
  std::vector<int> order;
  busy hold(pool, 1);
  const auto add = [&](int i, std::int16_t priority) {
    pool.execute(task([&order, i] { order.push_back(i); }, {.priority = priority}));
  };
  add(30, 0);
  add(10, 7);
  add(40, -32768);
  add(11, 7);
  add(0, 32767);
  add(31, 0);
  add(12, 7);
  add(32, 0);
  hold.release();
  drain(pool);
  EXPECT_THAT(order, ElementsAre(0, 10, 11, 12, 30, 31, 32, 40));
}

TEST(thread_pool, gives_back_by_priority_too) {
  thread_pool pool{{.core = 1, .order = takt::queue_order::priority}};
  busy hold(pool, 1);
  for (const int priority : {1, 3, 2, 3}) {
    pool.execute(task([] {}, {.priority = static_cast<std::int16_t>(priority)}));
  }
  std::vector<std::pair<int, std::uint64_t>> order;
  for (const task& t : pool.shutdown_now()) order.emplace_back(t.priority(), t.id());
  EXPECT_THAT(order,
              ElementsAre(std::pair(3, 3u), std::pair(3, 5u), std::pair(2, 4u), std::pair(1, 2u)));
  hold.release();
  drain(pool);
}

TEST(thread_pool, knows_tasks_by_name_and_number) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> ids;
  thread_pool pool{{.core = 1, .before = [&](const task& t) {
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
  thread_pool pool{{.core = 1}};
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = owner;
  pool.submit([owner = std::move(owner)] { return *owner; }).get();
  EXPECT_TRUE(alive.expired());
  drain(pool);
}

// --- threads

TEST(thread_pool, starts_threads_up_to_core_and_then_queues) {
  thread_pool pool{{.core = 2, .max = 4}};
  EXPECT_EQ(pool.statistics().workers, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().workers, 1u);
  busy two(pool, 1);
  EXPECT_EQ(pool.statistics().workers, 2u);
  pool.execute([] {});
  auto s = pool.statistics();
  EXPECT_EQ(s.workers, 2u);
  EXPECT_EQ(s.active, 2u);
  EXPECT_EQ(s.queued, 1u);
  EXPECT_EQ(s.tasks.pending(), 3u);
  two.release();
  one.release();
  s = drain(pool);
  EXPECT_EQ(s.largest, 2u);
}

TEST(thread_pool, goes_beyond_core_only_if_the_queue_is_full) {
  thread_pool pool{{.core = 1, .max = 2, .queue_capacity = 1}};
  busy one(pool, 1);
  tally run;
  pool.execute([&] { run.add(); });
  EXPECT_EQ(pool.statistics().workers, 1u);
  gate go_on;
  pool.execute([&] {  // a second thread
    run.add();
    go_on.wait();
  });
  EXPECT_EQ(pool.statistics().workers, 2u);
  run.wait_for(2);
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  go_on.open();
  one.release();
  drain(pool);
}

TEST(thread_pool, hands_over_if_nothing_may_wait) {
  takt::manual_clock time;
  thread_pool pool{{.core = 1, .max = 2, .queue_capacity = 0, .time = &time}};
  pool.submit([] {}).get();
  time.wait_for_waiters(1);  // one is free
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().workers, 1u);
  busy two(pool, 1);
  EXPECT_EQ(pool.statistics().workers, 2u);
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  one.release();
  two.release();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
}

TEST(thread_pool, has_room_for_as_many_as_are_free_and_the_capacity) {
  takt::manual_clock time;
  thread_pool pool{{.core = 2, .queue_capacity = 1, .time = &time}};
  EXPECT_EQ(pool.prestart(), 2u);
  time.wait_for_waiters(2);
  gate go_on;
  for (int i = 0; i < 3; ++i) pool.execute([&] { go_on.wait(); });
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  go_on.open();
  drain(pool);
}

TEST(thread_pool, prestarts_as_many_as_are_asked_for) {
  tally started;
  thread_pool pool{{.core = 3, .max = 5, .threads = {.on_start = [&] { started.add(); }}}};
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.prestart(), 2u);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(pool.statistics().workers, 3u);
  started.wait_for(3);
  drain(pool);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(started.count(), 3u);
}

TEST(thread_pool, wakes_one_after_the_other_for_a_burst) {
  takt::manual_clock time;
  thread_pool pool{{.core = 3, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(3);
  tally begun;
  gate go_on;
  for (int i = 0; i < 3; ++i) {
    pool.execute([&] {
      begun.add();
      go_on.wait();
    });
  }
  begun.wait_for(3);  // all at once
  go_on.open();
  drain(pool);
}

TEST(thread_pool, without_core_has_one_thread_while_there_is_work) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core = 0,
                    .max = 1,
                    .keep_alive = 1s,
                    .threads = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  for (std::size_t round = 1; round <= 2; ++round) {
    pool.submit([] {}).get();
    time.wait_for_waiters(1);
    EXPECT_EQ(pool.statistics().workers, 1u);
    time.advance(1s);
    gone.wait_for(round);
    EXPECT_EQ(pool.statistics().workers, 0u);
  }
  drain(pool);
}

TEST(thread_pool, threads_beyond_core_end_when_they_were_idle_for_so_long) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core = 1,
                    .max = 3,
                    .keep_alive = 10s,
                    .queue_capacity = 0,
                    .threads = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  {
    const busy all(pool, 3);
  }
  time.wait_for_waiters(3);
  EXPECT_EQ(pool.statistics().workers, 3u);
  time.advance(10s - 1ns);
  time.wait_for_waiters(3);
  EXPECT_EQ(pool.statistics().workers, 3u);
  time.advance(1ns);
  gone.wait_for(2);
  time.wait_for_waiters(1);
  EXPECT_EQ(pool.statistics().workers, 1u);
  time.advance(1h);
  EXPECT_EQ(time.waiters(), 1u);  // without a deadline
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  const auto s = drain(pool);
  EXPECT_EQ(s.largest, 3u);
}

TEST(thread_pool, work_renews_the_time_to_live) {
  takt::manual_clock time;
  thread_pool pool{{.core = 1, .keep_alive = 10s, .core_time_out = true, .time = &time}};
  pool.submit([] {}).get();
  for (int i = 0; i < 3; ++i) {
    time.wait_for_waiters(1);
    time.advance(9s);
    time.wait_for_waiters(1);
    pool.submit([] {}).get();
  }
  EXPECT_EQ(pool.statistics().largest, 1u);
  EXPECT_EQ(pool.statistics().workers, 1u);
  drain(pool);
}

TEST(thread_pool, core_threads_end_too_if_told_to) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core = 2,
                    .keep_alive = 10s,
                    .core_time_out = true,
                    .threads = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  pool.prestart();
  time.wait_for_waiters(2);
  time.advance(10s);
  gone.wait_for(2);
  EXPECT_EQ(pool.statistics().workers, 0u);
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);  // and come again
  drain(pool);
}

TEST(thread_pool, a_new_keep_alive_is_heeded_by_those_that_wait) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core = 2, .threads = {.on_exit = [&] { gone.add(); }}, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(2);
  pool.set_keep_alive(1s, true);
  time.wait_for_waiters(2);
  EXPECT_TRUE(time.advance_to_next());
  EXPECT_EQ(time.now().time_since_epoch(), 1s);
  gone.wait_for(2);
  EXPECT_EQ(pool.statistics().workers, 0u);
  drain(pool);
}

TEST(thread_pool, growing_starts_what_the_queue_needs) {
  thread_pool pool{{.core = 1}};
  busy hold(pool, 1);
  tally begun;
  gate go_on;
  for (int i = 0; i < 2; ++i) {
    pool.execute([&] {
      begun.add();
      go_on.wait();
    });
  }
  pool.resize(5);
  begun.wait_for(2);
  EXPECT_EQ(pool.core(), 5u);
  EXPECT_EQ(pool.max(), 5u);
  EXPECT_EQ(pool.statistics().workers, 3u);
  go_on.open();
  hold.release();
  drain(pool);
}

TEST(thread_pool, shrinking_lets_idle_threads_go_at_once_and_busy_ones_after_their_task) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core = 4, .threads = {.on_exit = [&] { gone.add(); }}, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(4);
  busy hold(pool, 2);
  pool.resize(1);
  gone.wait_for(2);
  EXPECT_EQ(pool.statistics().workers, 2u);
  hold.release();
  gone.wait_for(3);
  time.wait_for_waiters(1);
  EXPECT_EQ(pool.statistics().workers, 1u);
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  drain(pool);
}

TEST(thread_pool, shrinking_loses_no_task) {
  thread_pool pool{{.core = 3}};
  tally run;
  busy hold(pool, 3);
  for (int i = 0; i < 10; ++i) pool.execute([&] { run.add(); });
  pool.resize(1);
  hold.release();
  run.wait_for(10);
  drain(pool);
}

TEST(thread_pool, cannot_be_resized_if_it_says_so) {
  thread_pool pool{thread_pool::single()};
  EXPECT_THROW(pool.resize(2), std::logic_error);
  EXPECT_EQ(pool.core(), 1u);
  EXPECT_EQ(pool.max(), 1u);
  drain(pool);
}

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

TEST(thread_pool, threads_have_names) {
  thread_pool pool{{.core = 2, .name = "a-very-long-name"}};
  const auto name = [] {
    char text[16] = {};
    pthread_getname_np(pthread_self(), text, sizeof(text));
    return std::string(text);
  };
  EXPECT_EQ(pool.submit(name).get(), "a-very-long-nam");
  thread_pool brief{{.core = 2, .name = "io"}};
  tally begun;
  const auto on_one_of_two = [&] {
    begun.add();
    begun.wait_for(2);
    return name();
  };
  auto first = brief.submit(on_one_of_two);
  auto second = brief.submit(on_one_of_two);
  EXPECT_THAT((std::vector{first.get(), second.get()}),
              testing::UnorderedElementsAre("io-1", "io-2"));
  drain(pool);
  drain(brief);
}

TEST(thread_pool, threads_have_niceness_and_cpus) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(cpu), &all)) ++cpu;
  const auto nice = [] {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
  };
  const int before = nice();
  thread_pool pool{{.core = 1, .threads = {.nice = 1, .cpus = {cpu}}}};
  EXPECT_EQ(pool.submit(nice).get(), std::min(before + 1, 19));
  EXPECT_TRUE(pool.submit([cpu] {
                    cpu_set_t own;
                    sched_getaffinity(0, sizeof(own), &own);
                    return CPU_COUNT(&own) == 1 && CPU_ISSET(static_cast<std::size_t>(cpu), &own);
                  })
                  .get());
  drain(pool);
}

#endif

TEST(thread_pool, thread_hooks_are_first_and_last_on_the_thread) {
  takt::mutex mu;
  std::vector<std::string> told;
  const auto tell = [&](const char* what) {
    const takt::mutex_lock lock(mu);
    told.emplace_back(what);
  };
  thread_pool pool{
      {.core = 1,
       .threads = {.on_start = [&] { tell("start"); }, .on_exit = [&] { tell("exit"); }},
       .terminated = [&] { tell("terminated"); }}};
  pool.execute([&] { tell("task"); });
  drain(pool);
  EXPECT_THAT(told, ElementsAre("start", "task", "exit", "terminated"));
}

TEST(thread_pool, without_any_thread_rejects) {
  thread_pool pool{{.core = 2, .threads = {.may_start = [] { return false; }}}};
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::no_thread);
  EXPECT_EQ(rejection_of([&] { static_cast<void>(pool.submit([] {})); }), rejection::no_thread);
  EXPECT_EQ(pool.prestart(), 0u);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 2u);
  EXPECT_EQ(s.largest, 0u);
}

TEST(thread_pool, without_another_thread_queues) {
  takt::sync::atomic<bool> allowed{true};
  thread_pool pool{{.core = 2, .max = 3, .queue_capacity = 1, .threads = {.may_start = [&] {
                                                                return allowed.load();
                                                              }}}};
  busy hold(pool, 1);
  allowed = false;
  tally run;
  pool.execute([&] { run.add(); });                                             // below core
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);  // below max
  EXPECT_EQ(pool.statistics().workers, 1u);
  hold.release();
  run.wait_for(1);
  drain(pool);
}

// --- hooks

TEST(thread_pool, hooks_surround_each_task) {
  std::vector<std::string> told;
  thread_pool pool{
      {.core = 1,
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
      {.core = 1,
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
  thread_pool pool{{.core = 1, .unhandled = &hook}};
  static_cast<void>(pool.submit([] { throw std::runtime_error("unread"); }));
  drain(pool);
  EXPECT_THAT(hook.unobserved(), ElementsAre("unread"));
  EXPECT_THAT(hook.uncaught(), IsEmpty());
}

TEST(thread_pool, uncaught_ends_the_program_by_default) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        thread_pool pool{{.core = 1}};
        pool.execute([] { throw std::runtime_error("nobody catches me"); });
        pool.close(takt::drain);
      },
      "nobody catches me");
}

TEST(thread_pool, before_that_throws_fails_the_task) {
  recording_hook hook;
  int after = 0;
  thread_pool pool{
      {.core = 1,
       .before =
           [](const task& t) {
             if (t.name() == "bad") throw std::logic_error("before");
           },
       .after = [&](const task&, const std::exception_ptr& e) { after += e != nullptr; },
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
  EXPECT_EQ(after, 2);  // of those without a future
  EXPECT_EQ(s.tasks.failed, 3u);
  EXPECT_EQ(s.tasks.finished, 4u);
}

// --- taking back

TEST(thread_pool, remove_gives_back_what_is_queued) {
  thread_pool pool{{.core = 1, .queue_capacity = 2}};
  busy hold(pool, 1);
  auto first = pool.submit([] { return 1; }, {.name = "first"});
  auto second = pool.submit([] { return 2; });
  task taken = pool.remove(first);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken.name(), "first");
  EXPECT_FALSE(pool.remove(first));
  EXPECT_EQ(pool.statistics().queued, 1u);
  pool.execute([] {});  // there is room again
  EXPECT_FALSE(first.is_ready());
  EXPECT_EQ(taken.run(), takt::task_outcome::finished);
  EXPECT_EQ(first.get(), 1);
  hold.release();
  EXPECT_EQ(second.get(), 2);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.returned, 1u);
}

TEST(thread_pool, remove_keeps_the_order_of_the_rest) {
  thread_pool pool{{.core = 1, .order = takt::queue_order::priority}};
  busy hold(pool, 1);
  std::vector<int> order;
  std::vector<future<void>> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(pool.submit([&order, i] { order.push_back(i); },
                              {.priority = static_cast<std::int16_t>(i)}));
  }
  static_cast<void>(pool.remove(all[6]));
  EXPECT_THROW(all[6].get(), takt::abandoned);
  all[2].cancel();
  EXPECT_EQ(pool.purge(), 1u);
  hold.release();
  drain(pool);
  EXPECT_THAT(order, ElementsAre(7, 5, 4, 3, 1, 0));
}

TEST(thread_pool, remove_finds_neither_running_nor_finished_tasks) {
  thread_pool pool{{.core = 1}};
  gate begun;
  gate go_on;
  auto running = pool.submit([&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  EXPECT_FALSE(pool.remove(running));
  go_on.open();
  running.wait();
  EXPECT_FALSE(pool.remove(running));
  drain(pool);
  EXPECT_FALSE(pool.remove(running));
}

TEST(thread_pool, purge_makes_room) {
  thread_pool pool{{.core = 1, .queue_capacity = 3}};
  busy hold(pool, 1);
  auto a = pool.submit([] {});
  auto b = pool.submit([] {});
  auto c = pool.submit([] {});
  EXPECT_EQ(pool.purge(), 0u);
  EXPECT_EQ(a.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(c.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(pool.statistics().queued, 3u);
  EXPECT_EQ(pool.purge(), 2u);
  auto s = pool.statistics();
  EXPECT_EQ(s.queued, 1u);
  EXPECT_EQ(s.tasks.cancelled, 2u);
  pool.execute([] {});
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  hold.release();
  b.get();
  s = drain(pool);
  EXPECT_EQ(s.tasks.cancelled, 2u);
  EXPECT_EQ(s.tasks.finished, 4u);
  EXPECT_EQ(pool.purge(), 0u);
}

TEST(thread_pool, a_cancelled_task_is_passed_over) {
  thread_pool pool{{.core = 1}};
  busy hold(pool, 1);
  bool run = false;
  auto f = pool.submit([&] { run = true; });
  EXPECT_EQ(f.cancel(), takt::cancel_result::prevented);
  hold.release();
  const auto s = drain(pool);
  EXPECT_FALSE(run);
  EXPECT_EQ(s.tasks.cancelled, 1u);
  EXPECT_EQ(s.tasks.started, 1u);
}

// --- what is told

class recorder final : public takt::task_observer {
 public:
  void on_event(const task_event& event) noexcept override {
    const takt::mutex_lock lock(mu_);
    events_[event.id].push_back(event.what);
    names_[event.id] = event.name;
    if (event.what == task_event::kind::finished) failed_[event.id] = event.failed;
  }
  std::vector<task_event::kind> of(std::uint64_t id) {
    const takt::mutex_lock lock(mu_);
    return events_[id];
  }
  std::string name(std::uint64_t id) {
    const takt::mutex_lock lock(mu_);
    return names_[id];
  }
  bool failed(std::uint64_t id) {
    const takt::mutex_lock lock(mu_);
    return failed_[id];
  }

 private:
  takt::mutex mu_;
  std::map<std::uint64_t, std::vector<task_event::kind>> events_ TAKT_GUARDED_BY(mu_);
  std::map<std::uint64_t, std::string> names_ TAKT_GUARDED_BY(mu_);
  std::map<std::uint64_t, bool> failed_ TAKT_GUARDED_BY(mu_);
};

TEST(thread_pool, tells_an_observer_the_life_of_each_task) {
  using enum task_event::kind;
  recorder seen;
  recording_hook hook;
  thread_pool pool{{.core = 1, .queue_capacity = 6, .unhandled = &hook, .observer = &seen}};
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
  EXPECT_THAT(seen.of(6), ElementsAre(submitted, started, finished));
  EXPECT_FALSE(seen.failed(6));
  EXPECT_THAT(seen.of(8), ElementsAre(submitted, rejected));
}

TEST(thread_pool, an_observer_counts_what_the_pool_counts) {
  takt::manual_clock time;
  takt::task_statistics figures;
  recording_hook hook;
  thread_pool pool{{.core = 1,
                    .queue_capacity = 4,
                    .rejection = rejection_policy::discard_oldest(),
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
  for (int i = 0; i < 6; ++i) pool.execute([] {});  // two are discarded
  auto f = pool.submit([] {});                      // and a third
  f.cancel();
  go_on.open();
  pool.close(takt::drain);
  const auto all = pool.shutdown_now();
  EXPECT_TRUE(all.empty());
  takt_test::expect_balance(pool);
  const takt::task_totals told = figures.totals();
  const takt::task_totals counted = pool.statistics().tasks;
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
    thread_pool pool{{.core = 1, .observer = &seen}};
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
  thread_pool other{{.core = 1, .observer = &seen}};
  busy hold(other, 1);
  other.execute([] {});
  other.shutdown_and_cancel();
  EXPECT_THAT(seen.of(2), ElementsAre(submitted, returned, submitted, cancelled));
  hold.release();
  other.await_termination();
  takt_test::expect_balance(other);
}

// --- options

std::string complaint(const thread_pool::options& how) {
  try {
    const thread_pool pool{how};
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(thread_pool, complains_about_bad_options) {
  EXPECT_EQ(complaint({.core = 1}), "");
  EXPECT_EQ(complaint({.core = 0, .max = 1}), "");
  EXPECT_THAT(complaint({.core = 0}), HasSubstr("core and max are 0"));
  EXPECT_THAT(complaint({.core = 3, .max = 2}), HasSubstr("max (2) is less than core (3)"));
  EXPECT_THAT(complaint({.core = 1, .keep_alive = -5ns}), HasSubstr("negative (-5 ns)"));
  EXPECT_THAT(complaint({.core = 1, .keep_alive = 0s, .core_time_out = true}),
              HasSubstr("core_time_out"));
  EXPECT_EQ(complaint({.core = 1, .keep_alive = 0s}), "");
  EXPECT_THAT(complaint({.core = 1, .time = nullptr}), HasSubstr("time is null"));
  EXPECT_THAT(complaint({.core = 1, .unhandled = nullptr}), HasSubstr("unhandled is null"));
  EXPECT_THAT(complaint({.core = 1,
                         .order = takt::queue_order::priority,
                         .rejection = rejection_policy::discard_oldest()}),
              HasSubstr("discard_oldest"));
  EXPECT_THROW(static_cast<void>(rejection_policy::call(nullptr)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rejection_policy::block(
                   std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()))),
               std::invalid_argument);
}

TEST(thread_pool, complains_about_bad_changes_and_stays_as_it_was) {
  takt::manual_clock time;
  thread_pool pool{{.core = 2, .max = 3, .time = &time}};
  EXPECT_THROW(pool.resize(0), std::invalid_argument);
  EXPECT_THROW(pool.resize(4, 3), std::invalid_argument);
  EXPECT_THROW(pool.set_keep_alive(-1ns), std::invalid_argument);
  EXPECT_THROW(pool.set_keep_alive(0s, true), std::invalid_argument);
  EXPECT_EQ(pool.core(), 2u);
  EXPECT_EQ(pool.max(), 3u);
  pool.prestart();
  time.wait_for_waiters(2);
  time.advance(24h);
  EXPECT_EQ(time.waiters(), 2u);
  drain(pool);
}

TEST(thread_pool, does_not_take_an_empty_task) {
  thread_pool pool{{.core = 1}};
  EXPECT_THROW(pool.execute(task()), std::invalid_argument);
  EXPECT_THROW(pool.execute(std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pool.submit(std::function<int()>())), std::invalid_argument);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.submitted, 0u);
}

}  // namespace

// The threads of a pool: when they start and end, their names, niceness and hooks.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
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

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::rejection;
using takt::thread_pool;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::rejection_of;
using takt_test::tally;
using testing::ElementsAre;

// --- start

TEST(thread_pool, starts_threads_up_to_core_and_then_queues) {
  thread_pool pool{{.core_threads = 2, .max_threads = 4, .queue_capacity = 10}};
  EXPECT_EQ(pool.statistics().threads, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().threads, 1u);
  busy two(pool, 1);
  EXPECT_EQ(pool.statistics().threads, 2u);
  pool.execute([] {});
  const auto s = pool.statistics();
  EXPECT_EQ(s.threads, 2u);
  EXPECT_EQ(s.active, 2u);
  EXPECT_EQ(s.queued, 1u);
  EXPECT_EQ(pool.totals().pending(), 3u);
  EXPECT_EQ(pool.totals().running(), 2u);
  two.release();
  one.release();
  EXPECT_EQ(drain(pool).largest, 2u);
}

// The idle thread runs it instead.
TEST(thread_pool, a_thread_that_is_long_in_coming_keeps_no_task_waiting) {
  gate may_come;
  takt::sync::atomic<int> started{0};
  thread_pool pool{{.core_threads = 2, .thread = {.on_start = [&] {
                                         if (++started == 2) may_come.wait();
                                       }}}};
  pool.submit([] {}).get();
  while (pool.statistics().active != 0) takt::sync::yield();
  pool.submit([] {}).get();  // starts the second thread
  may_come.open();
  EXPECT_EQ(drain(pool).tasks.finished, 2u);
  EXPECT_EQ(started.load(), 2);
}

TEST(thread_pool, goes_beyond_core_only_if_the_queue_is_full) {
  thread_pool pool{{.core_threads = 1, .max_threads = 2, .queue_capacity = 1}};
  busy one(pool, 1);
  tally run;
  pool.execute([&] { run.add(); });
  EXPECT_EQ(pool.statistics().threads, 1u);
  gate go_on;
  pool.execute([&] {  // a second thread
    run.add();
    go_on.wait();
  });
  EXPECT_EQ(pool.statistics().threads, 2u);
  run.wait_for(2);
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  go_on.open();
  one.release();
  drain(pool);
}

TEST(thread_pool, hands_over_if_nothing_may_wait) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .max_threads = 2, .queue_capacity = 0, .time = &time}};
  pool.submit([] {}).get();
  time.wait_for_waiters(1);  // a worker is free
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().threads, 1u);
  busy two(pool, 1);
  EXPECT_EQ(pool.statistics().threads, 2u);
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  one.release();
  two.release();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
}

TEST(thread_pool, has_room_for_as_many_as_are_free_and_the_capacity) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 2, .queue_capacity = 1, .time = &time}};
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
  thread_pool pool{
      {.core_threads = 3, .max_threads = 5, .queue_capacity = 10, .thread = {.on_start = [&] {
                                                                    started.add();
                                                                  }}}};
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.prestart(), 2u);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(pool.statistics().threads, 3u);
  started.wait_for(3);
  drain(pool);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(started.count(), 3u);
}

TEST(thread_pool, wakes_one_after_the_other_for_a_burst) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 3, .time = &time}};
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

TEST(thread_pool, without_any_thread_rejects) {
  thread_pool pool{{.core_threads = 2, .thread = {.may_start = [] { return false; }}}};
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::no_thread);
  EXPECT_EQ(rejection_of([&] { static_cast<void>(pool.submit([] {})); }), rejection::no_thread);
  EXPECT_EQ(pool.prestart(), 0u);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 2u);
  EXPECT_EQ(s.largest, 0u);
}

TEST(thread_pool, without_another_thread_queues) {
  takt::sync::atomic<bool> allowed{true};
  thread_pool pool{
      {.core_threads = 2, .max_threads = 3, .queue_capacity = 1, .thread = {.may_start = [&] {
                                                                   return allowed.load();
                                                                 }}}};
  busy hold(pool, 1);
  allowed = false;
  tally run;
  pool.execute([&] { run.add(); });                                             // below core
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);  // below max
  EXPECT_EQ(pool.statistics().threads, 1u);
  hold.release();
  run.wait_for(1);
  drain(pool);
}

// --- keep_alive

TEST(thread_pool, without_core_has_one_thread_while_there_is_work) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 0,
                    .max_threads = 1,
                    .keep_alive = 1s,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  for (std::size_t round = 1; round <= 2; ++round) {
    pool.submit([] {}).get();
    time.wait_for_waiters(1);
    EXPECT_EQ(pool.statistics().threads, 1u);
    time.advance(1s);
    gone.wait_for(round);
    EXPECT_EQ(pool.statistics().threads, 0u);
  }
  drain(pool);
}

TEST(thread_pool, threads_beyond_core_end_when_they_were_idle_for_so_long) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 1,
                    .max_threads = 3,
                    .keep_alive = 10s,
                    .queue_capacity = 0,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  {
    const busy all(pool, 3);
  }
  time.wait_for_waiters(3);
  EXPECT_EQ(pool.statistics().threads, 3u);
  time.advance(10s - 1ns);
  time.wait_for_waiters(3);
  EXPECT_EQ(pool.statistics().threads, 3u);
  time.advance(1ns);
  gone.wait_for(2);
  time.wait_for_waiters(1);
  EXPECT_EQ(pool.statistics().threads, 1u);
  time.advance(1h);
  EXPECT_EQ(time.waiters(), 1u);  // without a deadline
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  const auto s = drain(pool);
  EXPECT_EQ(s.largest, 3u);
}

TEST(thread_pool, work_renews_the_time_to_live) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 1,
                    .keep_alive = 10s,
                    .core_times_out = true,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  const auto until_it_waits = [&] {
    while (time.waiters() == 0 && gone.count() == 0) takt::sync::yield();
  };
  pool.submit([] {}).get();
  for (int i = 0; i < 3; ++i) {
    until_it_waits();
    time.advance(9s);
    pool.submit([] {}).get();
  }
  until_it_waits();
  EXPECT_EQ(gone.count(), 0u);
  EXPECT_TRUE(time.advance_to_next());
  EXPECT_EQ(time.now().time_since_epoch(), 37s) << "10 s after the last one";
  gone.wait_for(1);
  drain(pool);
  EXPECT_EQ(gone.count(), 1u) << "there was but one";
}

TEST(thread_pool, core_threads_end_too_if_told_to) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 2,
                    .keep_alive = 10s,
                    .core_times_out = true,
                    .thread = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  pool.prestart();
  time.wait_for_waiters(2);
  time.advance(10s);
  gone.wait_for(2);
  EXPECT_EQ(pool.statistics().threads, 0u);
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);  // and start again
  drain(pool);
}

TEST(thread_pool, a_new_keep_alive_is_heeded_by_those_that_wait) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 2, .thread = {.on_exit = [&] { gone.add(); }}, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(2);
  pool.set_keep_alive(1s, true);
  time.wait_for_waiters(2);
  EXPECT_TRUE(time.advance_to_next());
  EXPECT_EQ(time.now().time_since_epoch(), 1s);
  gone.wait_for(2);
  EXPECT_EQ(pool.statistics().threads, 0u);
  drain(pool);
}

// --- resize

TEST(thread_pool, growing_starts_what_the_queue_needs) {
  thread_pool pool{{.core_threads = 1}};
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
  EXPECT_EQ(pool.core_threads(), 5u);
  EXPECT_EQ(pool.max_threads(), 5u);
  EXPECT_EQ(pool.statistics().threads, 3u);
  go_on.open();
  hold.release();
  drain(pool);
}

TEST(thread_pool, shrinking_lets_idle_threads_go_at_once_and_busy_ones_after_their_task) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core_threads = 4, .thread = {.on_exit = [&] { gone.add(); }}, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(4);
  busy hold(pool, 2);
  pool.resize(1);
  gone.wait_for(2);
  EXPECT_EQ(pool.statistics().threads, 2u);
  hold.release();
  gone.wait_for(3);
  time.wait_for_waiters(1);
  EXPECT_EQ(pool.statistics().threads, 1u);
  EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
  drain(pool);
}

TEST(thread_pool, shrinking_loses_no_task) {
  thread_pool pool{{.core_threads = 3}};
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
  EXPECT_EQ(pool.core_threads(), 1u);
  EXPECT_EQ(pool.max_threads(), 1u);
  drain(pool);
}

// --- names, niceness, hooks

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

TEST(thread_pool, threads_have_names) {
  thread_pool pool{{.core_threads = 2, .name = "a-very-long-name"}};
  const auto name = [] {
    char text[16] = {};
    pthread_getname_np(pthread_self(), text, sizeof(text));
    return std::string(text);
  };
  EXPECT_EQ(pool.submit(name).get(), "a-very-long-n-1");
  thread_pool brief{{.core_threads = 2, .name = "io"}};
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
  thread_pool pool{{.core_threads = 1, .thread = {.cpus = {cpu}, .nice = 1}}};
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
  takt::detail::mutex mu;
  std::vector<std::string> told;
  const auto tell = [&](const char* what) {
    const takt::detail::mutex_lock lock(mu);
    told.emplace_back(what);
  };
  thread_pool pool{
      {.core_threads = 1,
       .thread = {.on_start = [&] { tell("start"); }, .on_exit = [&] { tell("exit"); }},
       .terminated = [&] { tell("terminated"); }}};
  pool.execute([&] { tell("task"); });
  drain(pool);
  EXPECT_THAT(told, ElementsAre("start", "task", "exit", "terminated"));
}

}  // namespace

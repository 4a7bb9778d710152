#include <takt/rx/schedulers.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt::cancel_result;
using takt::manual_clock;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::tally;

using thread_id = takt::sync::thread::id;

// Returns the thread on which a worker runs a task now.
thread_id thread_of(worker& w) {
  thread_id id;
  gate done;
  w.schedule([&] {
    id = takt::sync::this_thread_id();
    done.open();
  });
  done.wait();
  return id;
}

TEST(schedulers, each_runs_what_it_is_given) {
  schedulers run;
  tally ran;
  for (worker_scheduler* s : {&run.immediate(), &run.trampoline(), &run.new_thread(), &run.single(),
                              &run.computation(), &run.io()}) {
    worker w = s->create_worker();
    EXPECT_EQ(s->workers(), 1u);
    gate done;
    w.schedule([&] { ran.add(); });
    w.schedule([&] { done.open(); });
    done.wait();
    gate alone;
    s->schedule([&] { alone.open(); });
    alone.wait();
    w.unsubscribe();
    gate later;
    s->schedule(1ns, [&] { later.open(); });
    later.wait();
  }
  EXPECT_EQ(ran.count(), 6u);
}

TEST(schedulers, wrong_options_are_errors) {
  EXPECT_THROW(schedulers({.computation_threads = 0}), std::invalid_argument);
  EXPECT_THROW(schedulers({.io_threads = 0}), std::invalid_argument);
  EXPECT_THROW(schedulers({.io_keep_alive = 0s}), std::invalid_argument);
  EXPECT_THROW(schedulers({.time = nullptr}), std::invalid_argument);
  EXPECT_THROW(schedulers({.unhandled = nullptr}), std::invalid_argument);
}

TEST(schedulers, immediate_nests) {
  schedulers run;
  std::string order;
  worker w = run.immediate().create_worker();
  const task_subscription a = w.schedule([&] {
    order += "(";
    w.schedule([&] { order += "x"; });
    order += ")";
  });
  EXPECT_EQ(order, "(x)");
  EXPECT_TRUE(a.is_unsubscribed());
}

TEST(schedulers, immediate_on_two_threads_nests_on_each) {
  schedulers run;
  auto w = std::make_unique<worker>(run.immediate().create_worker());
  gate first_begun;
  gate first_ended;
  std::string order;
  takt::sync::thread other([&] {
    w->schedule([&] {
      first_begun.open();
      first_ended.wait();
      order += "b";
    });
  });
  first_begun.wait();
  w->schedule([&] { w->schedule([&] { order += "a"; }); });  // does not wait for the other thread
  EXPECT_EQ(w->tracked(), 1u);
  first_ended.open();
  other.join();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(w->tracked(), 0u);
  w.reset();  // has no running task to wait for
}

TEST(schedulers, trampoline_queues_by_time) {
  manual_clock time;
  schedulers run({.time = &time});
  std::string order;
  worker w = run.trampoline().create_worker();
  takt::sync::thread clockwork([&] {
    for (int i = 0; i < 2; ++i) {
      time.wait_for_waiters(1);
      time.advance_to_next();
    }
  });
  w.schedule([&] {
    order += "a";
    w.schedule(2ms, [&] { order += "e"; });
    w.schedule(1ms, [&] { order += "d"; });
    w.schedule([&] { order += "c"; });
    order += "b";
  });
  EXPECT_EQ(order, "abcde") << "when schedule() returns";
  clockwork.join();
  EXPECT_EQ(w.tracked(), 0u);
}

TEST(schedulers, a_trampoline_does_not_wait_for_what_was_cancelled) {
  manual_clock time;
  schedulers run({.time = &time});
  worker w = run.trampoline().create_worker();
  task_subscription late;
  takt::sync::thread canceller([&] {
    time.wait_for_waiters(1);  // the trampoline waits for the task to be due
    EXPECT_EQ(late.cancel(), cancel_result::prevented);
  });
  w.schedule([&] { late = w.schedule(1h, [] { FAIL(); }); });
  canceller.join();
}

TEST(schedulers, immediate_waits_for_a_delay_until_it_is_closed) {
  manual_clock time;
  schedulers run({.time = &time});
  worker w = run.immediate().create_worker();
  const subscription all = w.as_subscription();
  takt::sync::thread other([&] {
    time.wait_for_waiters(1);
    time.advance(1h);
    time.wait_for_waiters(1);
    all.unsubscribe();
  });
  int ran = 0;
  w.schedule(1h, [&] { ++ran; });
  EXPECT_EQ(ran, 1);
  const task_subscription a = w.schedule(1h, [&] { ++ran; });
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(ran, 1);
  other.join();
}

TEST(schedulers, threads_of_workers) {
  schedulers run({.computation_threads = 2});
  worker a = run.computation().create_worker();
  worker b = run.computation().create_worker();
  worker c = run.computation().create_worker();
  EXPECT_EQ(thread_of(a), thread_of(a));
  EXPECT_NE(thread_of(a), thread_of(b));
  EXPECT_EQ(thread_of(a), thread_of(c)) << "in turn";
  worker d = run.single().create_worker();
  worker e = run.single().create_worker();
  EXPECT_EQ(thread_of(d), thread_of(e));
  worker f = run.new_thread().create_worker();
  worker g = run.new_thread().create_worker();
  EXPECT_EQ(thread_of(f), thread_of(f));
  EXPECT_NE(thread_of(f), thread_of(g));
}

TEST(schedulers, io_has_a_thread_for_each_that_blocks) {
  schedulers run;
  tally begun;
  gate go_on;
  std::vector<worker> workers;
  for (int i = 0; i < 8; ++i) {
    workers.push_back(run.io().create_worker());
    workers.back().schedule([&] {
      begun.add();
      go_on.wait();
    });
  }
  begun.wait_for(8);
  go_on.open();
}

TEST(schedulers, io_can_be_bounded) {
  schedulers run({.io_threads = 2});
  tally begun;
  gate go_on;
  std::vector<worker> workers;
  for (int i = 0; i < 8; ++i) {
    workers.push_back(run.io().create_worker());
    workers.back().schedule([&] {
      begun.add();
      go_on.wait();
    });
  }
  begun.wait_for(2);
  EXPECT_EQ(begun.count(), 2u);
  go_on.open();
  begun.wait_for(8);
}

TEST(schedulers, shutdown_closes_workers_and_start_begins_anew) {
  schedulers run;
  for (worker_scheduler* s : {&run.immediate(), &run.trampoline(), &run.new_thread(), &run.single(),
                              &run.computation(), &run.io()}) {
    worker before = s->create_worker();
    const task_subscription far = s == &run.immediate() || s == &run.trampoline()
                                      ? task_subscription()
                                      : before.schedule(1h, [] { FAIL(); });
    s->shutdown();
    s->shutdown();
    EXPECT_TRUE(s->is_shutdown());
    EXPECT_TRUE(before.is_unsubscribed());
    EXPECT_TRUE(far.is_unsubscribed());
    worker late = s->create_worker();
    EXPECT_TRUE(late.is_unsubscribed());
    EXPECT_TRUE(late.schedule([] { FAIL(); }).is_rejected());
    EXPECT_TRUE(s->schedule([] { FAIL(); }).is_rejected());
    EXPECT_EQ(s->workers(), 0u);
    s->start();
    s->start();
    EXPECT_FALSE(s->is_shutdown());
    gate done;
    worker after = s->create_worker();
    after.schedule([&] { done.open(); });
    done.wait();
    EXPECT_TRUE(before.schedule([] { FAIL(); }).is_rejected());
  }
}

// Opens a gate when the calling thread ends.
void tell_end_of_thread(gate& ended) {
  struct teller {
    gate* told;
    ~teller() { told->open(); }
  };
  static thread_local const teller mine{&ended};
}

TEST(schedulers, shutdown_ends_the_threads) {
  gate ended[3];  // must outlive the threads
  schedulers run({.computation_threads = 1});
  std::size_t i = 0;
  for (worker_scheduler* s : {&run.single(), &run.computation(), &run.io()}) {
    gate& told = ended[i++];
    worker w = s->create_worker();
    gate done;
    w.schedule([&] {
      tell_end_of_thread(told);
      done.open();
    });
    done.wait();
    s->shutdown();
    told.wait();  // while the scheduler still exists
  }
}

TEST(schedulers, a_thread_of_io_ends_after_its_keep_alive) {
  for (const std::size_t threads : {takt::unbounded, std::size_t{2}}) {
    gate ended;
    manual_clock time;
    schedulers run({.io_threads = threads, .io_keep_alive = 5s, .time = &time});
    worker w = run.io().create_worker();
    gate done;
    w.schedule([&] {
      tell_end_of_thread(ended);
      done.open();
    });
    done.wait();
    time.wait_for_waiters(1);  // the thread waits for work
    time.advance(5s);
    ended.wait();
  }
}

TEST(schedulers, shutdown_asks_what_runs_on_a_thread_of_its_own) {
  schedulers run;
  gate begun;
  gate ended;
  worker w = run.new_thread().create_worker();
  w.schedule([&](const takt::sync::stop_token& stop) {
    begun.open();
    takt_test::until_stopped(stop);
    ended.open();
  });
  begun.wait();
  run.shutdown();
  ended.wait();
}

TEST(schedulers, the_end_asks_what_runs_alone_to_stop) {
  bool ended[4] = {};
  {
    schedulers run;
    std::size_t i = 0;
    for (worker_scheduler* s : {&run.new_thread(), &run.single(), &run.computation(), &run.io()}) {
      gate begun;
      s->schedule([&begun, &done = ended[i++]](const takt::sync::stop_token& stop) {
        begun.open();
        takt_test::until_stopped(stop);
        done = true;
      });
      begun.wait();
    }
  }
  for (const bool done : ended) EXPECT_TRUE(done);
}

TEST(schedulers, the_end_waits_for_what_runs_alone) {
  bool ended = false;
  gate begun;
  gate go_on;
  takt::sync::thread other;
  {
    schedulers run;
    run.new_thread().schedule([&] {
      begun.open();
      go_on.wait();
      ended = true;
    });
    begun.wait();
    other = takt::sync::thread([&] { go_on.open(); });
  }
  EXPECT_TRUE(ended);
  other.join();
}

TEST(schedulers, what_runs_alone_can_be_cancelled_and_leaves_nothing) {
  const recording_hook hook;
  tally ran;  // must outlive them: cancelling a series does not wait for its last run
  schedulers run({.unhandled = &hook});
  auto token = std::make_shared<int>(0);
  const task_subscription a = run.io().schedule(1h, [token] { FAIL(); });
  EXPECT_EQ(run.io().workers(), 1u);
  EXPECT_EQ(a.cancel(), cancel_result::prevented);
  EXPECT_EQ(run.io().workers(), 0u);
  EXPECT_EQ(token.use_count(), 1);
  task_subscription beat = run.computation().schedule_at_fixed_rate(0s, 1us, [&] { ran.add(); });
  ran.wait_for(3);
  beat.unsubscribe();
  EXPECT_EQ(run.computation().workers(), 0u);
  gate reported;
  const task_subscription bad = run.single().schedule([] { throw std::runtime_error("bad"); });
  bad.add([&] { reported.open(); });
  reported.wait();
  EXPECT_THROW(run.single().schedule_at_fixed_rate(0s, 0s, [] {}), std::invalid_argument);
  EXPECT_EQ(run.single().workers(), 0u);
}

TEST(schedulers, what_runs_alone_can_count_from_its_end) {
  manual_clock time;
  takt::event_loop loop({.frame = takt::never, .time = &time});
  worker_scheduler s = worker_scheduler::from(loop);
  int ran = 0;
  const task_subscription beat = s.schedule_with_fixed_delay(0s, 10ms, [&] {
    ++ran;
    time.advance(5ms);
  });
  for (int i = 0; i < 30; ++i) {
    loop.poll();
    time.advance(1ms);
  }
  EXPECT_EQ(ran, 3);
}

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

TEST(schedulers, destructors_do_nothing_in_a_child_process) {
  gate go_on;  // must outlive the threads that wait at it
  std::deque<gate> begun;
  auto run = std::make_unique<schedulers>();
  std::vector<worker> workers;
  for (worker_scheduler* s :
       {&run->new_thread(), &run->single(), &run->computation(), &run->io()}) {
    workers.push_back(s->create_worker());
    workers.back().schedule([&go_on, &here = begun.emplace_back()] {
      here.open();
      go_on.wait();
    });
    begun.back().wait();
    s->schedule(1h, [] {});
  }
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    workers.clear();  // must not wait for threads that do not exist here
    run.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  go_on.open();
}

#endif

TEST(schedulers, from_an_executor) {
  takt::manual_executor executor;
  {
    worker_scheduler s = worker_scheduler::from(executor);
    int ran = 0;
    worker w = s.create_worker();
    w.schedule([&] { ++ran; });
    s.schedule([&] { ++ran; });
    executor.poll();
    EXPECT_EQ(ran, 2);
    const task_subscription a = w.schedule([&] { ++ran; });
    s.shutdown();
    EXPECT_TRUE(a.is_unsubscribed());
    executor.poll();
    EXPECT_EQ(ran, 2);
  }
  EXPECT_FALSE(executor.is_shutdown());
  EXPECT_THROW(static_cast<void>(worker_scheduler::from(executor, {.batch = 0})),
               std::invalid_argument);
}

TEST(schedulers, their_time_is_the_clock_of_who_waits) {
  manual_clock time(takt::clock::time_point(5s));
  takt::scheduled_pool pool({.threads = 1, .time = &time});
  worker_scheduler s = worker_scheduler::from(pool);
  EXPECT_EQ(s.now(), time.now());
  EXPECT_EQ(s.create_worker().now(), time.now());
  takt::thread_pool plain({.core_threads = 1});
  EXPECT_EQ(worker_scheduler::from(plain, {.timers = &pool}).now(), time.now());
  EXPECT_EQ(worker_scheduler::from(plain, {.time = &time}).now(), time.now());
}

}  // namespace

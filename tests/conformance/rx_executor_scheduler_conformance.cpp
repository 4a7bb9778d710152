// RxJava's tests of schedulers over executors, test by test.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "rx_support.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt::manual_executor;
using takt_test::gate;
using takt_test::pass_time_until;
using takt_test::recording_hook;
using takt_test::tally;

// An executor with a thread per task.
class thread_each {
 public:
  ~thread_each() {
    for (takt::sync::thread& t : threads_) t.join();
  }
  void execute(takt::task t) {
    threads_.emplace_back([work = std::move(t)]() mutable { work.run(); });
  }

 private:
  std::vector<takt::sync::thread> threads_;  // used only by the scheduling thread
};

// Executors of all kinds, and workers on them.
struct setting {
  explicit setting(worker_options how) : options(how) {
    options.timers = &timers;
    options.unhandled = &hook;
  }
  takt::manual_clock time;
  recording_hook hook;
  takt::scheduled_pool timers{{.threads = 1, .time = &time}};
  takt::thread_pool pool{{.core_threads = 2, .time = &time}};
  worker_options options;
};

constexpr worker_options plain{};
constexpr worker_options fair{.batch = 1};
constexpr worker_options interruptible{.interruptible = true};

void wait_for_end(const subscription& s) {
  gate ended;
  s.add([&] { ended.open(); });
  ended.wait();
}

void handled_error(const worker_options& how) {
  setting s(how);
  gate done;
  worker w(s.pool, s.options);
  w.schedule([] {
    try {
      throw std::runtime_error("handled");
    } catch (const std::runtime_error&) {
    }
  });
  w.schedule([&] { done.open(); });
  done.wait();
  EXPECT_TRUE(s.hook.uncaught().empty());
}

void cancelled_retention(const worker_options& how) {
  setting s(how);
  worker w(s.pool, s.options);
  const auto token = std::make_shared<int>(0);
  for (int i = 0; i < 10'000; ++i) w.schedule(1h, [token] {}).unsubscribe();
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(w.tracked(), 0u);
  EXPECT_EQ(s.timers.statistics().delayed, 0u);
}

void cancelled_tasks_dont_run(const worker_options& how) {
  manual_executor exec;
  int calls = 0;
  std::vector<task_subscription> all;
  worker w(exec, how);
  for (int i = 0; i < 3; ++i) all.push_back(w.schedule([&] { ++calls; }));
  for (const task_subscription& a : all) a.unsubscribe();
  exec.poll();
  EXPECT_EQ(calls, 0);
}

void cancelled_worker_doesnt_run(const worker_options& how) {
  manual_executor exec;
  int calls = 0;
  worker w(exec, how);
  for (int i = 0; i < 3; ++i) w.schedule([&] { ++calls; });
  w.unsubscribe();
  exec.poll();
  EXPECT_EQ(calls, 0);
}

void plain_executor(const worker_options& how) {
  setting s(how);
  takt::inline_executor here;
  worker_scheduler on = worker_scheduler::from(here, s.options);
  tally ran;
  on.schedule([&] { ran.add(); });
  on.schedule(50ms, [&] { ran.add(); });
  const task_subscription d = on.schedule_at_fixed_rate(10ms, 10ms, [&] { ran.add(); });
  while (ran.count() < 7) {
    s.time.advance_to_next();
    takt::sync::yield();
  }
  d.unsubscribe();
  EXPECT_TRUE(d.is_unsubscribed());
}

void rejecting_executor(const worker_options& how) {
  setting s(how);
  takt::scheduled_pool exec({.threads = 1});
  exec.shutdown();
  worker_scheduler on = worker_scheduler::from(exec, s.options);
  EXPECT_TRUE(on.schedule([] {}).is_rejected());
  EXPECT_TRUE(on.schedule(10ms, [] {}).is_rejected());
  EXPECT_TRUE(on.schedule_at_fixed_rate(10ms, 10ms, [] {}).is_rejected());
  EXPECT_EQ(on.workers(), 0u);
}

void rejecting_executor_worker(const worker_options& how) {
  setting s(how);
  takt::scheduled_pool exec({.threads = 1});
  exec.shutdown();
  worker_scheduler on = worker_scheduler::from(exec, s.options);
  worker a = on.create_worker();
  EXPECT_TRUE(a.schedule([] {}).is_rejected());
  worker b = on.create_worker();
  EXPECT_TRUE(b.schedule(10ms, [] {}).is_rejected());
  worker c = on.create_worker();
  EXPECT_TRUE(c.schedule_at_fixed_rate(10ms, 10ms, [] {}).is_rejected());
}

// If the executor can schedule, its timers are used.
void reuse_scheduled(const worker_options& how, bool as_worker) {
  setting s(how);
  worker_scheduler on = worker_scheduler::from(s.timers, s.options);
  int ran = 0;
  gate done;
  worker w = on.create_worker();
  const auto task = [&] {
    if (++ran == 8) done.open();
  };
  // Sequential calls: tasks without a worker could run concurrently.
  const task_subscription d = as_worker ? w.schedule_at_fixed_rate(10ms, 10ms, task)
                                        : on.schedule_at_fixed_rate(10ms, 10ms, task);
  pass_time_until(s.time, done);
  d.unsubscribe();
  w.unsubscribe();
  EXPECT_TRUE(w.is_unsubscribed());
}

void dispose_race(const worker_options& how) {
  setting s(how);
  for (int i = 0; i < 200; ++i) {
    takt::sync::atomic<int> c{2};
    worker w(s.pool, s.options);
    const auto meet = [&c] {
      c.fetch_sub(1);
      while (c.load() != 0) takt::sync::yield();
    };
    w.schedule(meet);
    meet();
    w.unsubscribe();
  }
}

void runnable_disposed(const worker_options& how) {
  takt::inline_executor here;
  worker_scheduler on = worker_scheduler::from(here, how);
  EXPECT_TRUE(on.schedule([] {}).is_unsubscribed());
}

void runnable_disposed_async(const worker_options& how, bool crashes) {
  setting s(how);
  thread_each exec;
  worker_scheduler on = worker_scheduler::from(exec, s.options);
  const task_subscription d = on.schedule([crashes] {
    if (crashes) throw std::runtime_error("crash");
  });
  wait_for_end(d);
}

void runnable_disposed_async2(const worker_options& how) {
  setting s(how);
  worker_scheduler on = worker_scheduler::from(s.pool, s.options);
  const task_subscription d = on.schedule([] {});
  wait_for_end(d);
}

void runnable_disposed_timed(const worker_options& how) {
  setting s(how);
  worker_scheduler on = worker_scheduler::from(s.pool, s.options);
  const task_subscription d = on.schedule(1ms, [] {});
  gate ended;
  d.add([&] { ended.open(); });
  pass_time_until(s.time, ended);
}

void runnable_disposed_timed2(const worker_options& how) {
  setting s(how);
  worker_scheduler on = worker_scheduler::from(s.timers, s.options);
  const task_subscription d = on.schedule(1ms, [] {});
  gate ended;
  d.add([&] { ended.open(); });
  pass_time_until(s.time, ended);
}

TEST(ExecutorSchedulerTest, testUnhandledErrorIsDeliveredToThreadHandler) {
  setting s(plain);
  gate done;
  worker w(s.pool, s.options);
  w.schedule([] { throw std::runtime_error("x"); });
  w.schedule([&] { done.open(); });
  done.wait();
  EXPECT_EQ(s.hook.uncaught(), std::vector<std::string>{"x"});
}
TEST(ExecutorSchedulerTest, testHandledErrorIsNotDeliveredToThreadHandler) { handled_error(plain); }
TEST(ExecutorSchedulerTest, handledErrorIsNotDeliveredToThreadHandler) { handled_error(plain); }
TEST(ExecutorSchedulerFairTest, handledErrorIsNotDeliveredToThreadHandler) { handled_error(fair); }
TEST(ExecutorSchedulerInterruptibleTest, handledErrorIsNotDeliveredToThreadHandler) {
  handled_error(interruptible);
}
TEST(ExecutorSchedulerTest, testCancelledTaskRetention) { cancelled_retention(plain); }
TEST(ExecutorSchedulerTest, cancelledTaskRetention) { cancelled_retention(plain); }
TEST(ExecutorSchedulerFairTest, cancelledTaskRetention) { cancelled_retention(fair); }
TEST(ExecutorSchedulerInterruptibleTest, cancelledTaskRetention) {
  cancelled_retention(interruptible);
}
TEST(ExecutorSchedulerTest, testCancelledTasksDontRun) { cancelled_tasks_dont_run(plain); }
TEST(ExecutorSchedulerTest, cancelledTasksDontRun) { cancelled_tasks_dont_run(plain); }
TEST(ExecutorSchedulerFairTest, cancelledTasksDontRun) { cancelled_tasks_dont_run(fair); }
TEST(ExecutorSchedulerInterruptibleTest, cancelledTasksDontRun) {
  cancelled_tasks_dont_run(interruptible);
}
TEST(ExecutorSchedulerTest, testCancelledWorkerDoesntRunTasks) {
  cancelled_worker_doesnt_run(plain);
}
TEST(ExecutorSchedulerTest, cancelledWorkerDoesntRunTasks) { cancelled_worker_doesnt_run(plain); }
TEST(ExecutorSchedulerFairTest, cancelledWorkerDoesntRunTasks) {
  cancelled_worker_doesnt_run(fair);
}
TEST(ExecutorSchedulerInterruptibleTest, cancelledWorkerDoesntRunTasks) {
  cancelled_worker_doesnt_run(interruptible);
}
TEST(ExecutorSchedulerTest, plainExecutor) { plain_executor(plain); }
TEST(ExecutorSchedulerFairTest, plainExecutor) { plain_executor(fair); }
TEST(ExecutorSchedulerInterruptibleTest, plainExecutor) { plain_executor(interruptible); }
TEST(ExecutorSchedulerTest, rejectingExecutor) { rejecting_executor(plain); }
TEST(ExecutorSchedulerFairTest, rejectingExecutor) { rejecting_executor(fair); }
TEST(ExecutorSchedulerInterruptibleTest, rejectingExecutor) { rejecting_executor(interruptible); }
TEST(ExecutorSchedulerTest, rejectingExecutorWorker) { rejecting_executor_worker(plain); }
TEST(ExecutorSchedulerFairTest, rejectingExecutorWorker) { rejecting_executor_worker(fair); }
TEST(ExecutorSchedulerInterruptibleTest, rejectingExecutorWorker) {
  rejecting_executor_worker(interruptible);
}
TEST(ExecutorSchedulerTest, reuseScheduledExecutor) { reuse_scheduled(plain, false); }
TEST(ExecutorSchedulerFairTest, reuseScheduledExecutor) { reuse_scheduled(fair, false); }
TEST(ExecutorSchedulerInterruptibleTest, reuseScheduledExecutor) {
  reuse_scheduled(interruptible, false);
}
TEST(ExecutorSchedulerTest, reuseScheduledExecutorAsWorker) { reuse_scheduled(plain, true); }
TEST(ExecutorSchedulerFairTest, reuseScheduledExecutorAsWorker) { reuse_scheduled(fair, true); }
TEST(ExecutorSchedulerInterruptibleTest, reuseScheduledExecutorAsWorker) {
  reuse_scheduled(interruptible, true);
}
TEST(ExecutorSchedulerTest, disposeRace) { dispose_race(plain); }
TEST(ExecutorSchedulerFairTest, disposeRace) { dispose_race(fair); }
TEST(ExecutorSchedulerInterruptibleTest, disposeRace) { dispose_race(interruptible); }
TEST(ExecutorSchedulerTest, runnableDisposed) { runnable_disposed(plain); }
TEST(ExecutorSchedulerFairTest, runnableDisposed) { runnable_disposed(fair); }
TEST(ExecutorSchedulerInterruptibleTest, runnableDisposed) { runnable_disposed(interruptible); }
TEST(ExecutorSchedulerTest, runnableDisposedAsync) { runnable_disposed_async(plain, false); }
TEST(ExecutorSchedulerFairTest, runnableDisposedAsync) { runnable_disposed_async(fair, false); }
TEST(ExecutorSchedulerInterruptibleTest, runnableDisposedAsync) {
  runnable_disposed_async(interruptible, false);
}
TEST(ExecutorSchedulerTest, runnableDisposedAsyncCrash) { runnable_disposed_async(plain, true); }
TEST(ExecutorSchedulerFairTest, runnableDisposedAsyncCrash) { runnable_disposed_async(fair, true); }
TEST(ExecutorSchedulerInterruptibleTest, runnableDisposedAsyncCrash) {
  runnable_disposed_async(interruptible, true);
}
TEST(ExecutorSchedulerTest, runnableDisposedAsync2) { runnable_disposed_async2(plain); }
TEST(ExecutorSchedulerFairTest, runnableDisposedAsync2) { runnable_disposed_async2(fair); }
TEST(ExecutorSchedulerInterruptibleTest, runnableDisposedAsync2) {
  runnable_disposed_async2(interruptible);
}
TEST(ExecutorSchedulerTest, runnableDisposedAsyncTimed) { runnable_disposed_timed(plain); }
TEST(ExecutorSchedulerFairTest, runnableDisposedAsyncTimed) { runnable_disposed_timed(fair); }
TEST(ExecutorSchedulerInterruptibleTest, runnableDisposedAsyncTimed) {
  runnable_disposed_timed(interruptible);
}
TEST(ExecutorSchedulerTest, runnableDisposedAsyncTimed2) { runnable_disposed_timed2(plain); }
TEST(ExecutorSchedulerFairTest, runnableDisposedAsyncTimed2) { runnable_disposed_timed2(fair); }
TEST(ExecutorSchedulerInterruptibleTest, runnableDisposedAsyncTimed2) {
  runnable_disposed_timed2(interruptible);
}

TEST(ExecutorSchedulerTest, testNoTimedTaskAfterScheduleRetention) {
  setting s(plain);
  takt::event_loop timers({.time = &s.time});
  takt::inline_executor here;
  worker w(here, {.timers = &timers});
  w.schedule(50ms, [] {});
  EXPECT_EQ(w.tracked(), 1u);
  s.time.advance(150ms);
  timers.poll();
  EXPECT_EQ(w.tracked(), 0u);
}
TEST(ExecutorSchedulerTest, testNoTimedTaskPartRetention) {
  setting s(plain);
  manual_executor exec;
  worker w(exec, s.options);
  const task_subscription a = w.schedule(24h, [] {});
  EXPECT_EQ(w.tracked(), 1u);
  a.unsubscribe();
  EXPECT_EQ(w.tracked(), 0u);
}
TEST(ExecutorSchedulerTest, testNoPeriodicTimedTaskPartRetention) {
  setting s(plain);
  takt::inline_executor here;
  int ran = 0;
  worker w(here, s.options);
  const task_subscription a = w.schedule_at_fixed_rate(0h, 24h, [&] { ++ran; });
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(w.tracked(), 1u);
  a.unsubscribe();
  EXPECT_EQ(w.tracked(), 0u);
}

// --- cancelling a running task

enum class how_scheduled { now, timed };

// Returns true if stop was requested of the task.
bool is_asked(const worker_options& how, bool on_scheduled, bool as_worker, how_scheduled when) {
  setting s(how);
  worker_scheduler on = on_scheduled ? worker_scheduler::from(s.timers, s.options)
                                     : worker_scheduler::from(s.pool, s.options);
  gate begun;
  gate go_on;
  gate ended;
  bool asked = false;
  worker w = on.create_worker();
  const auto task = [&](const takt::sync::stop_token& stop) {
    begun.open();
    go_on.wait();
    asked = stop.stop_requested();
    ended.open();
  };
  const std::chrono::nanoseconds delay = when == how_scheduled::timed ? 1ms : 0ms;
  const task_subscription a = as_worker ? w.schedule(delay, task) : on.schedule(delay, task);
  pass_time_until(s.time, begun);
  a.unsubscribe();
  go_on.open();
  ended.wait();
  return asked;
}

TEST(ExecutorSchedulerInterruptibleTest, interruptibleDirectTask) {
  EXPECT_TRUE(is_asked(interruptible, false, false, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, interruptibleWorkerTask) {
  EXPECT_TRUE(is_asked(interruptible, false, true, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, interruptibleDirectTaskScheduledExecutor) {
  EXPECT_TRUE(is_asked(interruptible, true, false, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, interruptibleWorkerTaskScheduledExecutor) {
  EXPECT_TRUE(is_asked(interruptible, true, true, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleDirectTask) {
  EXPECT_FALSE(is_asked(plain, false, false, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleWorkerTask) {
  EXPECT_FALSE(is_asked(plain, false, true, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleDirectTaskScheduledExecutor) {
  EXPECT_FALSE(is_asked(plain, true, false, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleWorkerTaskScheduledExecutor) {
  EXPECT_FALSE(is_asked(plain, true, true, how_scheduled::now));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleDirectTaskTimed) {
  EXPECT_FALSE(is_asked(plain, false, false, how_scheduled::timed));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleWorkerTaskTimed) {
  EXPECT_FALSE(is_asked(plain, false, true, how_scheduled::timed));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleDirectTaskScheduledExecutorTimed) {
  EXPECT_FALSE(is_asked(plain, true, false, how_scheduled::timed));
}
TEST(ExecutorSchedulerInterruptibleTest, nonInterruptibleWorkerTaskScheduledExecutorTimed) {
  EXPECT_FALSE(is_asked(plain, true, true, how_scheduled::timed));
}

TEST(ExecutorSchedulerTest, interruptibleRunnableRunDispose) {
  setting s(interruptible);
  worker w(s.pool, s.options);
  const task_subscription a = w.schedule([] {});
  wait_for_end(a);
  a.unsubscribe();
  EXPECT_TRUE(a.is_unsubscribed());
}
TEST(ExecutorSchedulerTest, interruptibleRunnableRunDisposeRace) {
  setting s(interruptible);
  for (int i = 0; i < 200; ++i) {
    worker w(s.pool, s.options);
    const task_subscription a = w.schedule([](const takt::sync::stop_token&) {});
    a.unsubscribe();
    EXPECT_TRUE(a.is_unsubscribed());
  }
}

// Two workers on one thread take turns.
void fair_interleaving(std::chrono::nanoseconds delay) {
  manual_executor exec;
  worker even(exec, fair);
  std::vector<int> order;
  worker odd(exec, fair);
  for (int i = 1; i < 11; ++i) {
    worker& w = i % 2 == 0 ? even : odd;
    w.schedule(delay, [&order, i] { order.push_back(i); });
  }
  exec.poll();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}
TEST(ExecutorSchedulerFairTest, fairInterleaving) { fair_interleaving(-1ns); }
TEST(ExecutorSchedulerFairTest, fairInterleavingWithDelay) { fair_interleaving(0ns); }

TEST(ExecutorSchedulerDelayedRunnableTest, delayedRunnableCrash) {
  setting s(plain);
  worker w(s.pool, s.options);
  const task_subscription a = w.schedule(1ms, [] { throw std::runtime_error("First"); });
  gate ended;
  w.schedule(2ms, [&] { ended.open(); });
  pass_time_until(s.time, ended);
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(s.hook.uncaught(), std::vector<std::string>{"First"});
}
TEST(ExecutorSchedulerDelayedRunnableTest, dispose) {
  setting s(plain);
  worker w(s.pool, s.options);
  const auto token = std::make_shared<int>(0);
  const task_subscription a = w.schedule(1ms, [token] {});
  EXPECT_FALSE(a.is_unsubscribed());
  a.unsubscribe();
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace

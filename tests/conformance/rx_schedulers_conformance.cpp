// RxJava's tests of each of its schedulers, test by test.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/schedulers.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

#include "rx_support.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt_test::gate;
using takt_test::pass_time_until;
using takt_test::recursive;
using takt_test::runs_elsewhere;
using takt_test::rx_family;
using takt_test::tally;

// --- ImmediateScheduler: actions nest, and delays block

TEST(ImmediateSchedulerTest, testNestedActions) {
  rx_family family;
  std::string order;
  worker inner = family.run().immediate().create_worker();
  inner.schedule([&] {
    order += "(";
    inner.schedule([&] { order += "x"; });
    order += ")";
  });
  EXPECT_EQ(order, "(x)");
}

// As upstream, actions run in the order of schedule().
void immediate_in_order() {
  rx_family family;
  std::string order;
  gate done;
  worker inner = family.run().immediate().create_worker();
  takt::sync::thread caller([&] {
    inner.schedule(30ms, [&] { order += "1"; });
    inner.schedule([&] { order += "2"; });
    inner.schedule(10ms, [&] { order += "3"; });
    done.open();
  });
  pass_time_until(family.time, done);
  caller.join();
  EXPECT_EQ(order, "123");
}
TEST(ImmediateSchedulerTest, testSequenceOfDelayedActions) { immediate_in_order(); }
TEST(ImmediateSchedulerTest, testMixOfDelayedAndNonDelayedActions) { immediate_in_order(); }

// --- TrampolineScheduler

void nested_trampolines() {
  rx_family family;
  worker_scheduler& trampoline = family.run().trampoline();
  std::string done;
  composite_subscription workers;
  const auto work_on_a_new_one = [&](const std::string& key) {
    worker w = trampoline.create_worker();
    w.schedule([&, key] {
      done += key + ".1 ";
      worker third = trampoline.create_worker();
      third.schedule([&done, key] { done += key + ".B.1 "; });
      third.schedule([&done, key] { done += key + ".B.2 "; });
    });
  };
  worker a = trampoline.create_worker();
  workers.add(a.as_subscription());
  a.schedule([&] { work_on_a_new_one("A"); });
  worker b = trampoline.create_worker();
  workers.add(b.as_subscription());
  b.schedule([&] {
    work_on_a_new_one("B");
    b.unsubscribe();
  });
  EXPECT_EQ(done, "A.1 A.B.1 A.B.2 B.1 B.B.1 B.B.2 ");
  workers.unsubscribe();
}
TEST(TrampolineSchedulerTest, nestedTrampolineWithUnsubscribe) { nested_trampolines(); }
TEST(TrampolineSchedulerTest, testNestedTrampolineWithUnsubscribe) { nested_trampolines(); }

void concurrent_trampoline() {
  rx_family family;
  tally ran;
  std::vector<takt::sync::thread> threads;
  worker shared = family.run().trampoline().create_worker();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) shared.schedule([&] { ran.add(); });
    });
  }
  for (takt::sync::thread& t : threads) t.join();
  ran.wait_for(1600);
  EXPECT_EQ(shared.tracked(), 0u);
}
TEST(TrampolineSchedulerTest, trampolineWorkerHandlesConcurrentScheduling) {
  concurrent_trampoline();
}
TEST(TrampolineSchedulerTest, testTrampolineWorkerHandlesConcurrentScheduling) {
  concurrent_trampoline();
}

// --- ComputationScheduler, IoScheduler, NewThreadScheduler, CachedThreadScheduler

void unhandled_error_reaches_the_hook(worker_scheduler& s, const takt_test::recording_hook& hook) {
  gate done;
  worker w = s.create_worker();
  w.schedule([] { throw std::runtime_error("should be delivered"); });
  w.schedule([&] { done.open(); });
  done.wait();
  EXPECT_EQ(hook.uncaught(), std::vector<std::string>{"should be delivered"});
}
void handled_error_does_not(worker_scheduler& s, const takt_test::recording_hook& hook) {
  gate done;
  worker w = s.create_worker();
  w.schedule([] {
    try {
      throw std::runtime_error("should not be delivered");
    } catch (const std::runtime_error&) {
    }
  });
  w.schedule([&] { done.open(); });
  done.wait();
  EXPECT_TRUE(hook.uncaught().empty());
}
void cancelled_are_not_retained(worker_scheduler& s) {
  const auto token = std::make_shared<int>(0);
  worker w = s.create_worker();
  for (int i = 0; i < 10'000; ++i) w.schedule(24h, [token] {}).unsubscribe();
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(w.tracked(), 0u);
}
void shutdown_rejects(worker_scheduler& s) {
  s.shutdown();
  EXPECT_TRUE(s.schedule([] {}).is_rejected());
  EXPECT_TRUE(s.schedule(1s, [] {}).is_rejected());
  EXPECT_TRUE(s.schedule_at_fixed_rate(1s, 1s, [] {}).is_rejected());
  worker w = s.create_worker();
  w.unsubscribe();
  EXPECT_TRUE(w.schedule([] {}).is_rejected());
  EXPECT_TRUE(w.schedule(1s, [] {}).is_rejected());
  EXPECT_TRUE(w.schedule_at_fixed_rate(1s, 1s, [] {}).is_rejected());
}

TEST(ComputationSchedulerTests, testThreadSafetyWhenSchedulerIsHoppingBetweenThreads) {
  rx_family family;
  std::map<std::string, int> statefully{{"a", 0}, {"b", 0}};  // not protected
  gate done;
  worker inner = family.run().computation().create_worker();
  inner.schedule(recursive([&](const recursive& self) {
    const int a = statefully["a"];
    statefully["a"] = a + 1;
    ++statefully["b"];
    EXPECT_EQ(statefully["a"], statefully["b"]);
    if (a < 1000) {
      inner.schedule(self);
    } else {
      done.open();
    }
  }));
  done.wait();
}
TEST(ComputationSchedulerTests, testComputationThreadPool1) { runs_elsewhere(); }
TEST(ComputationSchedulerTests, testUnhandledErrorIsDeliveredToThreadHandler) {
  rx_family family;
  unhandled_error_reaches_the_hook(family.run().computation(), family.hook);
}
TEST(ComputationSchedulerTests, testHandledErrorIsNotDeliveredToThreadHandler) {
  rx_family family;
  handled_error_does_not(family.run().computation(), family.hook);
}
TEST(ComputationSchedulerTests, testCancelledTaskRetention) {
  rx_family family;
  cancelled_are_not_retained(family.run().computation());
}

TEST(IoSchedulerTest, testIOScheduler) { runs_elsewhere(); }
TEST(IoSchedulerTest, testUnhandledErrorIsDeliveredToThreadHandler) {
  rx_family family;
  unhandled_error_reaches_the_hook(family.run().io(), family.hook);
}
TEST(IoSchedulerTest, testHandledErrorIsNotDeliveredToThreadHandler) {
  rx_family family;
  handled_error_does_not(family.run().io(), family.hook);
}
TEST(IoSchedulerTest, testCancelledTaskRetention) {
  rx_family family;
  cancelled_are_not_retained(family.run().io());
}
TEST(IoSchedulerTest, testUninterruptibleActionDoesNotBlockOtherAction) {
  rx_family family;
  gate blocked;
  gate go_on;
  gate ran;
  auto first = std::make_unique<worker>(family.run().io().create_worker());
  first->schedule([&] {
    blocked.open();
    go_on.wait();
  });
  blocked.wait();
  first->unsubscribe();
  worker second = family.run().io().create_worker();
  second.schedule([&] { ran.open(); });
  ran.wait();
  go_on.open();
}

TEST(NewThreadSchedulerTest, testUnhandledErrorIsDeliveredToThreadHandler) {
  rx_family family;
  unhandled_error_reaches_the_hook(family.run().new_thread(), family.hook);
}
TEST(NewThreadSchedulerTest, testHandledErrorIsNotDeliveredToThreadHandler) {
  rx_family family;
  handled_error_does_not(family.run().new_thread(), family.hook);
}
TEST(NewThreadSchedulerTest, testNoSelfInterrupt) {
  rx_family family;
  gate done;
  bool asked = true;
  worker w = family.run().new_thread().create_worker();
  task_subscription self;
  gate known;
  self = w.schedule([&](const takt::sync::stop_token& stop) {
    known.wait();
    self.unsubscribe();
    asked = stop.stop_requested();
    done.open();
  });
  known.open();
  done.wait();
  EXPECT_FALSE(asked);
}

TEST(CachedThreadSchedulerTest, iOScheduler) { runs_elsewhere(); }
TEST(CachedThreadSchedulerTest, handledErrorIsNotDeliveredToThreadHandler) {
  rx_family family;
  handled_error_does_not(family.run().io(), family.hook);
}
TEST(CachedThreadSchedulerTest, cancelledTaskRetention) {
  rx_family family;
  cancelled_are_not_retained(family.run().io());
}
TEST(CachedThreadSchedulerTest, workerDisposed) {
  rx_family family;
  worker w = family.run().io().create_worker();
  EXPECT_FALSE(w.is_unsubscribed());
  w.unsubscribe();
  EXPECT_TRUE(w.is_unsubscribed());
}
TEST(CachedThreadSchedulerTest, shutdownRejects) {
  rx_family family;
  shutdown_rejects(family.run().io());
}

// --- scheduler lifecycle, and time that jumps

TEST(SchedulerLifecycleTest, testShutdown) {
  rx_family family;
  family.run().shutdown();
  shutdown_rejects(family.run().computation());
  family.run().start();
  gate done;
  family.run().computation().schedule([&] { done.open(); });
  done.wait();
}
TEST(SchedulerLifecycleTest, testStartIdempotence) {
  rx_family family;
  worker w = family.run().computation().create_worker();
  family.run().start();
  EXPECT_FALSE(w.is_unsubscribed());
  gate done;
  w.schedule([&] { done.open(); });
  done.wait();
}

// Steady time does not go back: no correction is needed.
TEST(SchedulerWorkerTest, testCurrentTimeDriftBackwards) {
  rx_family family;
  gate done;
  std::vector<takt::clock::time_point> times;
  worker w = family.run().computation().create_worker();
  w.schedule_at_fixed_rate(100ms, 100ms, [&] {
    if (times.size() == 3) return;
    times.push_back(family.time.now());
    if (times.size() == 3) done.open();
  });
  pass_time_until(family.time, done);
  EXPECT_EQ(times[1] - times[0], 100ms);
  EXPECT_EQ(times[2] - times[1], 100ms);
}

// After a jump, runs are made up for or skipped, depending on the policy; here with RxJava's.
TEST(SchedulerWorkerTest, testCurrentTimeDriftForwards) {
  rx_family family;
  takt::event_loop loop({.time = &family.time});
  worker w(loop, {.missed = takt::catch_up_within(15min)});
  const task_subscription beat = w.schedule_at_fixed_rate(100ms, 100ms, [] {});
  family.time.advance(100ms);
  loop.poll();
  family.time.advance(16min);
  loop.poll();
  EXPECT_LE(beat.run_count(), 3u) << "what is over is left out";
  EXPECT_GT(beat.missed_count(), 9000u);
  const std::uint64_t before = beat.run_count();
  family.time.advance(10min);
  loop.poll();
  EXPECT_EQ(beat.run_count(), before + 6000) << "made up for";
}

}  // namespace

// RxJava's tests of its schedulers, test by test, for all schedulers to which they apply.
#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/rx/serial_subscription.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>

#include "rx_support.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt_test::gate;
using takt_test::pass_time_until;
using takt_test::race;
using takt_test::recursive;
using takt_test::runs_elsewhere;
using takt_test::rx_family;
using takt_test::tally;

using counter = takt::sync::atomic<int>;

// --- AbstractSchedulerTests

void nested_actions() {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    std::string order;
    gate done;
    worker inner = s->create_worker();
    inner.schedule([&] {
      order += "3(";
      inner.schedule([&] {
        order += "2(";
        inner.schedule([&] {
          order += "1()";
          done.open();
        });
        order += ")";
      });
      order += ")";
    });
    done.wait();
    EXPECT_EQ(order, "3()2()1()");
  }
}
TEST(AbstractSchedulerTests, nestedActions) { nested_actions(); }
TEST(AbstractSchedulerTests, testNestedActions) { nested_actions(); }

void nested_scheduling() {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    tally names;
    for (int i = 0; i < 2; ++i) {
      s->schedule([&, s] {
        for (int k = 0; k < 2; ++k) s->schedule([&] { names.add(); });
      });
    }
    names.wait_for(4);
  }
}
TEST(AbstractSchedulerTests, nestedScheduling) { nested_scheduling(); }
TEST(AbstractSchedulerTests, testNestedScheduling) { nested_scheduling(); }

void sequence_of_actions() {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    tally ran;
    worker inner = s->create_worker();
    inner.schedule([&] { ran.add(); });
    inner.schedule([&] { ran.add(); });
    ran.wait_for(2);
  }
}
TEST(AbstractSchedulerTests, sequenceOfActions) { sequence_of_actions(); }
TEST(AbstractSchedulerTests, testSequenceOfActions) { sequence_of_actions(); }

// Returns what `body` schedules on a worker while time stands still. Then time passes in steps;
// each step runs one task, which adds to `ran`.
void run_in_time(const std::vector<std::chrono::milliseconds>& steps,
                 const std::function<void(worker& inner, tally& ran)>& body) {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    gate scheduled;
    tally ran;
    worker inner = s->create_worker();
    takt::sync::thread caller([&] {
      inner.schedule([&] {
        body(inner, ran);
        scheduled.open();
      });
    });
    scheduled.wait();
    std::size_t turns = 0;
    for (const std::chrono::milliseconds step : steps) {
      family.time.advance(step);
      ran.wait_for(++turns);
    }
    caller.join();
  }
}

void sequence_of_delayed_actions() {
  std::string order;
  run_in_time({10ms, 20ms, 10ms}, [&](worker& inner, tally& ran) {
    order.clear();
    const auto step = [&](const char* name) {
      return [&order, &ran, name] {
        order += name;
        ran.add();
      };
    };
    inner.schedule(30ms, step("1"));
    inner.schedule(10ms, step("2"));
    inner.schedule(40ms, [&] {
      EXPECT_EQ(order, "21");
      ran.add();
    });
  });
}
TEST(AbstractSchedulerTests, sequenceOfDelayedActions) { sequence_of_delayed_actions(); }
TEST(AbstractSchedulerTests, testSequenceOfDelayedActions) { sequence_of_delayed_actions(); }

void mix_of_actions() {
  std::string order;
  run_in_time({100ms, 200ms, 100ms}, [&](worker& inner, tally& ran) {
    order.clear();
    const auto step = [&](const char* name) {
      return [&order, &ran, name] {
        order += name;
        ran.add();
      };
    };
    inner.schedule([&] { order += "1"; });
    inner.schedule(300ms, step("2"));
    inner.schedule(100ms, step("3"));
    inner.schedule([&] { order += "4"; });
    inner.schedule(400ms, [&] {
      EXPECT_EQ(order, "1432");
      ran.add();
    });
  });
}
TEST(AbstractSchedulerTests, mixOfDelayedAndNonDelayedActions) { mix_of_actions(); }
TEST(AbstractSchedulerTests, testMixOfDelayedAndNonDelayedActions) { mix_of_actions(); }

void recursive_execution() {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    int i = 0;
    gate done;
    worker inner = s->create_worker();
    inner.schedule(recursive([&](const recursive& self) {
      if (++i < 100) {
        inner.schedule(self);
      } else {
        done.open();
      }
    }));
    done.wait();
    EXPECT_EQ(i, 100);
  }
}
TEST(AbstractSchedulerTests, recursiveExecution) { recursive_execution(); }
TEST(AbstractSchedulerTests, testRecursiveExecution) { recursive_execution(); }

void recursive_execution_with_delay() {
  int state = 0;
  run_in_time(std::vector<std::chrono::milliseconds>(100, 1ms), [&](worker& inner, tally& ran) {
    state = 0;
    inner.schedule(1ms, recursive([&](const recursive& self) {
                     if (++state < 100) inner.schedule(1ms, self);
                     ran.add();
                   }));
  });
  EXPECT_EQ(state, 100);
}
TEST(AbstractSchedulerTests, recursiveExecutionWithDelayTime) { recursive_execution_with_delay(); }
TEST(AbstractSchedulerTests, testRecursiveExecutionWithDelayTime) {
  recursive_execution_with_delay();
}

void recursive_until_closed() {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    int i = 0;
    gate done;
    worker inner = s->create_worker();
    inner.schedule(recursive([&](const recursive& self) {
      if (i == 42) {
        inner.unsubscribe();
        EXPECT_TRUE(inner.schedule(self).is_rejected());
        done.open();
        return;
      }
      ++i;
      inner.schedule(self);
    }));
    done.wait();
    EXPECT_EQ(i, 42);
  }
}
TEST(AbstractSchedulerTests, recursiveSchedulerInObservable) { recursive_until_closed(); }
TEST(AbstractSchedulerTests, testRecursiveSchedulerInObservable) { recursive_until_closed(); }

TEST(AbstractSchedulerTests, scheduleDirect) {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    gate done;
    s->schedule([&] { done.open(); });
    done.wait();
  }
}

TEST(AbstractSchedulerTests, scheduleDirectDelayed) {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    gate done;
    s->schedule(50ms, [&] { done.open(); });
    EXPECT_FALSE(done.is_open());
    pass_time_until(family.time, done);
  }
}

TEST(AbstractSchedulerTests, scheduleDirectPeriodic) {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    int ran = 0;
    gate done;
    const task_subscription d = s->schedule_at_fixed_rate(10ms, 10ms, [&] {
      if (++ran == 5) done.open();
    });
    EXPECT_FALSE(d.is_unsubscribed());
    pass_time_until(family.time, done);
    d.unsubscribe();
    EXPECT_TRUE(d.is_unsubscribed());
  }
}

TEST(AbstractSchedulerTests, periodicTaskCancelsItself) {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    assignable_subscription self;
    counter ran{0};
    gate done;
    worker inner = s->create_worker();
    self.set(inner.schedule_at_fixed_rate(10ms, 10ms, [&] {
      if (++ran == 3) {
        self.unsubscribe();
        done.open();
      }
    }));
    pass_time_until(family.time, done);
    gate after;
    inner.schedule(1s, [&] { after.open(); });
    pass_time_until(family.time, after);
    EXPECT_EQ(ran, 3);
  }
}

TEST(AbstractSchedulerTests, scheduleDirectNullRunnable) {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    EXPECT_THROW(s->schedule(std::function<void()>()), std::invalid_argument);
  }
}
TEST(AbstractSchedulerTests, scheduleDirectWithDelayNullRunnable) {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    EXPECT_THROW(s->schedule(10ms, std::function<void()>()), std::invalid_argument);
  }
}
TEST(AbstractSchedulerTests, schedulePeriodicallyDirectNullRunnable) {
  rx_family family;
  for (worker_scheduler* s : family.all()) {
    EXPECT_THROW(s->schedule_at_fixed_rate(5ms, 10ms, std::function<void()>()),
                 std::invalid_argument);
  }
}

// --- AbstractSchedulerConcurrencyTests

void unsubscribe_a_series() {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    int generated = 0;
    gate done;
    worker inner = s->create_worker();
    inner.schedule_at_fixed_rate(50ms, 50ms, [&] {
      if (++generated == 2) {
        inner.unsubscribe();
        done.open();
      }
    });
    pass_time_until(family.time, done);
    family.time.advance(1s);
    EXPECT_EQ(generated, 2);
  }
}
TEST(AbstractSchedulerConcurrencyTests, unSubscribeForScheduler) { unsubscribe_a_series(); }
TEST(AbstractSchedulerConcurrencyTests, testUnSubscribeForScheduler) { unsubscribe_a_series(); }

void unsubscribe_from_outside(std::chrono::nanoseconds delay) {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    counter ran{0};
    {
      gate tenth;
      gate unsubscribed;
      worker inner = s->create_worker();
      inner.schedule(recursive([&](const recursive& self) {
        if (ran.load() == 9) {
          tenth.open();
          unsubscribed.wait();
        }
        ++ran;
        inner.schedule(delay, self);
      }));
      pass_time_until(family.time, tenth);
      inner.unsubscribe();
      unsubscribed.open();
    }
    EXPECT_EQ(ran, 10);
  }
}
TEST(AbstractSchedulerConcurrencyTests, unsubscribeRecursiveScheduleFromOutside) {
  unsubscribe_from_outside(0ns);
}
TEST(AbstractSchedulerConcurrencyTests, testUnsubscribeRecursiveScheduleFromOutside) {
  unsubscribe_from_outside(0ns);
}
TEST(AbstractSchedulerConcurrencyTests, unsubscribeRecursiveScheduleWithDelay) {
  unsubscribe_from_outside(10ms);
}
TEST(AbstractSchedulerConcurrencyTests, testUnsubscribeRecursiveScheduleWithDelay) {
  unsubscribe_from_outside(10ms);
}

void unsubscribe_from_inside() {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    int ran = 0;
    {
      gate done;
      worker inner = s->create_worker();
      inner.schedule(recursive([&](const recursive& self) {
        if (++ran == 10) inner.unsubscribe();
        inner.schedule(self);
        if (ran == 10) done.open();
      }));
      done.wait();
    }
    EXPECT_EQ(ran, 10);
  }
}
TEST(AbstractSchedulerConcurrencyTests, unsubscribeRecursiveScheduleFromInside) {
  unsubscribe_from_inside();
}
TEST(AbstractSchedulerConcurrencyTests, testUnsubscribeRecursiveScheduleFromInside) {
  unsubscribe_from_inside();
}

void long_recursion() {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    int i = 0;
    gate done;
    worker inner = s->create_worker();
    inner.schedule(recursive([&](const recursive& self) {
      if (++i < 10'000) {
        inner.schedule(self);
      } else {
        done.open();
      }
    }));
    done.wait();
  }
}
TEST(AbstractSchedulerConcurrencyTests, recursionFromOuterActionAndUnsubscribeInside) {
  long_recursion();
}
TEST(AbstractSchedulerConcurrencyTests, recursion) { long_recursion(); }
TEST(AbstractSchedulerConcurrencyTests, testRecursion) { long_recursion(); }

void recursion_and_outer_unsubscribe() {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    tally ran;
    worker inner = s->create_worker();
    inner.schedule(recursive([&](const recursive& self) {
      ran.add();
      inner.schedule(self);
    }));
    ran.wait_for(10);
    inner.unsubscribe();
    EXPECT_GE(ran.count(), 10u);
    EXPECT_EQ(inner.tracked(), 0u);
  }
}
TEST(AbstractSchedulerConcurrencyTests, recursionAndOuterUnsubscribe) {
  recursion_and_outer_unsubscribe();
}
TEST(AbstractSchedulerConcurrencyTests, testRecursionAndOuterUnsubscribe) {
  recursion_and_outer_unsubscribe();
}

TEST(AbstractSchedulerConcurrencyTests, subscribeWithScheduler) { runs_elsewhere(); }
TEST(AbstractSchedulerConcurrencyTests, testSubscribeWithScheduler) { runs_elsewhere(); }

TEST(AbstractSchedulerConcurrencyTests,
     workerUnderConcurrentUnsubscribeShouldNotAllowLaterTasksToRunDueToUnsubscriptionRace) {
  rx_family family;
  for (worker_scheduler* s : family.concurrent()) {
    for (int i = 0; i < 50; ++i) {
      bool second = false;
      worker w = s->create_worker();
      race([&] { w.unsubscribe(); },
           [&] {
             w.schedule([] {});
             w.schedule([] {});
           });
      EXPECT_TRUE(w.schedule([&] { second = true; }).is_rejected());
      EXPECT_FALSE(second);
    }
  }
}

}  // namespace

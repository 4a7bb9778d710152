// What may use schedulers while they are shut down or destroyed.
#include <chrono>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/rx/schedulers.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace takt::rx;
using namespace std::chrono_literals;
using takt::manual_clock;
using takt_test::gate;

// A second shutdown(), called by a teardown of the first, stops the threads before the other
// workers are closed, so their pool cancels the tasks of these workers.
TEST(schedulers_closing, what_the_end_of_the_threads_unsubscribes_may_ask_the_scheduler) {
  for (const bool starts : {false, true}) {
    schedulers run({.computation_threads = 1});
    for (worker_scheduler* s : {&run.single(), &run.computation(), &run.io()}) {
      worker first = s->create_worker();
      worker second = s->create_worker();
      bool asked = false;
      first.schedule(1h, [] { FAIL(); }).add([&] {
        if (starts) {
          s->start();
        } else {
          s->shutdown();
        }
      });
      second.schedule(1h, [] { FAIL(); }).add([&] {
        asked = true;
        EXPECT_EQ(s->is_shutdown(), !starts);
        EXPECT_EQ(s->create_worker().is_unsubscribed(), !starts);
      });
      s->shutdown();
      EXPECT_TRUE(asked);
      EXPECT_EQ(s->is_shutdown(), !starts);
    }
  }
}

// The destructor waits for the task, and all schedulers exist until the task has ended.
TEST(schedulers_closing, what_runs_alone_may_use_them_at_their_end) {
  manual_clock time;
  int refused = 0;
  {
    gate begun;
    schedulers run({.time = &time});
    run.new_thread().schedule([&](const takt::sync::stop_token& stop) {
      begun.open();
      takt_test::until_stopped(stop);
      time.wait_for_waiters(1);  // the destructor
      for (worker_scheduler* s : {&run.immediate(), &run.trampoline(), &run.new_thread(),
                                  &run.single(), &run.computation(), &run.io()}) {
        s->shutdown();
        if (s->create_worker().is_unsubscribed()) ++refused;
        if (s->schedule([] { FAIL(); }).is_rejected()) ++refused;
      }
      run.new_thread().start();  // no effect: no later call would shut it down again
      EXPECT_TRUE(run.new_thread().is_shutdown());
    });
    begun.wait();
  }
  EXPECT_EQ(refused, 12);
}

}  // namespace

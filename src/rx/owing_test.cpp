// A thread that blocks runs its deferred continuations first.
#include "../../tests/support/owing.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/schedulers.hpp>
#include <takt/rx/worker.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt_test::gate;
using takt_test::owe_and_wait;

TEST(owing, a_join_with_an_action) {
  takt::thread_pool pool{{.core_threads = 1}};
  takt::rx::worker w(pool);
  gate begun;
  gate go_on;
  const takt::rx::task_subscription a = w.schedule([&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  owe_and_wait([&] { go_on.open(); },
               [&] { EXPECT_EQ(a.cancel_and_join(), takt::cancel_result::done); });
}

TEST(owing, a_trampoline_until_an_action_is_due) {
  takt::manual_clock time;
  takt::rx::schedulers run({.time = &time});
  takt::rx::worker w = run.trampoline().create_worker();
  bool ran = false;
  owe_and_wait([&] { time.advance(1s); },
               [&] {
                 w.schedule(1s, [&] { ran = true; });
                 EXPECT_TRUE(ran);
               });
}

TEST(owing, an_immediate_action_until_it_is_due) {
  takt::manual_clock time;
  takt::rx::schedulers run({.time = &time});
  takt::rx::worker w = run.immediate().create_worker();
  bool ran = false;
  owe_and_wait([&] { time.advance(1s); },
               [&] {
                 w.schedule(1s, [&] { ran = true; });
                 EXPECT_TRUE(ran);
               });
}

}  // namespace

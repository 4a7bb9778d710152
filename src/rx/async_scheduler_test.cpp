#include <takt/rx/async_scheduler.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/rx/action.hpp>

#include "../../tests/support/actions_on_loop.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;
using takt_test::actions;

TEST_F(actions, async_counts_every_second) {
  rx::async_scheduler async{loop};
  std::vector<int> seen;
  const rx::action<int> a = async.schedule(
      1s,
      [&](auto& self, int n) {
        seen.push_back(n);
        self.schedule(1s, n + 1);
      },
      1);
  pass(3500ms);
  EXPECT_EQ(seen, (std::vector{1, 2, 3}));
  EXPECT_FALSE(a.is_unsubscribed());
  a.unsubscribe();
  pass(3s);
  EXPECT_EQ(seen.size(), 3U);
}

TEST_F(actions, async_runs_once_with_the_newest_state) {
  rx::async_scheduler async{loop};
  std::vector<std::string> seen;
  const auto a =
      async.schedule(10ms, [&](const std::string& s) { seen.push_back(s); }, std::string("first"));
  a.schedule(20ms, "second");
  pass(15ms);
  EXPECT_TRUE(seen.empty());
  pass(100ms);
  EXPECT_EQ(seen, std::vector<std::string>{"second"});
  a.schedule(5ms, "third");
  pass(5ms);
  EXPECT_EQ(seen, (std::vector<std::string>{"second", "third"}));
}

TEST_F(actions, async_errors_leave_the_loop_and_close_the_action) {
  rx::async_scheduler async{loop};
  const auto bad = async.schedule(1ms, [] { throw std::runtime_error("bad"); });
  const auto good = async.schedule(1ms, says("good"));
  time.advance(1ms);
  EXPECT_THROW(loop.run_one(), std::runtime_error);
  EXPECT_TRUE(bad.is_unsubscribed());
  EXPECT_FALSE(good.is_unsubscribed());
  loop.poll();
  EXPECT_EQ(log, "good");
}

TEST_F(actions, async_an_interval_does_not_drift_and_leaves_out_what_has_passed) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(10ms, [&](auto& self) {
    log += std::to_string(time.now().time_since_epoch() / 1ms) + " ";
    self.schedule(10ms);
  });
  pass(10ms);
  time.advance(3ms);  // at 13 ms
  pass(7ms);
  time.advance(25ms);  // at 45 ms: the run of 30 is late, that of 40 is skipped
  pass(10ms);
  EXPECT_EQ(log, "10 20 45 50 ");
}

TEST_F(actions, async_an_interval_is_armed_again_after_its_work) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(
      10ms,
      [&](auto& self, int n) {
        log += 'a';
        if (n > 1) return;
        self.schedule(10ms, n + 1);
        async.schedule(10ms, says("b"));
      },
      1);
  pass(20ms);
  EXPECT_EQ(log, "aba");
}

TEST_F(actions, async_a_finished_action_may_be_scheduled_later) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(10ms, says("x"));
  pass(100ms);
  EXPECT_EQ(loop.next_deadline(), clock::time_point::max()) << "no timer is left";
  a.schedule(10ms);
  pass(10ms);
  EXPECT_EQ(log, "xx");
}

TEST_F(actions, async_never_is_never) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(never, says("x"));
  pass(10h);
  EXPECT_EQ(log, "");
  a.schedule(0ms);
  pass(0ms);
  EXPECT_EQ(log, "x");
}

}  // namespace

#include <takt/exec/lifecycle.hpp>

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>

namespace {

using namespace std::chrono_literals;
using takt::life_state;
using takt::lifecycle;

TEST(lifecycle, begins_running_without_workers) {
  const lifecycle life(takt::steady);
  EXPECT_EQ(life.state(), life_state::running);
  EXPECT_EQ(life.workers(), 0u);
  EXPECT_EQ(&life.time(), &takt::steady);
}

TEST(lifecycle, goes_forward_once) {
  lifecycle life(takt::steady);
  EXPECT_TRUE(life.advance_to(life_state::shutdown));
  EXPECT_FALSE(life.advance_to(life_state::shutdown));
  EXPECT_EQ(life.state(), life_state::shutdown);
  EXPECT_TRUE(life.advance_to(life_state::stop));
  EXPECT_FALSE(life.advance_to(life_state::stop));
  EXPECT_FALSE(life.advance_to(life_state::shutdown));
  EXPECT_EQ(life.state(), life_state::stop);
}

TEST(lifecycle, may_skip_shutdown) {
  lifecycle life(takt::steady);
  EXPECT_TRUE(life.advance_to(life_state::stop));
  EXPECT_EQ(life.state(), life_state::stop);
}

TEST(lifecycle, counts_workers_beside_the_state) {
  lifecycle life(takt::steady);
  EXPECT_TRUE(life.add_worker());
  EXPECT_TRUE(life.add_worker());
  EXPECT_TRUE(life.advance_to(life_state::shutdown));
  EXPECT_TRUE(life.add_worker());  // for queued tasks
  EXPECT_EQ(life.workers(), 3u);
  EXPECT_EQ(life.state(), life_state::shutdown);
  EXPECT_TRUE(life.advance_to(life_state::stop));
  EXPECT_FALSE(life.add_worker());
  EXPECT_EQ(life.workers(), 3u);
  EXPECT_EQ(life.remove_worker(), 2u);
  EXPECT_EQ(life.remove_worker(), 1u);
  EXPECT_EQ(life.remove_worker(), 0u);
  EXPECT_EQ(life.state(), life_state::stop);
}

TEST(lifecycle, tidies_when_it_is_shut_down_and_drained) {
  lifecycle life(takt::steady);
  EXPECT_FALSE(life.try_tidy(true));  // still running
  ASSERT_TRUE(life.add_worker());
  life.advance_to(life_state::shutdown);
  EXPECT_FALSE(life.try_tidy(true));  // has a worker
  life.remove_worker();
  EXPECT_FALSE(life.try_tidy(false));  // has work
  EXPECT_TRUE(life.try_tidy(true));
  EXPECT_FALSE(life.try_tidy(true));  // once
  EXPECT_EQ(life.state(), life_state::tidying);
  life.terminate();
  EXPECT_EQ(life.state(), life_state::terminated);
  EXPECT_FALSE(life.advance_to(life_state::stop));
  EXPECT_FALSE(life.add_worker());
}

TEST(lifecycle, tidies_when_it_is_stopped_whatever_is_queued) {
  lifecycle life(takt::steady);
  ASSERT_TRUE(life.add_worker());
  life.advance_to(life_state::stop);
  EXPECT_FALSE(life.try_tidy(true));
  life.remove_worker();
  EXPECT_TRUE(life.try_tidy(false));
  life.terminate();
}

TEST(lifecycle, a_hold_keeps_it_from_tidying_in_shutdown_and_in_stop) {
  for (const life_state next : {life_state::shutdown, life_state::stop}) {
    lifecycle life(takt::steady);
    ASSERT_TRUE(life.hold());
    life.advance_to(next);
    ASSERT_TRUE(life.hold());  // another call
    EXPECT_EQ(life.workers(), 0u);
    EXPECT_TRUE(life.is_held());
    life.release_hold();
    EXPECT_FALSE(life.try_tidy(true));
    life.release_hold();
    EXPECT_FALSE(life.is_held());
    EXPECT_TRUE(life.try_tidy(true));
    EXPECT_FALSE(life.hold());  // in tidying
    life.terminate();
    EXPECT_FALSE(life.hold());
  }
}

TEST(lifecycle, is_unused_when_all_have_left_await_and_close) {
  takt::manual_clock time;
  lifecycle life(time);
  std::optional<lifecycle::user> closes(life);
  takt::sync::thread awaits([&] { EXPECT_TRUE(life.await(takt::clock::time_point::max(), {})); });
  takt::sync::atomic<bool> unused{false};
  takt::sync::thread destroys([&] {
    life.await_unused();
    unused = true;
  });
  time.wait_for_waiters(2);
  life.advance_to(life_state::stop);
  ASSERT_TRUE(life.try_tidy(true));
  life.terminate();
  awaits.join();
  EXPECT_FALSE(unused);  // close() is under way
  closes.reset();
  destroys.join();
}

TEST(lifecycle, await_ends_with_the_deadline_the_token_or_the_end) {
  takt::manual_clock time;
  lifecycle life(time);
  EXPECT_FALSE(life.await(time.now(), {}));
  takt::sync::stop_source stop;
  takt::sync::thread by_time([&] { EXPECT_FALSE(life.await(time.now() + 1s, {})); });
  takt::sync::thread by_token(
      [&] { EXPECT_FALSE(life.await(takt::clock::time_point::max(), stop.get_token())); });
  takt::sync::thread by_end([&] { EXPECT_TRUE(life.await(takt::clock::time_point::max(), {})); });
  time.wait_for_waiters(3);
  time.advance(1s);
  by_time.join();
  stop.request_stop();
  by_token.join();
  life.advance_to(life_state::stop);
  ASSERT_TRUE(life.try_tidy(true));
  EXPECT_EQ(time.waiters(), 1u);  // tidying is not terminated
  life.terminate();
  by_end.join();
  EXPECT_TRUE(life.await(time.now(), {}));
}

TEST(lifecycle, states_have_names) {
  EXPECT_EQ(to_string(life_state::running), "running");
  EXPECT_EQ(to_string(life_state::shutdown), "shutdown");
  EXPECT_EQ(to_string(life_state::stop), "stop");
  EXPECT_EQ(to_string(life_state::tidying), "tidying");
  EXPECT_EQ(to_string(life_state::terminated), "terminated");
}

TEST(close_policy, says_when_to_cancel) {
  static_assert(takt::drain.cancel_after() == takt::never);
  static_assert(takt::cancel_pending.cancel_after() == 0ns);
  EXPECT_EQ(takt::drain_for(1500us).cancel_after(), 1'500'000ns);
  EXPECT_EQ(takt::drain_for(std::chrono::hours::max()).cancel_after(), takt::never);
}

}  // namespace

#include <takt/rx/batch_scheduler.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <takt/rx/animation_frame_scheduler.hpp>
#include <takt/rx/asap_scheduler.hpp>

#include "../../tests/support/actions_on_loop.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;
using takt_test::actions;

TEST_F(actions, asap_is_a_microtask_and_later_ones_are_for_the_next_batch) {
  rx::asap_scheduler asap{loop};
  asap.schedule(
      0ms,
      [&](auto& self, int n) {
        log += std::to_string(n);
        if (n < 3) self.schedule(0ms, n + 1);
      },
      1);
  EXPECT_EQ(log, "");
  loop.poll();
  EXPECT_EQ(log, "123");
}

TEST_F(actions, asap_errors_close_the_rest_of_the_batch_only) {
  rx::asap_scheduler asap{loop};
  rx::action<void> next;
  asap.schedule([&] { next = asap.schedule(says("next")); });
  const auto bad = asap.schedule([] { throw std::runtime_error("bad"); });
  const auto rest = asap.schedule(says("rest"));
  EXPECT_THROW(loop.poll(), std::runtime_error);
  EXPECT_TRUE(bad.is_unsubscribed());
  EXPECT_TRUE(rest.is_unsubscribed());
  EXPECT_FALSE(next.is_unsubscribed());
  loop.poll();
  EXPECT_EQ(log, "next");
}

TEST_F(actions, asap_a_delayed_one_does_not_take_over_a_batch) {
  rx::asap_scheduler asap{loop};
  asap.schedule(5ms, says("delayed "));
  time.advance(5ms);
  loop.execute([&] { asap.schedule(says("batch ")); });
  loop.poll();
  EXPECT_EQ(log, "delayed batch ");
}

TEST_F(actions, asap_an_action_that_is_scheduled_again_has_one_place) {
  rx::asap_scheduler asap{loop};
  const auto a = asap.schedule(0ms, [&](int n) { log += std::to_string(n); }, 1);
  a.schedule(0ms, 2);
  loop.poll();
  EXPECT_EQ(log, "2");
  a.schedule(0ms, 3);
  a.schedule(5ms, 4);  // moves it from a batch to a timer
  loop.poll();
  EXPECT_EQ(log, "2");
  pass(5ms);
  EXPECT_EQ(log, "24");
}

TEST_F(actions, frames_run_with_the_grid_or_when_the_render_loop_says_so) {
  rx::animation_frame_scheduler frames{loop};
  const auto a = frames.schedule([&](auto& self) {
    log += std::to_string(time.now().time_since_epoch() / 1ms) + " ";
    self.schedule(0ms);
  });
  pass(25ms);
  EXPECT_EQ(log, "10 20 ");
  EXPECT_TRUE(loop.wants_frame());
  loop.run_frame();
  EXPECT_EQ(log, "10 20 25 ");
  a.unsubscribe();
}

TEST_F(actions, a_batch_leaves_out_what_another_thread_has_closed) {
  rx::asap_scheduler asap{loop};
  loop.poll();
  asap.schedule([&] {
    log += 'a';
    std::thread other([b = asap.schedule(0ms, says("later"))] { b.unsubscribe(); });
    other.join();
  });
  const auto b = asap.schedule(says("b"));
  std::thread other([&] { b.unsubscribe(); });
  other.join();
  loop.poll();
  EXPECT_EQ(log, "a");
}

}  // namespace

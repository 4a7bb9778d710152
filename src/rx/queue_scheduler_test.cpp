#include <takt/rx/queue_scheduler.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "../../tests/support/actions_on_loop.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;
using takt_test::actions;

TEST_F(actions, queue_orders_as_documented) {
  rx::queue_scheduler queue{loop};
  const auto a = [&] {
    log += 'a';
    queue.schedule([&] {
      log += 'c';
      queue.schedule(says("e"));
    });
    queue.schedule(says("d"));
  };
  a();
  log.clear();
  queue.schedule([&] {
    queue.schedule(a);
    queue.schedule(says("b"));
  });
  EXPECT_EQ(log, "abcde");
  log.clear();
  queue.schedule(a);
  queue.schedule(says("b"));
  EXPECT_EQ(log, "acdeb");
}

TEST_F(actions, queue_scheduled_twice_runs_twice_with_the_later_state) {
  rx::queue_scheduler queue{loop};
  queue.schedule(
      0ms,
      [&](auto& self, int n) {
        log += std::to_string(n);
        if (n != 0) return;
        self.schedule(0ms, 1);
        self.schedule(0ms, 2);
      },
      0);
  EXPECT_EQ(log, "022");
}

TEST_F(actions, queue_unsubscribe_takes_all_places) {
  rx::queue_scheduler queue{loop};
  queue.schedule([&] {
    const auto a = queue.schedule(says("a"));
    a.schedule(0ms);
    a.schedule(0ms);
    queue.schedule(says("b"));
    a.unsubscribe();
  });
  EXPECT_EQ(log, "b");
}

TEST_F(actions, queue_without_a_delay_takes_back_a_timer) {
  rx::queue_scheduler queue{loop};
  const auto a = queue.schedule(10ms, says("a"));
  a.schedule(0ms);
  EXPECT_EQ(log, "a");
  pass(50ms);
  EXPECT_EQ(log, "a");
}

TEST_F(actions, queue_drains_a_million_without_a_stack) {
  rx::queue_scheduler queue{loop};
  int runs = 0;
  queue.schedule([&](auto& self) {
    if (++runs < 1'000'000) self.schedule(0ms);
  });
  EXPECT_EQ(runs, 1'000'000);
}

TEST_F(actions, queue_is_usable_from_what_is_closed_by_an_error) {
  rx::queue_scheduler queue{loop};
  EXPECT_THROW(queue.schedule([&] {
    queue.schedule(says("never")).add([&] { queue.schedule(says("tidied")); });
    throw std::runtime_error("bad");
  }),
               std::runtime_error);
  EXPECT_EQ(log, "tidied");
}

}  // namespace

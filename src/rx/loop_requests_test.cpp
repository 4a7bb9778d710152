#include <takt/rx/loop_requests.hpp>

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include <takt/task/errors.hpp>

#include "../../tests/support/actions_on_loop.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;
using takt_test::actions;

TEST_F(actions, requests_are_gone_with_their_owner) {
  {
    rx::loop_requests immediate{loop.microtasks()};
    immediate.set(says("x"));
  }
  loop.poll();
  EXPECT_EQ(log, "");
}

TEST_F(actions, requests_are_not_empty) {
  rx::loop_requests immediate{loop.microtasks()};
  EXPECT_THROW(immediate.set(nullptr), std::invalid_argument);
  EXPECT_EQ(immediate.pending(), 0u);
}

TEST_F(actions, requests_errors_leave_the_loop) {
  rx::loop_requests immediate{loop.microtasks()};
  immediate.set([] { throw std::runtime_error("bad"); });
  EXPECT_THROW(loop.poll(), std::runtime_error);
  EXPECT_EQ(immediate.pending(), 0U);
  loop.shutdown();
  EXPECT_THROW(immediate.set([] {}), rejected);
  EXPECT_EQ(immediate.pending(), 0U);
}

TEST_F(actions, requests_are_forgotten_when_they_begin) {
  rx::loop_requests immediate{loop.microtasks()};
  rx::loop_requests::handle mine;
  mine = immediate.set([&] {
    EXPECT_EQ(immediate.pending(), 0U);
    EXPECT_FALSE(immediate.clear(mine));
    log += 'x';
  });
  EXPECT_EQ(immediate.pending(), 1U);
  loop.poll();
  EXPECT_EQ(log, "x");
}

TEST_F(actions, requests_that_are_cleared_are_destroyed_and_their_handles_name_no_other) {
  rx::loop_requests immediate{loop.microtasks()};
  const auto held = std::make_shared<int>(0);
  const auto first = immediate.set([held] {});
  EXPECT_TRUE(immediate.clear(first));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(immediate.clear(first));
  immediate.set(says("second"));  // reuses the slot of the first
  EXPECT_FALSE(immediate.clear(first));
  loop.poll();
  EXPECT_EQ(log, "second");
}

}  // namespace

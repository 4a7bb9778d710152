#include <takt/base/detail/deferred_continuations.hpp>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>

namespace {

using takt::detail::deferred_continuations;

// State shared with the deferred functions of this thread.
struct scene {
  scene();
  ~scene();
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;
  int calls = 0;
  bool ready = false;
  takt::detail::mutex mu;
  takt::detail::condition changed;
};
scene*& here() { return takt::sync::tls<scene*>::get(); }
scene::scene() { here() = this; }
scene::~scene() { here() = nullptr; }

void count_up() noexcept { ++here()->calls; }

TEST(deferred_continuations, are_made_once) {
  scene s;
  EXPECT_FALSE(deferred_continuations::any());
  EXPECT_FALSE(deferred_continuations::run());
  deferred_continuations::add(&count_up);
  EXPECT_TRUE(deferred_continuations::any());
  EXPECT_TRUE(deferred_continuations::run());
  EXPECT_FALSE(deferred_continuations::any());
  EXPECT_FALSE(deferred_continuations::run());
  EXPECT_EQ(s.calls, 1);
}

TEST(deferred_continuations, are_of_one_thread) {
  const scene s;
  deferred_continuations::add(&count_up);
  takt::sync::thread([] { EXPECT_FALSE(deferred_continuations::any()); }).join();
  EXPECT_TRUE(deferred_continuations::run());
}

// The first continuation blocks on the second.
TEST(deferred_continuations, may_wait_for_those_that_follow) {
  scene s;
  deferred_continuations::add([]() noexcept {
    if (here()->calls++ == 0) deferred_continuations::run();
  });
  EXPECT_TRUE(deferred_continuations::run());
  EXPECT_EQ(s.calls, 2);
  EXPECT_FALSE(deferred_continuations::any());
}

TEST(deferred_continuations, are_made_before_a_condition_waits_and_without_its_lock) {
  scene s;
  deferred_continuations::add([]() noexcept {
    const takt::detail::mutex_lock lock(here()->mu);
    here()->ready = true;
  });
  takt::detail::mutex_lock lock(s.mu);
  while (!s.ready) s.changed.wait(lock);
  EXPECT_FALSE(deferred_continuations::any());
}

}  // namespace

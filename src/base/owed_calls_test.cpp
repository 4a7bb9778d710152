#include <takt/base/owed_calls.hpp>

#include <gtest/gtest.h>

#include <takt/base/mutex.hpp>
#include <takt/base/sync.hpp>

namespace {

using takt::owed_calls;

// What the calls of this thread know.
struct scene {
  scene();
  ~scene();
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;
  int calls = 0;
  bool ready = false;
  takt::mutex mu;
  takt::condition changed;
};
scene*& here() { return takt::sync::tls<scene*>::get(); }
scene::scene() { here() = this; }
scene::~scene() { here() = nullptr; }

void count_up() noexcept { ++here()->calls; }

TEST(owed_calls, are_made_once) {
  scene s;
  EXPECT_FALSE(owed_calls::any());
  EXPECT_FALSE(owed_calls::make());
  owed_calls::add(&count_up);
  EXPECT_TRUE(owed_calls::any());
  EXPECT_TRUE(owed_calls::make());
  EXPECT_FALSE(owed_calls::any());
  EXPECT_FALSE(owed_calls::make());
  EXPECT_EQ(s.calls, 1);
}

TEST(owed_calls, are_of_one_thread) {
  const scene s;
  owed_calls::add(&count_up);
  takt::sync::thread([] { EXPECT_FALSE(owed_calls::any()); }).join();
  EXPECT_TRUE(owed_calls::make());
}

// The first waits, for what the second does.
TEST(owed_calls, may_wait_for_those_that_follow) {
  scene s;
  owed_calls::add([]() noexcept {
    if (here()->calls++ == 0) owed_calls::make();
  });
  EXPECT_TRUE(owed_calls::make());
  EXPECT_EQ(s.calls, 2);
  EXPECT_FALSE(owed_calls::any());
}

TEST(owed_calls, are_made_before_a_condition_waits_and_without_its_lock) {
  scene s;
  owed_calls::add([]() noexcept {
    const takt::mutex_lock lock(here()->mu);
    here()->ready = true;
  });
  takt::mutex_lock lock(s.mu);
  while (!s.ready) s.changed.wait(lock);
  EXPECT_FALSE(owed_calls::any());
}

}  // namespace

// A thread that waits while it owes something to others.
#pragma once

#include <gtest/gtest.h>

#include <takt/task/future.hpp>

namespace takt_test {

// Calls `wait` within a continuation that has made a future ready: `owed`, which continues that
// one, is put off, and is what `wait` waits for.
template <class Owed, class Wait>
void owe_and_wait(Owed owed, Wait wait) {
  takt::promise<void> first;
  takt::promise<void> second;
  bool was_owed = false;
  bool called = false;
  auto continued = second.get_future().then([&] {
    called = true;
    owed();
  });
  auto waited = first.get_future().then([&] {
    second.set_value();
    was_owed = !called;
    wait();
  });
  first.set_value();
  waited.get();
  continued.get();
  EXPECT_TRUE(was_owed);
}

}  // namespace takt_test

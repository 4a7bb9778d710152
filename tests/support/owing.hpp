// A thread that waits while it has deferred a continuation.
#pragma once

#include <gtest/gtest.h>

#include <takt/task/future.hpp>

#include "nesting.hpp"

namespace takt_test {

// Calls `wait` while the thread has deferred the continuation `owed`, which `wait` waits for.
template <class Owed, class Wait>
void owe_and_wait(Owed owed, Wait wait) {
  takt::promise<void> p;
  bool was_owed = false;
  bool called = false;
  auto continued = p.get_future().then([&] {
    called = true;
    owed();
  });
  fully_nested([&] {
    p.set_value();
    was_owed = !called;
    wait();
  });
  continued.get();
  EXPECT_TRUE(was_owed);
}

}  // namespace takt_test

/// Shared by tests of action schedulers: a loop in virtual time, and a log.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt_test {

struct actions : testing::Test {
  // Runs everything that is due, deadline by deadline.
  void pass(std::chrono::milliseconds t) {
    const takt::clock::time_point end = time.now() + t;
    for (;;) {
      loop.poll();
      const takt::clock::time_point next = loop.next_deadline();
      if (next > end) break;
      if (next > time.now()) time.advance_to(next);
    }
    time.advance_to(end);
  }
  auto says(std::string word) {
    return [this, word = std::move(word)] { log += word; };
  }
  [[nodiscard]] std::chrono::milliseconds now() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.now().time_since_epoch());
  }

  takt::manual_clock time;
  takt::event_loop loop{{.frame = std::chrono::milliseconds(10), .time = &time}};
  std::string log;
};

}  // namespace takt_test

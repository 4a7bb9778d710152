/// A loop in virtual time, for the suites of RxJS.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/rx/action_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

/// What suites of schedulers on a loop begin with.
struct loop_suite : testing::Test {
  /// Runs what comes due within that time, moment by moment.
  void pass(std::chrono::milliseconds t) {
    const takt::clock::time_point end = time.now() + t;
    for (;;) {
      loop.poll();
      const takt::clock::time_point next = loop.next_deadline();
      if (next > end) break;
      time.advance_to(std::max(next, time.now()));
    }
    time.advance_to(end);
  }
  /// Work that leaves a word.
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

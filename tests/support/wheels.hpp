// Shared by tests of wheel_scheduler: manual time, and a log.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "pools.hpp"

namespace takt_test {

using log = std::vector<std::string>;

// A manual clock that counts how often it is read and waited on.
class counting_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override {
    ++looks;
    return time.now();
  }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    ++parks_;
    time.park_until(p, deadline);
  }
  [[nodiscard]] std::size_t parks() const { return parks_.load(); }

  takt::manual_clock time;
  static inline thread_local std::size_t looks = 0;  // reads by this thread

 private:
  mutable std::atomic<std::size_t> parks_{0};
};

// A wheel on a manual clock, and the log of its tasks. Inline tasks run on the timer thread; read
// the log after settle().
struct wheel_bench {
  explicit wheel_bench(takt::wheel_scheduler::options_type how = {},
                       takt::clock::time_point from = takt::clock::time_point())
      : time(from), wheel(with(std::move(how))) {}

  auto say(std::string what) {
    return [this, what = std::move(what)] { said.push_back(what); };
  }
  // Waits until the timer thread has processed all due timers and sleeps.
  void settle() const { time.wait_for_waiters(1); }
  template <class Duration>
  void pass(Duration d) {
    settle();
    time.advance(d);
    settle();
  }
  // Time since the construction.
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return time.now() - start; }

  takt::manual_clock time;
  const takt::clock::time_point start = time.now();
  recording_hook unhandled;
  log said;
  takt::inline_executor here;
  takt::wheel_scheduler wheel;  // last: it uses the other members

 private:
  takt::wheel_scheduler::options_type with(takt::wheel_scheduler::options_type how) {
    how.time = &time;
    how.unhandled = &unhandled;
    return how;
  }
};

// A wheel, and the start times of a periodic task's runs, in ms.
struct series_bench : wheel_bench {
  using wheel_bench::wheel_bench;

  void note() { at.push_back(elapsed() / std::chrono::milliseconds(1)); }
  auto noting() {
    return [this] { note(); };
  }
  // The first run takes this long.
  auto noting_slowly(std::chrono::milliseconds first) {
    return [this, first] {
      note();
      if (at.size() == 1) time.advance(first);
    };
  }

  std::vector<std::int64_t> at;
};

// Each task has had one outcome.
inline void expect_balance(const takt::wheel_scheduler& wheel) {
  const takt::task_totals t = wheel.totals();
  EXPECT_EQ(t.submitted, t.rejected + t.finished + t.cancelled + t.returned);
  EXPECT_EQ(t.pending(), 0u);
  EXPECT_EQ(t.running(), 0u);
}

// Returns the message of the error that `call` throws.
template <class Error, class Call>
std::string complaint(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace takt_test

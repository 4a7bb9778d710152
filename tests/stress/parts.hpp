// The parts of a randomised lifecycle: random numbers, counted closures, and their account.
#pragma once

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/observe/task_statistics.hpp>

namespace takt_test {

using number = takt::sync::atomic<std::uint64_t>;

// Counts the tasks of an executor, to be compared with its ledger.
struct account {
  number calls{0};              // of execute(), including other callers
  number bodies{0};             // that have run
  number outside{0};            // run after the executor had returned or dropped them
  number outside_cancelled{0};  // and cancelled before or during that run

  void check(const takt::task_totals& t) const {
    EXPECT_EQ(t.submitted, calls.load());
    EXPECT_EQ(t.submitted, t.rejected + t.finished + t.cancelled + t.returned);
    EXPECT_EQ(t.pending(), 0u);
    EXPECT_EQ(t.running(), 0u);
    EXPECT_LE(t.finished + outside.load(), bodies.load());
    EXPECT_LE(bodies.load(), t.finished + t.ran + outside.load() + outside_cancelled.load());
  }
};

// The history of one closure.
struct record {
  explicit record(account& to) : of(&to) {}
  account* const of;  // lives as long as the closure
  takt::sync::atomic<int> runs{0};
  takt::sync::atomic<int> alive{0};
};

// A member of a closure: counts its copies.
class token {
 public:
  explicit token(record& r) : record_(&r) { ++record_->alive; }
  token(token&& other) noexcept : record_(other.record_) { ++record_->alive; }
  token& operator=(token&&) = delete;
  ~token() { --record_->alive; }
  void run() const {
    ++record_->runs;
    ++record_->of->bodies;
  }

 private:
  record* record_;
};

// A random number generator (splitmix64), small enough for closures.
class dice {
 public:
  explicit dice(std::uint64_t seed) : at_(seed) {}
  std::uint64_t roll() {
    std::uint64_t z = at_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::size_t pick(std::size_t n) { return roll() % n; }
  bool chance(std::size_t n) { return pick(n) == 0; }
  dice another() { return dice(roll()); }

 private:
  std::uint64_t at_;
};

// Decides what a body does.
struct plan {
  dice random;
  int depth;      // maximum nesting of tasks that submit tasks
  bool may_wait;  // for futures; false for tasks that a fork_join waits for, whose deadlock would
                  // not be detected
  [[nodiscard]] plan next() { return {random.another(), depth - 1, may_wait}; }
};

}  // namespace takt_test

#include <takt/observe/counter.hpp>

#include <cstdint>
#include <latch>
#include <limits>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace {

using takt::counter;

static_assert(!std::is_copy_constructible_v<counter>);
static_assert(alignof(counter) == sizeof(counter), "no two counters share a cache line");

TEST(counter, begins_at_nothing) {
  const counter c;
  EXPECT_EQ(c.value(), 0U);
}

TEST(counter, adds_one_or_many) {
  counter c;
  c.add();
  c.add();
  EXPECT_EQ(c.value(), 2U);
  c.add(0);
  EXPECT_EQ(c.value(), 2U);
  c.add(1'000'000'000'000);
  EXPECT_EQ(c.value(), 1'000'000'000'002U);
}

TEST(counter, wraps_around) {
  counter c;
  c.add(std::numeric_limits<std::uint64_t>::max());
  c.add(3);
  EXPECT_EQ(c.value(), 2U);
}

TEST(counter, loses_nothing_between_threads) {
  constexpr int threads = 4;
  constexpr int each = 200'000;
  counter c;
  std::latch together(threads);
  std::latch done(threads);
  std::vector<std::jthread> adding;
  for (int t = 0; t < threads; ++t) {
    adding.emplace_back([&c, &together, &done] {
      together.arrive_and_wait();
      for (int i = 0; i < each; ++i) c.add();
      done.count_down();
    });
  }
  std::uint64_t before = 0;
  while (!done.try_wait()) {
    const std::uint64_t now = c.value();
    ASSERT_GE(now, before) << "it never decreases";
    before = now;
    std::this_thread::yield();
  }
  adding.clear();
  EXPECT_EQ(c.value(), static_cast<std::uint64_t>(threads) * each);
}

}  // namespace

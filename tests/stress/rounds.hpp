// Runs rounds until the time is over.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>

#include "../support/pools.hpp"

namespace takt_test {

// Limits for each kind of pool.
inline constexpr int most_rounds = 2000;
inline constexpr std::chrono::seconds most_time{3};
// A round takes milliseconds: a round that takes this long hangs.
inline constexpr std::chrono::seconds too_long{30};

// Ends the program and prints the seed if a round hangs.
class watchdog {
 public:
  ~watchdog() {
    over_.open();
    thread_.join();
  }
  void begin(std::uint64_t seed) { seed_ = seed; }

 private:
  void watch() {
    std::uint64_t before = seed_;
    while (!over_.wait_for(too_long)) {
      const std::uint64_t now = seed_;
      if (now == before) {
        std::printf("TAKT_STRESS_SEED=%llu hangs\n", static_cast<unsigned long long>(now));
        std::fflush(stdout);
        std::abort();
      }
      before = now;
    }
  }

  takt::sync::atomic<std::uint64_t> seed_{0};
  gate over_;
  takt::sync::thread thread_{[this] { watch(); }};
};

// Runs many objects, one after the other, each from its own seed.
template <class Round>
void live() {
  const char* const given = std::getenv("TAKT_STRESS_SEED");
  const std::uint64_t first = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::printf("TAKT_STRESS_SEED=%llu\n", static_cast<unsigned long long>(first));
  std::fflush(stdout);
  watchdog dog;
  const auto begin = takt::steady.now();
  int rounds = 0;
  while (rounds < most_rounds && takt::steady.now() - begin < most_time) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(rounds++);
    SCOPED_TRACE("TAKT_STRESS_SEED=" + std::to_string(seed));
    dog.begin(seed);
    const auto one = std::make_unique<Round>(seed);
    one->run();
    one->check();
    if (testing::Test::HasFailure()) break;
  }
  std::printf("%d rounds\n", rounds);
}

}  // namespace takt_test

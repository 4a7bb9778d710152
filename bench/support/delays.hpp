/// \file
/// Delays of timers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace bench {

/// The same delays for every competitor; by default from 10 to 110 s, so that no timer fires.
inline std::vector<std::chrono::nanoseconds> random_delays(
    std::size_t count, std::chrono::nanoseconds least = std::chrono::seconds(10),
    std::chrono::nanoseconds most = std::chrono::seconds(110)) {
  std::mt19937_64 random{7};
  std::uniform_int_distribution<std::int64_t> nanoseconds{least.count(), most.count()};
  std::vector<std::chrono::nanoseconds> delays(count);
  std::ranges::generate(delays, [&] { return std::chrono::nanoseconds(nanoseconds(random)); });
  return delays;
}

}  // namespace bench

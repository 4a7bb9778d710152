/// \file
/// One-shots that are scheduled and then all cancelled, which is what time-outs do.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "harness.hpp"
#include "support/stopwatch.hpp"

namespace bench {

numbers churn_naive_timer(const request& asked);
numbers churn_asio(const request& asked);

/// Delays from 10 to 110 s, so that nothing fires; the same ones for every competitor.
inline std::vector<std::chrono::nanoseconds> churn_delays(std::size_t count) {
  std::mt19937_64 random{7};
  std::uniform_int_distribution<std::int64_t> nanoseconds{10'000'000'000, 110'000'000'000};
  std::vector<std::chrono::nanoseconds> delays(count);
  std::ranges::generate(delays, [&] { return std::chrono::nanoseconds(nanoseconds(random)); });
  return delays;
}

/// Timers is made for a number of them and has schedule(index, delay), cancel(index) and settle(),
/// which is not timed: it waits for what cancel() left to other threads, and makes the indices
/// usable again. The callback captures two words, as a time-out refers to what it times out.
template <class Timers>
numbers churn_with(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked["pending"]);
  const std::size_t repetitions = std::max<std::size_t>(1, 100'000 / pending);
  const auto delays = churn_delays(pending);
  Timers timers(pending);
  double scheduling = 0;
  double cancelling = 0;
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    const stopwatch schedule_watch;
    for (std::size_t i = 0; i < pending; ++i) timers.schedule(i, delays[i]);
    scheduling += schedule_watch.nanoseconds();

    const stopwatch cancel_watch;
    for (std::size_t i = 0; i < pending; ++i) timers.cancel(i);
    cancelling += cancel_watch.nanoseconds();
    timers.settle();
  }
  const auto operations = static_cast<double>(pending * repetitions);
  return {scheduling / operations, cancelling / operations};
}

}  // namespace bench

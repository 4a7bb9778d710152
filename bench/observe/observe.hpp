/// \file
/// Durations recorded by several threads concurrently.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "support/producers.hpp"

namespace bench {

numbers observe_mutex(const request& asked);
numbers observe_bare_atomic(const request& asked);
numbers observe_takt_histogram(const request& asked);
numbers observe_takt_statistics(const request& asked);

/// Measures from the release of the threads until the last one is done, as the time of one thread
/// per record: it stays constant with more threads if they do not disturb each other. All threads
/// record into one Recorder, which has record(nanoseconds) and count(). The durations spread over a
/// few powers of ten, as waiting times do, and are generated in advance.
template <class Recorder>
numbers observe_recording(const request& asked) {
  constexpr std::size_t kinds = 4096;
  std::mt19937_64 random(1);
  std::lognormal_distribution<> waiting(11, 1.5);
  std::vector<std::chrono::nanoseconds> durations;
  for (std::size_t i = 0; i < kinds; ++i) {
    durations.emplace_back(static_cast<std::int64_t>(waiting(random)));
  }

  const std::int64_t threads = asked["threads"];
  const std::int64_t total = asked.amount(4'000'000);
  Recorder recorder;
  producers recording(threads, total, [&](std::int64_t thread, std::int64_t share) {
    // Each thread starts at another position; otherwise they would share one bucket in turn.
    const auto first = static_cast<std::size_t>(thread) * (kinds / 2);
    for (std::int64_t i = 0; i < share; ++i) {
      recorder.record(durations[(first + static_cast<std::size_t>(i)) % kinds]);
    }
  });
  const stopwatch watch = recording.start();
  recording.join();
  const double result = watch.nanoseconds_per(total) * static_cast<double>(threads);
  if (recorder.count() != static_cast<std::uint64_t>(total)) {
    throw std::logic_error("records were lost");
  }
  return {result};
}

}  // namespace bench

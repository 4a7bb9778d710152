/// \file
/// One task into an idle pool of 2 workers.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "statistics.hpp"
#include "support/stopwatch.hpp"

namespace bench {

numbers wake_naive_pool(const request& asked);
numbers wake_asio(const request& asked);

/// From just before post() until the task runs. The posting thread sleeps in between, so that it
/// takes no core from the workers, and long enough for them to be asleep again.
template <class Pool>
numbers wake_in(const request& asked) {
  const std::int64_t tasks = asked.amount(2'000);
  std::vector<double> microseconds(static_cast<std::size_t>(tasks));
  Pool pool(2);
  for (double& elapsed : microseconds) {
    std::atomic<bool> ran = false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    const stopwatch watch;
    pool.post([&] {
      elapsed = watch.nanoseconds() / 1000;
      ran.store(true, std::memory_order_release);  // publishes elapsed
    });
    while (!ran.load(std::memory_order_acquire)) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  pool.join();
  return {quantile(microseconds, 0.5), quantile(microseconds, 0.99)};
}

}  // namespace bench

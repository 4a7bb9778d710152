/// \file
/// Counts tasks that have run, on any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace bench {

/// Threads count in cache lines of their own, so that counting costs a few nanoseconds and causes
/// no contention. java.util.concurrent's LongAdder, which the Java peers use, does the same.
class tally {
 public:
  void add() noexcept {
    // Threads that share a line lose no counts: the addition is atomic. release: a thread that has
    // seen the whole count may free data that tasks used.
    lines_[line_of_thread()].count.fetch_add(1, std::memory_order_release);
  }

  [[nodiscard]] std::int64_t total() const noexcept {
    std::int64_t sum = 0;
    for (const line& each : lines_) sum += each.count.load(std::memory_order_acquire);
    return sum;
  }

  /// For competitors without another way to wait. Polls rarely, to take no core from the tasks.
  void wait_for(std::int64_t count) const {
    while (total() != count) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

 private:
  struct alignas(64) line {
    std::atomic<std::int64_t> count = 0;
  };

  static std::size_t line_of_thread() noexcept {
    static std::atomic<std::size_t> threads = 0;
    thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % 16;
    return mine;
  }

  std::array<line, 16> lines_{};
};

}  // namespace bench

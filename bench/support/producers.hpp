/// \file
/// Threads that produce concurrently.
#pragma once

#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "stopwatch.hpp"

namespace bench {

/// Threads that wait for start() and then each call produce(producer, share); the shares add up to
/// `total`. The destructor joins them.
class producers {
 public:
  template <class Produce>
  producers(std::int64_t count, std::int64_t total, Produce produce) : ready_(count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t share = total * (i + 1) / count - total * i / count;
      threads_.emplace_back([this, i, share, produce] {
        ready_.count_down();
        go_.wait();
        produce(i, share);
      });
    }
  }

  /// Releases the threads when all of them are waiting. The stopwatch starts before the first
  /// thread does: this thread may not run again until they are done.
  stopwatch start() {
    ready_.wait();
    const stopwatch watch;
    go_.count_down();
    return watch;
  }

  void join() { threads_.clear(); }

 private:
  std::latch ready_;
  std::latch go_{1};
  std::vector<std::jthread> threads_;
};

}  // namespace bench

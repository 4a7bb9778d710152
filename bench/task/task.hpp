/// \file
/// A task and its future: the cost of submit() without the executor.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "harness.hpp"
#include "support/stopwatch.hpp"

namespace bench {

numbers task_std_packaged_task(const request& asked);
numbers task_takt(const request& asked);

/// Makes the task from a closure, runs it, and gets its result, on one thread: get() never waits.
/// `make(f)` returns the task.
template <class Make>
numbers task_life(const request& asked, Make make) {
  const std::int64_t count = asked.amount(2'000'000);
  std::int64_t sum = 0;
  const stopwatch watch;
  for (std::int64_t i = 0; i < count; ++i) {
    auto task = make([i] { return i; });
    auto result = task.get_future();
    task();
    sum += result.get();
  }
  const double life = watch.nanoseconds_per(count);
  if (sum != count * (count - 1) / 2) throw std::logic_error("a result was lost");
  return {life};
}

}  // namespace bench

/// \file
/// Pools of 2 workers in five workloads, and what each workload measures.
///
/// A competitor's class has a constructor that takes the number of workers, and as many of these
/// members as its workloads need:
///   post(task)      from any thread
///   join()          returns when all posted tasks have run; nothing is posted afterwards
///   shutdown_now()  starts no pending task; returns them, with size(), if the pool can
///   strand          a type constructed from the pool, with post(task): sequential, in order
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "statistics.hpp"
#include "support/producers.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"

namespace bench {

/// The competitors of one pool, or family of pools, for each workload.
struct pool_competitors {
  std::vector<competitor> submit{};
  std::vector<competitor> spawn{};
  std::vector<competitor> wake{};
  std::vector<competitor> serial{};
  std::vector<competitor> stop{};
};

pool_competitors naive_pools();
pool_competitors takt_pools();
pool_competitors asio_pools();
pool_competitors tbb_pools();
pool_competitors java_pools();

inline constexpr std::int64_t many_tasks = 1'000'000;  ///< submit, serial, stop
inline constexpr std::int64_t wake_tasks = 2'000;
inline constexpr std::int64_t spawn_depth = 18;

inline void require_count(std::int64_t found, std::int64_t expected) {
  if (found != expected) {
    throw std::logic_error(std::to_string(found) + " tasks were counted instead of " +
                           std::to_string(expected));
  }
}

/// submit: from the release of the producers until the last task has run.
template <class Pool>
numbers submit_into(const request& asked) {
  const std::int64_t tasks = asked.amount(many_tasks);
  tally ran;
  Pool pool(2);
  producers posting(asked["producers"], tasks, [&](std::int64_t, std::int64_t share) {
    for (std::int64_t i = 0; i < share; ++i) pool.post([&ran] { ran.add(); });
  });
  const stopwatch watch = posting.start();
  posting.join();
  if constexpr (requires { pool.join(); }) {
    pool.join();
  } else {
    ran.wait_for(tasks);
  }
  const double each = watch.nanoseconds_per(tasks);
  require_count(ran.total(), tasks);
  return {each};
}

/// In a quick run, which does a tenth of the work, the tree has fewer levels.
inline std::int64_t depth_of(const request& asked) {
  return spawn_depth - (asked.amount(many_tasks) == many_tasks ? 0 : 3);
}

/// spawn, for pools that cannot join tasks: each task makes two more, down to the depth. Measured
/// until the last task has run.
template <class Pool>
numbers spawn_in(const request& asked) {
  struct node {
    Pool& pool;
    tally& ran;
    std::int64_t depth;

    void operator()() const {
      if (depth > 0) {
        pool.post(node{pool, ran, depth - 1});
        pool.post(node{pool, ran, depth - 1});
      }
      ran.add();
    }
  };
  const std::int64_t depth = depth_of(asked);
  const std::int64_t tasks = (std::int64_t{2} << depth) - 1;
  tally ran;
  Pool pool(2);
  const stopwatch watch;
  pool.post(node{pool, ran, depth});
  ran.wait_for(tasks);
  return {watch.nanoseconds_per(tasks)};
}

/// spawn, for pools that can: `count(depth)` counts the leaves of a tree; the left half is a task
/// of the pool, the right half runs on the caller. \return the time per spawned task.
template <class Count>
numbers spawn_and_join(const request& asked, Count count) {
  const std::int64_t depth = depth_of(asked);
  const std::int64_t leaves = std::int64_t{1} << depth;
  const stopwatch watch;
  require_count(count(depth), leaves);
  return {watch.nanoseconds_per(leaves)};
}

/// wake: from just before post() until the task runs. Between two tasks the posting thread sleeps,
/// so that it takes no core from the workers, until the workers are asleep again.
template <class Pool>
numbers wake_in(const request& asked) {
  std::vector<double> microseconds(static_cast<std::size_t>(asked.amount(wake_tasks)));
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
  return {quantile(microseconds, 0.5), quantile(microseconds, 0.99)};
}

/// serial: as submit, through one strand. The count is a plain integer: it is correct only if no
/// two tasks run at once.
template <class Pool>
numbers serial_over(const request& asked) {
  const std::int64_t tasks = asked.amount(many_tasks);
  std::int64_t ran = 0;
  std::latch done{1};
  Pool pool(2);
  typename Pool::strand strand(pool);
  producers posting(asked["producers"], tasks, [&](std::int64_t, std::int64_t share) {
    for (std::int64_t i = 0; i < share; ++i) strand.post([&ran] { ++ran; });
  });
  const stopwatch watch = posting.start();
  posting.join();
  strand.post([&done] { done.count_down(); });  // runs after all of them
  done.wait();
  const double each = watch.nanoseconds_per(tasks);
  pool.join();
  require_count(ran, tasks);
  return {each};
}

/// stop: both workers are busy and the tasks are pending. First figure: until shutdown_now() has
/// returned. Second: until the workers are joined and the tasks destroyed as well.
template <class Pool>
numbers stop_with_pending(const request& asked) {
  const std::int64_t tasks = asked.amount(many_tasks);
  tally ran;
  std::latch busy{2};
  std::latch release{1};
  std::optional<Pool> pool(2);
  for (int worker = 0; worker < 2; ++worker) {
    pool->post([&] {
      busy.count_down();
      release.wait();
    });
  }
  busy.wait();
  for (std::int64_t i = 0; i < tasks; ++i) pool->post([&ran] { ran.add(); });

  double returned = 0;
  const stopwatch watch;
  {
    const auto pending = pool->shutdown_now();
    returned = watch.nanoseconds() / 1e6;
    if constexpr (requires { pending.size(); }) {
      require_count(static_cast<std::int64_t>(pending.size()), tasks);
    }
    release.count_down();
    pool.reset();
  }
  const double gone = watch.nanoseconds() / 1e6;
  require_count(ran.total(), 0);
  return {returned, gone};
}

}  // namespace bench

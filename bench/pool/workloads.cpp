#include "workloads.hpp"

#include "pool.hpp"

namespace bench {
namespace {

// Of each pool what it enters for one workload; the naive one first, as the reference.
std::vector<competitor> all(std::vector<competitor> pool_competitors::* entered) {
  std::vector<competitor> found;
  for (const pool_competitors& family : {naive_pools(), asio_pools(), tbb_pools(), java_pools()}) {
    const auto& entries = family.*entered;
    found.insert(found.end(), entries.begin(), entries.end());
  }
  return found;
}

}  // namespace

workload submit_workload() {
  return {.id = "submit",
          .title = "1 M tasks from outside threads into a pool of 2 workers",
          .metrics = {{"task", "ns/task"}},
          .parameters = {{"producers", {1, 2, 4}}},
          .competitors = all(&pool_competitors::submit)};
}

workload wake_workload() {
  return {.id = "wake",
          .title = "One task into an idle pool of 2 workers, until it runs",
          .metrics = {{"p50", "us"}, {"p99", "us"}},
          .competitors = all(&pool_competitors::wake)};
}

workload serial_workload() {
  return {.id = "serial",
          .title = "1 M tasks through one strand over a pool of 2 workers",
          .metrics = {{"task", "ns/task"}},
          .parameters = {{"producers", {1, 4}}},
          .competitors = all(&pool_competitors::serial)};
}

workload stop_workload() {
  return {.id = "stop",
          .title = "shutdown_now of a busy pool with 1 M tasks pending",
          .metrics = {{"returned", "ms"}, {"gone", "ms"}},
          .competitors = all(&pool_competitors::stop)};
}

}  // namespace bench

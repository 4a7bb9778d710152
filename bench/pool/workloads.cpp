#include "workloads.hpp"

#include "pool.hpp"

namespace bench {
namespace {

// Collects the competitors of each pool for one workload; the naive one is first, as the reference.
std::vector<competitor> all(std::vector<competitor> pool_competitors::* entered) {
  std::vector<competitor> found;
  for (const pool_competitors& family :
       {naive_pools(), takt_pools(), asio_pools(), tbb_pools(), java_pools()}) {
    const auto& entries = family.*entered;
    found.insert(found.end(), entries.begin(), entries.end());
  }
  return found;
}

constexpr const char* takt_pool = "takt::thread_pool";
constexpr const char* stealing_pool = "takt::stealing_pool";

// The peers are close together, and a pool compared with itself may get 0.9.
bar wakes_like(const char* peer, const char* subject = takt_pool) {
  return {.subject = subject, .at_least = 0.9, .of = peer, .metric = "p50"};
}

}  // namespace

workload submit_workload() {
  return {.id = "submit",
          .title = "1 M tasks from outside threads into a pool of 2 workers",
          .metrics = {{"task", "ns/task"}},
          .parameters = {{"producers", {1, 2, 4}}},
          .competitors = all(&pool_competitors::submit),
          .bars = {{.subject = takt_pool, .of = "naive_pool"},
                   {.subject = takt_pool, .of = "asio::thread_pool"},
                   {.subject = "takt::thread_pool (future)", .of = "naive_pool (future)"},
                   {.subject = stealing_pool, .at_least = 2, .of = "asio::thread_pool"},
                   {.subject = stealing_pool, .at_least = 2, .of = "tbb::task_arena"},
                   {.subject = stealing_pool, .of = "java ForkJoinPool", .at_most = 60}}};
}

workload spawn_workload() {
  return {
      .id = "spawn",
      .title = "Binary recursion, 18 deep, from inside a pool of 2 workers",
      .metrics = {{"task", "ns/task"}},
      .competitors = all(&pool_competitors::spawn),
      .bars = {
          {.subject = "takt::fork_join", .at_least = 2, .of = "tbb::task_group", .at_most = 25}}};
}

workload wake_workload() {
  return {.id = "wake",
          .title = "One task into an idle pool of 2 workers, until it runs",
          .metrics = {{"p50", "us"}, {"p99", "us"}},
          .competitors = all(&pool_competitors::wake),
          .bars = {wakes_like("naive_pool"), wakes_like("asio::thread_pool"),
                   wakes_like("tbb::task_arena"), wakes_like("java ThreadPoolExecutor"),
                   wakes_like("java ForkJoinPool"), wakes_like("naive_pool", stealing_pool),
                   wakes_like("asio::thread_pool", stealing_pool),
                   wakes_like("tbb::task_arena", stealing_pool),
                   wakes_like("java ForkJoinPool", stealing_pool)}};
}

workload serial_workload() {
  return {.id = "serial",
          .title = "1 M tasks through one strand over a pool of 2 workers",
          .metrics = {{"task", "ns/task"}},
          .parameters = {{"producers", {1, 4}}},
          .competitors = all(&pool_competitors::serial),
          .bars = {{.subject = "takt::serial_executor", .of = "asio::strand"},
                   {.subject = "takt::rx::worker", .of = "RxJava worker"}}};
}

workload stop_workload() {
  return {.id = "stop",
          .title = "shutdown_now of a busy pool with 1 M tasks pending",
          .metrics = {{"returned", "ms"}, {"gone", "ms"}},
          .competitors = all(&pool_competitors::stop),
          .bars = {{.subject = takt_pool, .at_most = 100, .metric = "returned"},
                   {.subject = stealing_pool, .at_most = 100, .metric = "returned"}}};
}

}  // namespace bench

// oneTBB has neither a strand nor a way to return enqueued tasks.
#include "pool.hpp"

#if TAKT_BENCH_HAS_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstddef>
#include <utility>

namespace bench {
namespace {

// TBB's default parallelism includes the calling thread, which on two cores leaves one worker. Here
// no slot of the arena is reserved for callers, and each slot has a worker.
class tbb_pool {
 public:
  explicit tbb_pool(std::size_t workers)
      : limit_(oneapi::tbb::global_control::max_allowed_parallelism, workers + 1),
        arena_(static_cast<int>(workers), 0) {
    arena_.initialize();
  }

  template <class Task>
  void post(Task&& task) {
    arena_.enqueue(std::forward<Task>(task));
  }

 private:
  oneapi::tbb::global_control limit_;
  oneapi::tbb::task_arena arena_;
};

std::int64_t leaves(std::int64_t depth) {
  if (depth == 0) return 1;
  std::int64_t left = 0;
  oneapi::tbb::task_group children;
  children.run([&] { left = leaves(depth - 1); });
  const std::int64_t right = leaves(depth - 1);
  children.wait();
  return left + right;
}

// As documented, the calling thread and one worker: two threads.
numbers spawn_children(const request& asked) {
  oneapi::tbb::task_arena arena(2);
  arena.initialize();
  return spawn_and_join(
      asked, [&](std::int64_t depth) { return arena.execute([&] { return leaves(depth); }); });
}

}  // namespace

pool_competitors tbb_pools() {
  return {.submit = {{"tbb::task_arena", submit_into<tbb_pool>}},
          .spawn = {{"tbb::task_group", spawn_children}},
          .wake = {{"tbb::task_arena", wake_in<tbb_pool>}}};
}

}  // namespace bench
#else
#include "peers/missing.hpp"

bench::pool_competitors bench::tbb_pools() {
  return {.submit = {{"tbb::task_arena", tbb_missing}},
          .spawn = {{"tbb::task_group", tbb_missing}},
          .wake = {{"tbb::task_arena", tbb_missing}}};
}
#endif

// oneTBB has neither a strand nor a way to take back what was enqueued.
#include "pool.hpp"

#if TAKT_BENCH_HAS_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <utility>

namespace bench {
namespace {

// The parallelism that TBB allows by default counts the calling thread, which on two cores leaves
// one worker. Here no slot of the arena is kept for callers, and all of them have a worker.
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

}  // namespace

pool_competitors tbb_pools() {
  return {.submit = {{"tbb::task_arena", submit_into<tbb_pool>}},
          .wake = {{"tbb::task_arena", wake_in<tbb_pool>}}};
}

}  // namespace bench
#else
#include "peers/missing.hpp"

bench::pool_competitors bench::tbb_pools() {
  return {.submit = {{"tbb::task_arena", tbb_missing}}, .wake = {{"tbb::task_arena", tbb_missing}}};
}
#endif

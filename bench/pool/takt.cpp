#include <cstddef>
#include <utility>

#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/rx/worker.hpp>

#include "pool.hpp"
#include "support/leaves.hpp"

namespace bench {
namespace {

template <class Pool>
class takt_pool_of {
 public:
  class strand {
   public:
    explicit strand(takt_pool_of& pool) : strand_(pool.pool_) {}

    template <class Task>
    void post(Task&& task) {
      strand_.execute(std::forward<Task>(task));
    }

   private:
    takt::serial_executor strand_;
  };

  explicit takt_pool_of(typename Pool::options_type how) : pool_(std::move(how)) {
    pool_.prestart();
  }

  template <class Task>
  void post(Task&& task) {
    pool_.execute(std::forward<Task>(task));
  }

  void join() {
    pool_.shutdown();
    pool_.await_termination();
  }

  takt::task_list shutdown_now() { return pool_.shutdown_now(); }

 protected:
  Pool pool_;
};

struct takt_pool : takt_pool_of<takt::thread_pool> {
  explicit takt_pool(std::size_t workers) : takt_pool_of({.core_threads = workers}) {}
};

struct takt_stealing_pool : takt_pool_of<takt::stealing_pool> {
  explicit takt_stealing_pool(std::size_t workers) : takt_pool_of({.threads = workers}) {}
};

// An rx::worker instead of a strand: it tracks each task, which can be cancelled individually.
struct takt_pool_with_worker : takt_pool {
  class strand {
   public:
    explicit strand(takt_pool_with_worker& pool) : worker_(pool.pool_) {}

    template <class Task>
    void post(Task&& task) {
      worker_.schedule(std::forward<Task>(task));
    }

   private:
    takt::rx::worker worker_;
  };

  using takt_pool::takt_pool;
};

// Each task has a future, which is ignored.
struct takt_pool_with_futures : takt_pool {
  using takt_pool::takt_pool;

  template <class Task>
  void post(Task&& task) {
    static_cast<void>(pool_.submit(std::forward<Task>(task)));
  }
};

struct figures_of_tasks {
  takt::task_statistics figures;
};

// With an observer that records statistics of each task, and that outlives the pool.
struct takt_pool_observed : private figures_of_tasks, takt_pool_of<takt::thread_pool> {
  explicit takt_pool_observed(std::size_t workers)
      : takt_pool_of({.core_threads = workers, .observer = &figures}) {}
};

numbers spawn_children(const request& asked) {
  takt::stealing_pool pool({.threads = 2});
  pool.prestart();
  return spawn_and_join(asked, [&](std::int64_t depth) {
    return pool.submit([&] { return leaves(depth, pool); }).get();
  });
}

}  // namespace

pool_competitors takt_pools() {
  return {.submit = {{"takt::thread_pool", submit_into<takt_pool>},
                     {"takt::thread_pool (future)", submit_into<takt_pool_with_futures>},
                     {"takt::thread_pool (observed)", submit_into<takt_pool_observed>},
                     {"takt::stealing_pool", submit_into<takt_stealing_pool>}},
          .spawn = {{"takt::stealing_pool", spawn_in<takt_stealing_pool>},
                    {"takt::fork_join", spawn_children}},
          .wake = {{"takt::thread_pool", wake_in<takt_pool>},
                   {"takt::stealing_pool", wake_in<takt_stealing_pool>}},
          .serial = {{"takt::serial_executor", serial_over<takt_pool>},
                     {"takt::rx::worker", serial_over<takt_pool_with_worker>}},
          .stop = {{"takt::thread_pool", stop_with_pending<takt_pool>},
                   {"takt::stealing_pool", stop_with_pending<takt_stealing_pool>}}};
}

}  // namespace bench

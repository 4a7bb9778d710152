#include <cstddef>
#include <utility>

#include <takt/exec/fork_join.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>

#include "pool.hpp"

namespace bench {
namespace {

class takt_pool {
 public:
  class strand {
   public:
    explicit strand(takt_pool& pool) : strand_(pool.pool_) {}

    template <class Task>
    void post(Task&& task) {
      strand_.execute(std::forward<Task>(task));
    }

   private:
    takt::serial_executor strand_;
  };

  explicit takt_pool(std::size_t workers) : pool_({.core = workers}) { pool_.prestart(); }

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
  takt::thread_pool pool_;
};

// Each task has a future, which nobody looks at.
class takt_pool_with_futures : public takt_pool {
 public:
  using takt_pool::takt_pool;

  template <class Task>
  void post(Task&& task) {
    static_cast<void>(pool_.submit(std::forward<Task>(task)));
  }
};

// With an observer that keeps figures of each task.
class takt_pool_observed {
 public:
  explicit takt_pool_observed(std::size_t workers)
      : pool_({.core = workers, .observer = &figures_}) {
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

 private:
  takt::task_statistics figures_;
  takt::thread_pool pool_;
};

class takt_stealing_pool {
 public:
  explicit takt_stealing_pool(std::size_t workers) : pool_({.threads = workers}) {
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

 private:
  takt::stealing_pool pool_;
};

std::int64_t leaves(std::int64_t depth, takt::stealing_pool& pool) {
  if (depth == 0) return 1;
  std::int64_t left = 0;
  takt::fork_join children(pool);
  children.spawn([&] { left = leaves(depth - 1, pool); });
  const std::int64_t right = leaves(depth - 1, pool);
  children.join();
  return left + right;
}

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
          .serial = {{"takt::serial_executor", serial_over<takt_pool>}},
          .stop = {{"takt::thread_pool", stop_with_pending<takt_pool>},
                   {"takt::stealing_pool", stop_with_pending<takt_stealing_pool>}}};
}

}  // namespace bench

#include <cstddef>
#include <utility>

#include <takt/exec/serial_executor.hpp>
#include <takt/exec/thread_pool.hpp>

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

}  // namespace

pool_competitors takt_pools() {
  return {.submit = {{"takt::thread_pool", submit_into<takt_pool>},
                     {"takt::thread_pool (future)", submit_into<takt_pool_with_futures>}},
          .wake = {{"takt::thread_pool", wake_in<takt_pool>}},
          .serial = {{"takt::serial_executor", serial_over<takt_pool>}},
          .stop = {{"takt::thread_pool", stop_with_pending<takt_pool>}}};
}

}  // namespace bench

#include "pool.hpp"

#if TAKT_BENCH_HAS_ASIO
#include <cstddef>
#include <utility>

#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

namespace bench {
namespace {

class asio_pool {
 public:
  class strand {
   public:
    explicit strand(asio_pool& pool) : strand_(pool.pool_.get_executor()) {}

    template <class Task>
    void post(Task&& task) {
      asio::post(strand_, std::forward<Task>(task));
    }

   private:
    asio::strand<asio::thread_pool::executor_type> strand_;
  };

  explicit asio_pool(std::size_t workers) : pool_(workers) {}

  template <class Task>
  void post(Task&& task) {
    asio::post(pool_, std::forward<Task>(task));
  }

  void join() { pool_.join(); }

  // asio cannot return pending tasks: the pool's destructor destroys them.
  struct nothing {};
  nothing shutdown_now() {
    pool_.stop();
    return {};
  }

 private:
  asio::thread_pool pool_;
};

}  // namespace

pool_competitors asio_pools() {
  return {.submit = {{"asio::thread_pool", submit_into<asio_pool>}},
          .spawn = {{"asio::thread_pool", spawn_in<asio_pool>}},
          .wake = {{"asio::thread_pool", wake_in<asio_pool>}},
          .serial = {{"asio::strand", serial_over<asio_pool>}},
          .stop = {{"asio::thread_pool (discards)", stop_with_pending<asio_pool>}}};
}

}  // namespace bench
#else
#include "peers/missing.hpp"

bench::pool_competitors bench::asio_pools() {
  return {.submit = {{"asio::thread_pool", asio_missing}},
          .spawn = {{"asio::thread_pool", asio_missing}},
          .wake = {{"asio::thread_pool", asio_missing}},
          .serial = {{"asio::strand", asio_missing}},
          .stop = {{"asio::thread_pool (discards)", asio_missing}}};
}
#endif

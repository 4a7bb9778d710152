/// \file
/// asio::thread_pool in the shape that the workloads use.
#pragma once

#include <cstddef>
#include <utility>

#include <asio/post.hpp>
#include <asio/thread_pool.hpp>

namespace bench {

class asio_pool {
 public:
  explicit asio_pool(std::size_t workers) : pool_(workers) {}

  template <class Task>
  void post(Task&& task) {
    asio::post(pool_, std::forward<Task>(task));
  }

  /// Returns when everything posted has run.
  void join() { pool_.join(); }

 private:
  asio::thread_pool pool_;
};

}  // namespace bench

// A pool without a library: a mutex, a condition variable and a deque of std::function.
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "pool.hpp"

namespace bench {
namespace {

// A FIFO pool, written with care: it notifies after unlocking, runs tasks unlocked, and drains.
class naive_pool {
 public:
  class strand;

  explicit naive_pool(std::size_t workers) {
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.emplace_back([this] { work(); });
    }
  }

  ~naive_pool() { join(); }

  naive_pool(const naive_pool&) = delete;
  naive_pool& operator=(const naive_pool&) = delete;

  template <class Task>
  void post(Task&& task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.emplace_back(std::forward<Task>(task));
    }
    changed_.notify_one();
  }

  void join() {
    close();
    workers_.clear();
  }

  std::deque<std::function<void()>> shutdown_now() {
    std::deque<std::function<void()>> pending;
    {
      const std::lock_guard lock(mutex_);
      pending.swap(tasks_);
    }
    close();
    return pending;
  }

 private:
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      {
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closed_ = false;
  std::vector<std::jthread> workers_;
};

// A common way to return futures: std::function must be copyable, so the task is shared. The future
// is ignored.
class naive_pool_with_futures : public naive_pool {
 public:
  using naive_pool::naive_pool;

  template <class Task>
  void post(Task&& task) {
    static_cast<void>(submit(std::forward<Task>(task)));
  }

 private:
  template <class Task>
  std::future<void> submit(Task&& task) {
    const auto shared = std::make_shared<std::packaged_task<void()>>(std::forward<Task>(task));
    std::future<void> filled = shared->get_future();
    naive_pool::post([shared] { (*shared)(); });
    return filled;
  }
};

// While tasks are queued, one task of the pool runs all of them that it finds, and then requeues
// itself behind the pool's other work.
class naive_pool::strand {
 public:
  explicit strand(naive_pool& pool) : pool_(pool) {}

  template <class Task>
  void post(Task&& task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.emplace_back(std::forward<Task>(task));
      if (std::exchange(running_, true)) return;
    }
    pool_.post([this] { run(); });
  }

 private:
  void run() {
    std::deque<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.swap(tasks_);
    }
    for (const auto& task : batch) task();
    {
      const std::lock_guard lock(mutex_);
      running_ = !tasks_.empty();
      if (!running_) return;
    }
    pool_.post([this] { run(); });
  }

  naive_pool& pool_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
  bool running_ = false;
};

}  // namespace

pool_competitors naive_pools() {
  return {.submit = {{"naive_pool", submit_into<naive_pool>},
                     {"naive_pool (future)", submit_into<naive_pool_with_futures>}},
          .spawn = {{"naive_pool", spawn_in<naive_pool>}},
          .wake = {{"naive_pool", wake_in<naive_pool>}},
          .serial = {{"naive_strand", serial_over<naive_pool>}},
          .stop = {{"naive_pool", stop_with_pending<naive_pool>}}};
}

}  // namespace bench

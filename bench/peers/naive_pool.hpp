/// \file
/// What one writes without a library: a mutex, a condition variable and a deque of std::function.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// A FIFO pool, done properly: it notifies after unlocking, runs tasks unlocked, and drains.
class naive_pool {
 public:
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

  /// Returns when everything posted has run. Nothing may be posted afterwards.
  void join() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    workers_.clear();
  }

 private:
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

}  // namespace bench

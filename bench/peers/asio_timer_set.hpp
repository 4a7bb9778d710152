/// \file
/// The timers of one thread in asio. Requires TAKT_BENCH_HAS_ASIO.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "support/callback.hpp"

namespace bench {

struct asio_thread {
  asio_thread() = default;
  ~asio_thread() {
    work.reset();
    thread.join();
  }
  asio_thread(const asio_thread&) = delete;
  asio_thread& operator=(const asio_thread&) = delete;

  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::thread thread{[this] { context.run(); }};
};

// In asio the user owns the timer objects, and a cancelled handler runs with an error code. Each
// object belongs to one thread, the context to all.
class asio_timer_set {
 public:
  using service = asio_thread;

  asio_timer_set(service& where, std::size_t count) : context_(where.context) {
    timers_.reserve(count);
  }

  ~asio_timer_set() {
    for (asio::steady_timer& left : timers_) left.cancel();
    settle();  // handlers refer to this
  }

  void schedule(std::size_t /*index*/, std::chrono::nanoseconds delay, timer_callback callback) {
    timers_.emplace_back(context_, delay);
    wait(timers_.back(), callback);
  }

  bool cancel(std::size_t index) { return timers_[index].cancel() == 1; }

  // Ends the wait, as cancel() does, and starts a new one.
  bool move(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    const bool moved = timers_[index].expires_after(delay) == 1;
    wait(timers_[index], callback);
    return moved;
  }

  void settle() {
    while (ended_.load(std::memory_order_acquire) != waits_) std::this_thread::yield();
    timers_.clear();
    waits_ = 0;
    ended_.store(0, std::memory_order_relaxed);  // no handler is left that could race
  }

 private:
  void wait(asio::steady_timer& timer, timer_callback callback) {
    ++waits_;
    timer.async_wait([this, callback](const asio::error_code& error) {
      if (!error) callback();
      note_end();
    });
  }

  void note_end() {
    // While timers are pending, only the thread of the context writes.
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  asio::io_context& context_;
  std::vector<asio::steady_timer> timers_;
  std::size_t waits_ = 0;
  std::atomic<std::size_t> ended_ = 0;
};

}  // namespace bench

#include "churn.hpp"

#if TAKT_BENCH_HAS_ASIO
#include <atomic>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

namespace bench {
namespace {

// In asio the user owns the timer objects, and a cancelled handler runs, with an error code.
class asio_timers {
 public:
  explicit asio_timers(std::size_t count) { timers_.reserve(count); }

  ~asio_timers() {
    work_.reset();
    thread_.join();
  }

  void schedule(std::size_t /*index*/, std::chrono::nanoseconds delay, timer_callback callback) {
    timers_.emplace_back(context_, delay);
    timers_.back().async_wait([this, callback](const asio::error_code& error) {
      if (!error) callback();
      note_end();
    });
  }

  bool cancel(std::size_t index) { return timers_[index].cancel() == 1; }

  void settle() {
    while (ended_.load(std::memory_order_acquire) != timers_.size()) std::this_thread::yield();
    timers_.clear();
    ended_.store(0, std::memory_order_relaxed);  // no handler is left to race with
  }

 private:
  void note_end() {
    // Only the one thread of the context writes while timers are pending.
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::vector<asio::steady_timer> timers_;
  std::atomic<std::size_t> ended_ = 0;
  std::thread thread_{[this] { context_.run(); }};
};

}  // namespace

numbers churn_asio(const request& asked) { return churn_with<asio_timers>(asked); }

}  // namespace bench
#else
#include "peers/missing.hpp"

bench::numbers bench::churn_asio(const request& asked) { asio_missing(asked); }
#endif

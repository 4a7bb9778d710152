#include "scheduled.hpp"

#if TAKT_BENCH_HAS_ASIO
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

namespace bench {
namespace {

// A timer object must live until its handler has been called, and so must the handler's data.
class asio_context {
 public:
  ~asio_context() { shutdown_now(); }

  template <class Callback>
  void after(std::chrono::nanoseconds delay, Callback callback) {
    wait(std::make_unique<asio::steady_timer>(context_, delay), callback);
  }

  template <class Callback>
  void at(timer_clock::time_point due, Callback callback) {
    wait(std::make_unique<asio::steady_timer>(context_, due), callback);
  }

  template <class Callback>
  void every(timer_clock::time_point first, std::chrono::nanoseconds each, Callback callback) {
    repeat(std::make_unique<asio::steady_timer>(context_, first), each, callback);
  }

  // asio cannot return pending timers: the context's destructor destroys them.
  struct nothing {};
  nothing shutdown_now() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    return {};
  }

 private:
  using owned_timer = std::unique_ptr<asio::steady_timer>;

  template <class Callback>
  static void wait(owned_timer timer, Callback callback) {
    asio::steady_timer& t = *timer;
    t.async_wait([timer = std::move(timer), callback](const asio::error_code& error) {
      if (!error) callback();
    });
  }

  template <class Callback>
  static void repeat(owned_timer timer, std::chrono::nanoseconds each, Callback callback) {
    asio::steady_timer& t = *timer;
    t.async_wait([timer = std::move(timer), each, callback](const asio::error_code& error) mutable {
      if (error) return;
      callback();
      timer->expires_at(timer->expiry() + each);
      repeat(std::move(timer), each, callback);
    });
  }

  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::thread thread_{[this] { context_.run(); }};
};

}  // namespace

timer_competitors asio_timers() {
  const char* const name = "asio::steady_timer";
  return {.fire = {{name, fire_with<asio_context>}},
          .periodic = {{name, periodic_with<asio_context>}},
          .late = {{name, late_with<asio_context>}},
          .idle = {{name, idle_with<asio_context>}},
          .memory = {{name, memory_with<asio_context>}},
          .resident = {{name, resident_with<asio_context>}},
          .stop = {{"asio::steady_timer (discards)", stop_with_timers<asio_context>}}};
}

}  // namespace bench
#else
#include "peers/missing.hpp"

bench::timer_competitors bench::asio_timers() {
  const char* const name = "asio::steady_timer";
  return {.fire = {{name, asio_missing}},
          .periodic = {{name, asio_missing}},
          .late = {{name, asio_missing}},
          .idle = {{name, asio_missing}},
          .memory = {{name, asio_missing}},
          .resident = {{name, asio_missing}},
          .stop = {{"asio::steady_timer (discards)", asio_missing}}};
}
#endif

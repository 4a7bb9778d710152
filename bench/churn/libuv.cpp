#include "churn.hpp"

#if TAKT_BENCH_HAS_UV
#include <uv.h>

namespace bench {
namespace {

// A loop belongs to one thread, and so there is no lock in it. A timer has to be closed before it
// can be freed, and that is up to the loop.
class libuv_timers {
 public:
  explicit libuv_timers(std::size_t count) : timers_(count) { uv_loop_init(&loop_); }

  ~libuv_timers() { uv_loop_close(&loop_); }

  libuv_timers(const libuv_timers&) = delete;
  libuv_timers& operator=(const libuv_timers&) = delete;

  void schedule(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    timer* const made = new timer{.handle = {}, .callback = callback};
    timers_[index] = made;
    uv_timer_init(&loop_, &made->handle);
    made->handle.data = made;
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(delay);
    uv_timer_start(
        &made->handle, [](uv_timer_t* t) { static_cast<timer*>(t->data)->callback(); },
        static_cast<std::uint64_t>(rounded.count()), 0);
  }

  bool cancel(std::size_t index) {
    auto* const handle = reinterpret_cast<uv_handle_t*>(&timers_[index]->handle);
    const bool active = uv_is_active(handle) != 0;
    uv_close(handle, [](uv_handle_t* h) { delete static_cast<timer*>(h->data); });
    return active;
  }

  void settle() { uv_run(&loop_, UV_RUN_NOWAIT); }

 private:
  struct timer {
    uv_timer_t handle;
    timer_callback callback;
  };

  uv_loop_t loop_{};
  std::vector<timer*> timers_;
};

}  // namespace

numbers churn_libuv(const request& asked) { return churn_with<libuv_timers>(asked); }

}  // namespace bench
#else
#include "peers/missing.hpp"

bench::numbers bench::churn_libuv(const request& asked) { libuv_missing(asked); }
#endif

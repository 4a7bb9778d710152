/// \file
/// The timers of an event loop in libuv. Requires TAKT_BENCH_HAS_UV.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/callback.hpp"

namespace bench {

// A loop belongs to one thread and has no locks. A timer must be closed by the loop before it can
// be freed.
struct libuv_loop {
  libuv_loop() { uv_loop_init(&loop); }
  ~libuv_loop() { uv_loop_close(&loop); }
  libuv_loop(const libuv_loop&) = delete;
  libuv_loop& operator=(const libuv_loop&) = delete;

  uv_loop_t loop{};
};

class libuv_timer_set {
 public:
  using service = libuv_loop;

  libuv_timer_set(service& where, std::size_t count) : loop_(where.loop), timers_(count) {}

  void schedule(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    timer* const made = new timer{.handle = {}, .callback = callback};
    timers_[index] = made;
    uv_timer_init(&loop_, &made->handle);
    made->handle.data = made;
    start(*made, delay);
  }

  bool cancel(std::size_t index) {
    auto* const handle = reinterpret_cast<uv_handle_t*>(&timers_[index]->handle);
    const bool active = uv_is_active(handle) != 0;
    uv_close(handle, [](uv_handle_t* h) { delete static_cast<timer*>(h->data); });
    return active;
  }

  bool move(std::size_t index, std::chrono::nanoseconds delay, timer_callback /*known*/) {
    return start(*timers_[index], delay);
  }

  void settle() { uv_run(&loop_, UV_RUN_NOWAIT); }

 private:
  struct timer {
    uv_timer_t handle;
    timer_callback callback;
  };

  // uv_timer_start() gives a pending timer the new time.
  static bool start(timer& which, std::chrono::nanoseconds delay) {
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(delay);
    return uv_timer_start(
               &which.handle, [](uv_timer_t* t) { static_cast<timer*>(t->data)->callback(); },
               static_cast<std::uint64_t>(rounded.count()), 0) == 0;
  }

  uv_loop_t& loop_;
  std::vector<timer*> timers_;
};

}  // namespace bench

/// \file
/// The timers of an event loop in libevent. Requires TAKT_BENCH_HAS_EVENT_CORE.
#pragma once

#include <event2/event.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "support/callback.hpp"

namespace bench {

// The base is single-threaded, the default of event_base_new(), and so has no locks.
struct libevent_loop {
  struct free_base {
    void operator()(event_base* b) const { event_base_free(b); }
  };

  std::unique_ptr<event_base, free_base> base{event_base_new()};
};

class libevent_timer_set {
 public:
  using service = libevent_loop;

  libevent_timer_set(service& where, std::size_t count) : base_(where.base.get()), timers_(count) {}

  void schedule(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    timer& made = timers_[index];
    made.callback = std::make_unique<timer_callback>(callback);
    made.handle.reset(evtimer_new(
        base_, [](evutil_socket_t, short, void* c) { (*static_cast<timer_callback*>(c))(); },
        made.callback.get()));
    start(made, delay);
  }

  bool cancel(std::size_t index) {
    timer gone = std::move(timers_[index]);
    return evtimer_pending(gone.handle.get(), nullptr) != 0 && evtimer_del(gone.handle.get()) == 0;
  }

  bool move(std::size_t index, std::chrono::nanoseconds delay, timer_callback /*known*/) {
    return start(timers_[index], delay);
  }

  void settle() {}

 private:
  struct free_event {
    void operator()(event* e) const { event_free(e); }
  };
  struct timer {
    std::unique_ptr<timer_callback> callback;
    std::unique_ptr<event, free_event> handle;  // destroyed first: it refers to the callback
  };

  // event_add() gives a pending timer the new time.
  static bool start(const timer& which, std::chrono::nanoseconds delay) {
    const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(delay).count();
    const timeval after{.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
    return evtimer_add(which.handle.get(), &after) == 0;
  }

  event_base* base_;
  std::vector<timer> timers_;
};

}  // namespace bench

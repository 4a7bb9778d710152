#include "churn.hpp"

#if TAKT_BENCH_HAS_EVENT_CORE
#include <event2/event.h>

#include <memory>

namespace bench {
namespace {

// The base is one for one thread, as event_base_new() makes it unless told otherwise: without
// locks.
class libevent_timers {
 public:
  explicit libevent_timers(std::size_t count) : timers_(count) {}

  void schedule(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    timer& made = timers_[index];
    made.callback = std::make_unique<timer_callback>(callback);
    made.handle.reset(evtimer_new(
        base_.get(), [](evutil_socket_t, short, void* c) { (*static_cast<timer_callback*>(c))(); },
        made.callback.get()));
    const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(delay).count();
    const timeval after{.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
    evtimer_add(made.handle.get(), &after);
  }

  bool cancel(std::size_t index) {
    timer gone = std::move(timers_[index]);
    return evtimer_pending(gone.handle.get(), nullptr) != 0 && evtimer_del(gone.handle.get()) == 0;
  }

  void settle() {}

 private:
  struct free_base {
    void operator()(event_base* b) const { event_base_free(b); }
  };
  struct free_event {
    void operator()(event* e) const { event_free(e); }
  };
  struct timer {
    std::unique_ptr<timer_callback> callback;
    std::unique_ptr<event, free_event> handle;  // freed first: it refers to the callback
  };

  std::unique_ptr<event_base, free_base> base_{event_base_new()};
  std::vector<timer> timers_;
};

}  // namespace

numbers churn_libevent(const request& asked) { return churn_with<libevent_timers>(asked); }

}  // namespace bench
#else
#include "peers/missing.hpp"

bench::numbers bench::churn_libevent(const request& asked) { libevent_missing(asked); }
#endif

#include <takt/sched/scheduled_pool.hpp>

#include "scheduled.hpp"

namespace bench {
namespace {

template <std::size_t Threads>
class takt_pool {
 public:
  takt_pool() { pool_.prestart(); }

  template <class Callback>
  void after(std::chrono::nanoseconds delay, Callback callback) {
    static_cast<void>(pool_.execute(delay, callback));
  }

  template <class Callback>
  void at(timer_clock::time_point due, Callback callback) {
    static_cast<void>(pool_.execute(due, callback));
  }

  template <class Callback>
  void every(timer_clock::time_point first, std::chrono::nanoseconds each, Callback callback) {
    static_cast<void>(
        pool_.schedule_at_fixed_rate(first, each, callback, {.missed = takt::catch_up}));
  }

  takt::task_list shutdown_now() { return pool_.shutdown_now(); }

 protected:
  takt::scheduled_pool pool_{{.threads = Threads}};
};

// Each timer has a future, which is ignored.
struct takt_pool_with_futures : takt_pool<1> {
  template <class Callback>
  void after(std::chrono::nanoseconds delay, Callback callback) {
    static_cast<void>(pool_.schedule(delay, callback));
  }
};

}  // namespace

timer_competitors takt_timers() {
  const char* const name = "takt::scheduled_pool";
  const char* const with_futures = "takt::scheduled_pool (future)";
  return {
      .fire = {{name, fire_with<takt_pool<1>>},
               {"takt::scheduled_pool (2 threads)", fire_with<takt_pool<2>>},
               {with_futures, fire_with<takt_pool_with_futures>}},
      .periodic = {{name,
                    [](const request& asked) {
                      return never_early(periodic_with<takt_pool<1>>(asked));
                    }}},
      .late = {{name,
                [](const request& asked) { return never_early(late_with<takt_pool<1>>(asked)); }}},
      .idle = {{name, idle_with<takt_pool<1>>},
               {"takt::scheduled_pool (2 threads)", idle_with<takt_pool<2>>}},
      .memory = {{name, memory_with<takt_pool<1>>},
                 {with_futures, memory_with<takt_pool_with_futures>}},
      .resident = {{name, resident_with<takt_pool<1>>}},
      .stop = {{name, stop_with_timers<takt_pool<1>>},
               {with_futures, stop_with_timers<takt_pool_with_futures>}}};
}

}  // namespace bench

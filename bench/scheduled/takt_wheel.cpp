#include <takt/exec/inline_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "scheduled.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

// On a grid of 1 ms; tasks run in a pool of one thread.
class takt_wheel {
 public:
  explicit takt_wheel(const takt::wheel_scheduler_options& how = {.tick = 1ms}) : wheel_(how) {
    pool_.prestart();
  }

  template <class Callback>
  void after(std::chrono::nanoseconds delay, Callback callback) {
    static_cast<void>(wheel_.execute(delay, pool_, callback));
  }

  template <class Callback>
  void at(timer_clock::time_point due, Callback callback) {
    static_cast<void>(wheel_.execute(due, pool_, callback));
  }

  template <class Callback>
  void every(timer_clock::time_point first, std::chrono::nanoseconds each, Callback callback) {
    static_cast<void>(
        wheel_.schedule_at_fixed_rate(first, each, pool_, callback, {.missed = takt::catch_up}));
  }

  takt::task_list shutdown_now() { return wheel_.shutdown_now(); }

 protected:
  takt::thread_pool pool_{{.core_threads = 1}};
  takt::wheel_scheduler wheel_;  // last: its tasks use the pool
};

struct takt_wheel_exact : takt_wheel {
  takt_wheel_exact() : takt_wheel({.tick = 1ms, .exact = true}) {}
};

struct takt_wheel_close : takt_wheel {
  takt::task_list shutdown_now() { return wheel_.close(takt::at_close::give_back); }
};

// The timer thread runs the tasks, as the peers do.
template <std::int64_t SpinMicroseconds>
class takt_wheel_inline {
 public:
  template <class Callback>
  void at(timer_clock::time_point due, Callback callback) {
    static_cast<void>(wheel_.execute(due, takt::inline_executor(), callback));
  }

 private:
  takt::wheel_scheduler wheel_{
      {.tick = 1ms, .exact = true, .spin = std::chrono::microseconds(SpinMicroseconds)}};
};

// The lower bound of fire: scheduling, plus the time until the last timer would be due. No timer
// fires.
numbers fire_floor(const request& asked) {
  const std::int64_t count = asked.amount(many_timers);
  auto delays = random_delays(static_cast<std::size_t>(count), 0ns, count * fire_spread);
  for (auto& each : delays) each += 1h;
  tally fired;
  takt_wheel timers;
  const double used_before = processor_time();
  const stopwatch watch;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    timers.after(delays[i], timer_callback{&fired, {i, 1, 2}});
  }
  const double each = watch.nanoseconds_per(count) + static_cast<double>(fire_spread.count());
  require_timers(fired.total(), 0);
  return {each, (processor_time() - used_before) / static_cast<double>(count)};
}

template <class Timers>
numbers late_and_never_early(const request& asked) {
  return never_early(late_with<Timers>(asked));
}

template <class Timers>
numbers periodic_and_never_early(const request& asked) {
  return never_early(periodic_with<Timers>(asked));
}

}  // namespace

timer_competitors takt_wheels() {
  const char* const name = "takt::wheel_scheduler";
  return {
      .fire = {{name, fire_with<takt_wheel>}, {"takt::wheel_scheduler (floor)", fire_floor}},
      .periodic = {{name, periodic_and_never_early<takt_wheel>},
                   {"takt::wheel_scheduler (exact)", periodic_and_never_early<takt_wheel_exact>}},
      .late = {{"takt::wheel_scheduler (exact)", late_and_never_early<takt_wheel_inline<0>>},
               {"takt::wheel_scheduler (precise)", late_and_never_early<takt_wheel_inline<100>>},
               {"takt::wheel_scheduler (exact, pool)", late_and_never_early<takt_wheel_exact>}},
      .idle = {{name, idle_with<takt_wheel>},
               {"takt::wheel_scheduler (exact)", idle_with<takt_wheel_exact>}},
      .memory = {{name, memory_with<takt_wheel>}},
      .resident = {{name, resident_with<takt_wheel>}},
      .stop = {{name, stop_with_timers<takt_wheel>},
               {"takt::wheel_scheduler (close)", stop_with_timers<takt_wheel_close>}}};
}

}  // namespace bench

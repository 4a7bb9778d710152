// Timers without a library: naive_timer, or a loop that sleeps where that is enough.
#include <cerrno>
#include <ctime>

#include "peers/naive_timer.hpp"
#include "scheduled.hpp"

namespace bench {
namespace {

class naive_timer_thread {
 public:
  template <class Callback>
  void after(std::chrono::nanoseconds delay, Callback callback) {
    timer_->schedule(delay, callback);
  }

  struct nothing {};
  nothing shutdown_now() {
    timer_.reset();
    return {};
  }

 private:
  std::optional<naive_timer> timer_{std::in_place};
};

numbers late_sleeping(const request& asked) {
  const std::chrono::milliseconds delay(asked["delay"]);
  std::vector<double> lateness(static_cast<std::size_t>(late_runs(asked)));
  for (double& each : lateness) {
    const auto due = timer_clock::now() + delay;
    const auto count = std::chrono::nanoseconds(due.time_since_epoch()).count();
    const timespec until{.tv_sec = count / 1'000'000'000, .tv_nsec = count % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
    each = static_cast<double>((timer_clock::now() - due).count());
  }
  return lateness_of(std::move(lateness));
}

}  // namespace

timer_competitors naive_timers() {
  return {.fire = {{"naive_timer", fire_with<naive_timer_thread>}},
          .late = {{"clock_nanosleep", late_sleeping}},
          .idle = {{"naive_timer", idle_with<naive_timer_thread>}},
          .memory = {{"naive_timer", memory_with<naive_timer_thread>}},
          .resident = {{"naive_timer", resident_with<naive_timer_thread>}},
          .stop = {{"naive_timer (discards)", stop_with_timers<naive_timer_thread>}}};
}

}  // namespace bench

/// \file
/// One-shots that are moved to a later time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "churn/churn.hpp"

namespace bench {

numbers reschedule_naive_timer(const request& asked);
numbers reschedule_takt(const request& asked);
numbers reschedule_takt_wheel(const request& asked);
numbers reschedule_takt_wheel_unstamped(const request& asked);
numbers reschedule_asio(const request& asked);
numbers reschedule_libuv(const request& asked);
numbers reschedule_libevent(const request& asked);

/// reschedule: moves all timers to a minute later. Runs twice; the second run counts, as in churn.
template <class Timers>
numbers reschedule_with(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked.amount(1'000'000));
  const auto delays = random_delays(pending);
  tally fired;
  std::size_t moved = 0;
  std::size_t prevented = 0;
  typename Timers::service where;
  Timers timers(where, pending);
  double moving = 0;
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto callback = [&fired](std::size_t i) { return timer_callback{&fired, {i, 1, 2}}; };
    for (std::size_t i = 0; i < pending; ++i) timers.schedule(i, delays[i], callback(i));
    const stopwatch watch;
    for (std::size_t i = 0; i < pending; ++i) {
      moved += timers.move(i, delays[i] + std::chrono::minutes(1), callback(i)) ? 1U : 0U;
    }
    moving = watch.nanoseconds();
    for (std::size_t i = 0; i < pending; ++i) prevented += timers.cancel(i) ? 1U : 0U;
    timers.settle();
  }
  require_no_loss(std::min(moved, prevented), 2 * pending, fired);
  return {moving / static_cast<double>(pending)};
}

}  // namespace bench

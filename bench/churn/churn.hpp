/// \file
/// One-shots that are scheduled and then all cancelled, as time-outs are.
///
/// A competitor's class (see peers/) holds the timers of one thread. Its constructor takes a
/// Timers::service, which the threads share, and the number of timers. Members:
///   schedule(index, delay, callback)
///   cancel(index)                  returns true if it has prevented the callback; drops the handle
///   move(index, delay, callback)   returns true if the timer was pending; `callback` is the old
///                                  callback, for competitors that need it again
///   settle()                       not timed: waits for work that cancel() and move() have left to
///                                  other threads, and makes the indices usable again
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "support/callback.hpp"
#include "support/delays.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"

namespace bench {

numbers churn_naive_timer(const request& asked);
numbers churn_takt(const request& asked);
numbers churn_takt_with_futures(const request& asked);
numbers churn_takt_wheel(const request& asked);
numbers churn_takt_wheel_unstamped(const request& asked);
numbers churn_java(const request& asked);
numbers churn_netty(const request& asked);
numbers churn_asio(const request& asked);
numbers churn_libuv(const request& asked);
numbers churn_libevent(const request& asked);

inline void require_no_loss(std::size_t prevented, std::size_t expected, const tally& fired) {
  if (prevented != expected || fired.total() != 0) {
    throw std::logic_error("a timer was lost, or fired");
  }
}

/// Number of timed repetitions in which a run schedules and cancels all timers. One more repetition
/// runs before them, to allocate the memory that others have, or have a heap for, from earlier
/// runs.
inline std::int64_t churn_repetitions(const request& asked) {
  return std::max<std::int64_t>(1, asked.amount(100'000) / asked["pending"]);
}

/// Delay of the first timer. With 10 M timers, slow competitors have not cancelled the last timer
/// within 10 s; then all delays are 90 s longer.
inline std::chrono::nanoseconds churn_least_delay(std::size_t pending) {
  return std::chrono::seconds(pending > 1'000'000 ? 100 : 10);
}

/// churn and growth: nanoseconds per timer.
template <class Timers>
numbers churn_with(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked["pending"]);
  const auto repetitions = static_cast<std::size_t>(churn_repetitions(asked));
  const auto least = churn_least_delay(pending);
  const auto delays = random_delays(pending, least, least + std::chrono::seconds(100));
  tally fired;
  std::size_t prevented = 0;
  typename Timers::service where;
  Timers timers(where, pending);
  double scheduling = 0;
  double cancelling = 0;
  for (std::size_t repetition = 0; repetition <= repetitions; ++repetition) {
    const stopwatch schedule_watch;
    for (std::size_t i = 0; i < pending; ++i) {
      timers.schedule(i, delays[i], timer_callback{&fired, {i, 1, 2}});
    }
    const double scheduled = schedule_watch.nanoseconds();

    const stopwatch cancel_watch;
    for (std::size_t i = 0; i < pending; ++i) prevented += timers.cancel(i) ? 1U : 0U;
    const double cancelled = cancel_watch.nanoseconds();
    timers.settle();
    if (repetition == 0) continue;
    scheduling += scheduled;
    cancelling += cancelled;
  }
  require_no_loss(prevented, pending * (repetitions + 1), fired);
  const auto operations = static_cast<double>(pending * repetitions);
  const double schedule = scheduling / operations;
  const double cancel = cancelling / operations;
  return {schedule, cancel, schedule + cancel};
}

}  // namespace bench

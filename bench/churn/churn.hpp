/// \file
/// One-shots that are scheduled and then all cancelled, which is what time-outs do: by one thread,
/// by several, and with a move to a later time in between.
///
/// A competitor's class is what one thread has of its timers. It is made of a Timers::service,
/// which the threads share, and for a number of timers, and has
///   schedule(index, delay, callback)
///   cancel(index)                    tells whether it has prevented the callback, and drops what
///                                    the user has of the timer
///   move(index, delay, callback)     for reschedule; tells whether the timer was pending. The
///                                    callback is the old one, for those who have to give it again
///   settle()                         is not timed: waits for what the others left to others, and
///                                    makes the indices usable again
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
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

numbers churn_mt_naive_timer(const request& asked);
numbers churn_mt_takt(const request& asked);
numbers churn_mt_takt_wheel(const request& asked);
numbers churn_mt_takt_wheel_unstamped(const request& asked);
numbers churn_mt_java(const request& asked);
numbers churn_mt_netty(const request& asked);
numbers churn_mt_asio(const request& asked);

numbers reschedule_naive_timer(const request& asked);
numbers reschedule_takt(const request& asked);
numbers reschedule_takt_wheel(const request& asked);
numbers reschedule_takt_wheel_unstamped(const request& asked);
numbers reschedule_asio(const request& asked);
numbers reschedule_libuv(const request& asked);
numbers reschedule_libevent(const request& asked);

inline void require_no_loss(std::size_t prevented, std::size_t expected, const tally& fired) {
  if (prevented != expected || fired.total() != 0) {
    throw std::logic_error("a timer was lost, or fired");
  }
}

/// How often a run schedules and cancels all that are pending, and is timed. Once more comes
/// before: that gets the memory, which others have, or have a heap for, from earlier runs.
inline std::size_t churn_repetitions(std::size_t pending) {
  return std::max<std::size_t>(1, 100'000 / pending);
}

/// churn: nanoseconds for each timer.
template <class Timers>
numbers churn_with(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked["pending"]);
  const std::size_t repetitions = churn_repetitions(pending);
  const auto delays = random_delays(pending);
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

inline constexpr std::int64_t churn_mt_pending = 100'000;  ///< By all threads together.

/// Twice, of which the second time counts, as in churn.
template <class Timers>
double churn_together(std::int64_t threads, bool new_heads) {
  using clock = std::chrono::steady_clock;
  const auto delays = random_delays(churn_mt_pending);
  tally fired;
  typename Timers::service where;
  Timers head(where, 1);
  if (!new_heads) head.schedule(0, std::chrono::seconds(9), timer_callback{&fired, {}});

  std::atomic<std::int64_t> heads = 0;
  std::atomic<std::size_t> prevented = 0;
  std::array<clock::time_point, 4> marks;  // begin and end, twice
  auto mark = marks.begin();
  std::barrier together(threads, [&mark]() noexcept { *mark++ = clock::now(); });
  const auto churn = [&](std::size_t begin, std::size_t count) {
    Timers timers(where, count);
    std::size_t mine = 0;
    for (int repetition = 0; repetition < 2; ++repetition) {
      together.arrive_and_wait();
      for (std::size_t i = 0; i < count; ++i) {
        // Half a millisecond earlier than the one before, whichever thread has made that.
        const std::chrono::nanoseconds delay =
            new_heads ? std::chrono::seconds(110) - heads.fetch_add(1, std::memory_order_relaxed) *
                                                        std::chrono::microseconds(500)
                      : delays[begin + i];
        timers.schedule(i, delay, timer_callback{&fired, {i, 1, 2}});
      }
      for (std::size_t i = 0; i < count; ++i) mine += timers.cancel(i) ? 1U : 0U;
      together.arrive_and_wait();
      timers.settle();
    }
    prevented += mine;
  };
  {
    std::vector<std::jthread> running;
    for (std::int64_t t = 0; t < threads; ++t) {
      const std::int64_t begin = churn_mt_pending * t / threads;
      const std::int64_t end = churn_mt_pending * (t + 1) / threads;
      running.emplace_back(churn, static_cast<std::size_t>(begin),
                           static_cast<std::size_t>(end - begin));
    }
  }
  if (!new_heads && head.cancel(0)) ++prevented;
  head.settle();
  require_no_loss(prevented, 2 * churn_mt_pending + (new_heads ? 0 : 1), fired);
  return std::chrono::duration<double, std::nano>(marks[3] - marks[2]).count() / churn_mt_pending;
}

/// churn-mt: each thread schedules its share of the timers, and cancels it. Nanoseconds for each
/// pair of the two, of the time that all threads take together: with another timer that is due
/// before them all, and where each is due before all that were scheduled earlier. For the latter
/// threads share a counter, which is a part of the figure.
template <class Timers>
numbers churn_mt_with(const request& asked) {
  return {churn_together<Timers>(asked["threads"], false),
          churn_together<Timers>(asked["threads"], true)};
}

/// reschedule: moves all timers to a minute later. Twice, of which the second time counts, as in
/// churn.
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

/// \file
/// One-shots that several threads schedule and cancel.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "churn/churn.hpp"

namespace bench {

numbers churn_mt_naive_timer(const request& asked);
numbers churn_mt_takt(const request& asked);
numbers churn_mt_takt_wheel(const request& asked);
numbers churn_mt_takt_wheel_unstamped(const request& asked);
numbers churn_mt_java(const request& asked);
numbers churn_mt_netty(const request& asked);
numbers churn_mt_asio(const request& asked);

inline constexpr std::int64_t churn_mt_pending = 100'000;  ///< Total of all threads.

/// Runs twice; the second run counts, as in churn.
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
        // Half a millisecond earlier than the previous timer of any thread.
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

/// churn-mt: each thread schedules and cancels its share of the timers. Nanoseconds per pair of
/// both operations, of the elapsed time: with another timer that is due before all others, and with
/// each timer due before all earlier ones. For the latter the threads share a counter, whose cost
/// is part of the figure.
template <class Timers>
numbers churn_mt_with(const request& asked) {
  return {churn_together<Timers>(asked["threads"], false),
          churn_together<Timers>(asked["threads"], true)};
}

}  // namespace bench

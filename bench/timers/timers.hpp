/// \file
/// The whole life of timers in structures without threads.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "support/stopwatch.hpp"

namespace bench {

numbers timers_multimap(const request& asked);
numbers timers_linked_wheel(const request& asked);
numbers timers_delay_heap(const request& asked);
numbers timers_hashed_wheel(const request& asked);
numbers timers_timer_wheel(const request& asked);

/// The value of a timer: its number, its deadline, and padding to the size of a small callable.
struct timer_value {
  std::array<std::uint64_t, 4> words;
};

/// Delays from 10 to 110 s, the same for every competitor.
inline std::vector<std::int64_t> timer_delays(std::size_t count) {
  std::mt19937_64 random{11};
  std::uniform_int_distribution<std::int64_t> nanoseconds{10'000'000'000, 110'000'000'000};
  std::vector<std::int64_t> delays(count);
  std::ranges::generate(delays, [&] { return nanoseconds(random); });
  return delays;
}

/// Timers is constructed with the number of timers and has schedule(i, deadline, value), cancel(i),
/// which returns the value, and fire(now, f), which calls f(value) for all timers that are due.
///
/// All timers are scheduled. Of ten, the number in the parameter are cancelled, in the order in
/// which they were scheduled. Then time passes in steps of 1 ms until the rest have fired. The
/// first of two lives is not timed: it allocates the memory. The timed life starts with the slots
/// in the random order that the first life has left.
template <class Timers>
numbers timers_with(const request& asked) {
  const auto count = static_cast<std::size_t>(asked.amount(1'000'000));
  const auto cancelled = static_cast<std::size_t>(asked["cancelled of 10"]);
  const auto delays = timer_delays(count);
  constexpr std::int64_t step = 1'000'000;
  constexpr std::int64_t life = 120'000'000'000;

  Timers timers(count);
  numbers result;
  for (std::int64_t begin : {std::int64_t{1'000'000'000'000}, 1'000'000'000'000 + 2 * life}) {
    std::uint64_t sum = 0;
    std::size_t fired = 0;
    std::size_t early = 0;
    timers.fire(begin, [](const timer_value&) {});

    const stopwatch schedule_watch;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t deadline = begin + delays[i];
      timers.schedule(i, deadline, {{i, static_cast<std::uint64_t>(deadline), 2, 3}});
    }
    const double scheduling = schedule_watch.nanoseconds();

    const stopwatch cancel_watch;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 10 < cancelled) sum += timers.cancel(i).words[0];
    }
    const double cancelling = cancel_watch.nanoseconds();

    const stopwatch fire_watch;
    for (std::int64_t now = begin; now <= begin + life; now += step) {
      timers.fire(now, [&](const timer_value& value) {
        if (value.words[1] > static_cast<std::uint64_t>(now)) ++early;
        ++fired;
        sum += value.words[0];
      });
    }
    const double firing = fire_watch.nanoseconds();

    if (early != 0 || fired + count / 10 * cancelled != count || sum != count * (count - 1) / 2) {
      throw std::logic_error("timers were early, lost or fired twice");
    }
    const auto n = static_cast<double>(count);
    result = {scheduling / n, cancelling / n, firing / n, (scheduling + cancelling + firing) / n};
  }
  return result;
}

}  // namespace bench

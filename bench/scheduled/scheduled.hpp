/// \file
/// Timers with threads, one of them unless its name says otherwise, in seven workloads, and what
/// each of those measures.
///
/// A competitor's class is made without arguments, and has
///   after(delay, callback)         from any thread
///   at(time, callback)             from any thread
///   every(first, period, callback) from one thread; a run that is late is made up for
///   shutdown_now()                 nothing pending fires any more; returns it, with size(), if it
///   can
/// as far as the workloads need it. The destructor waits for no timer.
#pragma once

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "statistics.hpp"
#include "support/callback.hpp"
#include "support/delays.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"

namespace bench {

/// What one kind of timers enters for each workload.
struct timer_competitors {
  std::vector<competitor> fire{};
  std::vector<competitor> periodic{};
  std::vector<competitor> late{};
  std::vector<competitor> idle{};
  std::vector<competitor> memory{};
  std::vector<competitor> resident{};
  std::vector<competitor> stop{};
};

timer_competitors naive_timers();
timer_competitors takt_timers();
timer_competitors takt_wheels();
timer_competitors java_timers();
timer_competitors asio_timers();

using timer_clock = std::chrono::steady_clock;

inline constexpr std::int64_t many_timers = 1'000'000;       ///< fire, memory, resident, stop
inline constexpr std::chrono::nanoseconds fire_spread{100};  ///< For each timer.
inline constexpr std::chrono::milliseconds period{10};
inline constexpr std::int64_t periodic_runs = 50;

inline void require_timers(std::int64_t found, std::int64_t expected) {
  if (found != expected) {
    throw std::logic_error(std::to_string(found) + " timers were counted instead of " +
                           std::to_string(expected));
  }
}

/// Of the whole process, in nanoseconds.
inline double processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto nanoseconds = [](const timeval& t) {
    return 1e9 * static_cast<double>(t.tv_sec) + 1e3 * static_cast<double>(t.tv_usec);
  };
  return nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
}

/// fire: from the first call of after() until the last timer has fired. They are due in any order,
/// 100 ns from each other in the mean.
template <class Timers>
numbers fire_with(const request& asked) {
  const std::int64_t count = asked.amount(many_timers);
  const auto delays = random_delays(static_cast<std::size_t>(count), std::chrono::nanoseconds(0),
                                    count * fire_spread);
  tally fired;
  Timers timers;
  const double used_before = processor_time();
  const stopwatch watch;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    timers.after(delays[i], timer_callback{&fired, {i, 1, 2}});
  }
  fired.wait_for(count);
  const double each = watch.nanoseconds_per(count);
  return {each, (processor_time() - used_before) / static_cast<double>(count)};
}

/// p50, p99, p99.9 and minimum of what was measured in nanoseconds, in microseconds.
inline numbers lateness_of(std::vector<double> nanoseconds) {
  std::ranges::sort(nanoseconds);
  numbers found;
  for (const double part : {0.5, 0.99, 0.999, 0.0}) {
    found.push_back(quantile(nanoseconds, part) / 1e3);
  }
  return found;
}

/// That a timer was early is an error of takt, and a figure of others.
inline numbers never_early(numbers found) {
  if (found[3] < 0) throw std::logic_error("a timer fired early");
  return found;
}

/// periodic: the first runs are spread over a period. Beside the lateness of all runs, the
/// processor time for each.
template <class Timers>
numbers periodic_with(const request& asked) {
  struct periodic_task {
    timer_clock::time_point due{};
    double* lateness = nullptr;
    std::int64_t left = 0;
    tally* ended = nullptr;

    void run() {
      if (left == 0) return;
      *lateness++ = static_cast<double>((timer_clock::now() - due).count());
      due += period;
      if (--left == 0) ended->add();
    }
  };
  const std::int64_t runs = asked.amount(periodic_runs);
  const std::int64_t count = asked["tasks"];
  std::vector<double> lateness(static_cast<std::size_t>(count * runs));
  std::vector<periodic_task> tasks(static_cast<std::size_t>(count));
  tally ended;
  const double used_before = processor_time();
  {
    Timers timers;
    const auto start = timer_clock::now() + std::chrono::milliseconds(50);
    for (std::int64_t i = 0; i < count; ++i) {
      periodic_task& each = tasks[static_cast<std::size_t>(i)];
      each = {.due = start + std::chrono::nanoseconds(period) * i / count,
              .lateness = &lateness[static_cast<std::size_t>(i * runs)],
              .left = runs,
              .ended = &ended};
      timers.every(each.due, period, [&each] { each.run(); });
    }
    std::this_thread::sleep_until(start + period * runs);
    ended.wait_for(count);
  }
  const double used = processor_time() - used_before;
  numbers found = lateness_of(std::move(lateness));
  found.push_back(used / static_cast<double>(count * runs));
  return found;
}

/// How often late is measured, by its delay in ms.
inline std::int64_t late_runs(const request& asked) { return asked.amount(1000 / asked["delay"]); }

/// late: each timer makes the next one, so that no other thread is awake.
template <class Timers>
numbers late_with(const request& asked) {
  const std::chrono::milliseconds delay(asked["delay"]);
  std::vector<double> lateness(static_cast<std::size_t>(late_runs(asked)));
  std::latch done{1};
  Timers timers;
  struct chain {
    Timers& timers;
    std::vector<double>& lateness;
    std::latch& done;
    std::chrono::milliseconds delay{};
    std::size_t fired = 0;
    timer_clock::time_point due{};

    void next() {
      due = timer_clock::now() + delay;
      timers.at(due, [this] {
        lateness[fired++] = static_cast<double>((timer_clock::now() - due).count());
        if (fired == lateness.size()) {
          done.count_down();
        } else {
          next();
        }
      });
    }
  };
  chain links{.timers = timers, .lateness = lateness, .done = done, .delay = delay};
  links.next();
  done.wait();
  return lateness_of(std::move(lateness));
}

/// Voluntary context switches of each thread of this process, by its id.
std::map<std::string, std::int64_t> context_switches();

/// idle: how often threads go to sleep, while a timer is an hour away. All threads count that
/// Timers has brought with it.
template <class Timers>
numbers idle_with(const request& asked) {
  const auto others = context_switches();
  const std::chrono::milliseconds watched(asked.amount(1000));
  tally fired;
  Timers timers;
  timers.after(std::chrono::hours(1), timer_callback{&fired, {}});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until all is at rest
  const auto before = context_switches();
  std::this_thread::sleep_for(watched);
  const auto after = context_switches();
  std::int64_t switches = 0;
  for (const auto& [thread, count] : after) {
    if (others.contains(thread)) continue;
    const auto known = before.find(thread);
    switches += known == before.end() ? count : count - known->second;
  }
  require_timers(fired.total(), 0);
  return {static_cast<double>(switches) / std::chrono::duration<double>(watched).count()};
}

/// memory: what the heap has got, for each timer, callback included; nobody keeps a handle.
template <class Timers>
numbers memory_with(const request& asked) {
  const std::int64_t count = asked.amount(many_timers);
  const auto delays = random_delays(static_cast<std::size_t>(count));
  tally fired;
  const auto in_use = [] {
    const auto heap = mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd);
  };
  const double before = in_use();
  Timers timers;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    timers.after(delays[i], timer_callback{&fired, {i, 1, 2}});
  }
  const double each = (in_use() - before) / static_cast<double>(count);
  require_timers(fired.total(), 0);
  return {each};
}

/// In the memory of the machine, of the whole process, in bytes.
double resident_memory();

/// memory-resident: what the process has got, for each timer, as above. Threads and all else that
/// Timers brings with it are a part of it, and memory that was asked for and not touched is not.
template <class Timers>
numbers resident_with(const request& asked) {
  const std::int64_t count = asked.amount(many_timers);
  const auto delays = random_delays(static_cast<std::size_t>(count));
  tally fired;
  malloc_trim(0);  // what earlier runs have left would not be seen
  const double before = resident_memory();
  Timers timers;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    timers.after(delays[i], timer_callback{&fired, {i, 1, 2}});
  }
  const double each = (resident_memory() - before) / static_cast<double>(count);
  require_timers(fired.total(), 0);
  return {each};
}

/// stop-delayed: first figure: until shutdown_now() has returned. Second: until the threads have
/// ended and all that was pending is destroyed as well.
template <class Timers>
numbers stop_with_timers(const request& asked) {
  const std::int64_t count = asked.amount(many_timers);
  const auto delays = random_delays(static_cast<std::size_t>(count));
  tally fired;
  auto timers = std::make_optional<Timers>();
  for (std::size_t i = 0; i < delays.size(); ++i) {
    timers->after(delays[i], timer_callback{&fired, {i, 1, 2}});
  }
  double returned = 0;
  const stopwatch watch;
  {
    const auto pending = timers->shutdown_now();
    returned = watch.nanoseconds() / 1e6;
    if constexpr (requires { pending.size(); }) {
      require_timers(static_cast<std::int64_t>(pending.size()), count);
    }
    timers.reset();
  }
  const double gone = watch.nanoseconds() / 1e6;
  require_timers(fired.total(), 0);
  return {returned, gone};
}

}  // namespace bench

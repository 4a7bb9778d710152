/// \file
/// Timers with threads in seven workloads, and what each workload measures. They have one thread
/// unless their name says otherwise.
///
/// A competitor's class has a default constructor, a destructor that waits for no timer, and as
/// many of these members as its workloads need:
///   after(delay, callback)         from any thread
///   at(time, callback)             from any thread
///   every(first, period, callback) from one thread; late runs are made up for
///   shutdown_now()                 no pending timer fires afterwards; returns the pending timers,
///                                  with size(), if the scheduler can
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

/// The competitors of one kind of timers for each workload.
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

/// Processor time of the whole process, in nanoseconds.
inline double processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto nanoseconds = [](const timeval& t) {
    return 1e9 * static_cast<double>(t.tv_sec) + 1e3 * static_cast<double>(t.tv_usec);
  };
  return nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
}

/// fire: from the first call of after() until the last timer has fired. The timers are due in
/// random order, 100 ns apart on average.
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

/// Returns p50, p99, p99.9 and minimum of samples in nanoseconds, in microseconds.
inline numbers lateness_of(std::vector<double> nanoseconds) {
  std::ranges::sort(nanoseconds);
  numbers found;
  for (const double part : {0.5, 0.99, 0.999, 0.0}) {
    found.push_back(quantile(nanoseconds, part) / 1e3);
  }
  return found;
}

/// An early timer is an error of takt; for peers it is a figure.
inline numbers never_early(numbers found) {
  if (found[3] < 0) throw std::logic_error("a timer fired early");
  return found;
}

/// periodic: the first runs are spread over a period. Measures the lateness of all runs, and the
/// processor time per run.
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

/// Number of timers in late, depending on the delay in ms.
inline std::int64_t late_runs(const request& asked) { return asked.amount(1000 / asked["delay"]); }

/// late: each timer schedules the next one, so that no other thread is awake.
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

/// Voluntary context switches of each thread of this process, by thread id.
std::map<std::string, std::int64_t> context_switches();

/// idle: how often threads go to sleep while a timer is an hour away. Counts all threads that
/// Timers has started.
template <class Timers>
numbers idle_with(const request& asked) {
  const auto others = context_switches();
  const std::chrono::milliseconds watched(asked.amount(1000));
  tally fired;
  Timers timers;
  timers.after(std::chrono::hours(1), timer_callback{&fired, {}});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until all threads sleep
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

/// memory: heap memory per timer, including the callback; handles are dropped.
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

/// Resident memory of the whole process, in bytes.
double resident_memory();

/// memory-resident: growth of the resident memory per timer, as above. It includes threads and all
/// other memory of Timers, but not memory that was allocated and never touched.
template <class Timers>
numbers resident_with(const request& asked) {
  const std::int64_t count = asked.amount(many_timers);
  const auto delays = random_delays(static_cast<std::size_t>(count));
  tally fired;
  malloc_trim(0);  // memory left by earlier runs would hide the growth
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
/// ended and all pending timers are destroyed as well.
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

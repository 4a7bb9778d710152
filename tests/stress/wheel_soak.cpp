// A soak test of time-outs: takt_wheel_soak SECONDS. Two threads keep some hundred thousand
// pending, cancel nine in ten before their deadline, and move a third; a thousand periodic tasks
// run at the same time. Prints memory and totals ten times. Ends with 1 if memory has grown by more
// than 5 % after the first tenth, or if a task is not accounted for.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include <takt/exec/thread_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>

using namespace std::chrono_literals;

namespace {

double resident_megabytes() {
  std::ifstream pages("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  pages >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

void churn(takt::wheel_scheduler& wheel, takt::thread_pool& pool, std::uint64_t seed,
           takt::clock::time_point end) {
  constexpr std::size_t pending = 100'000;
  std::mt19937_64 random(seed);
  std::vector<takt::timer_handle> timers(pending);
  while (takt::steady.now() < end) {
    for (int i = 0; i < 1000; ++i) {
      takt::timer_handle& timer = timers[random() % pending];
      if (random() % 3 == 0 &&
          timer.reschedule(1s + std::chrono::microseconds(random() % 4'000'000)))
        continue;
      if (random() % 10 != 0) timer.cancel();
      timer = wheel.execute(std::chrono::microseconds(random() % 5'000'000), pool, [] {});
    }
  }
  for (takt::timer_handle& timer : timers) timer.cancel();
}

}  // namespace

int main(int count, char** arguments) {
  const std::chrono::duration<double> length(count > 1 ? std::atof(arguments[1]) : 2.0);
  const auto begin = takt::steady.now();
  const auto end = takt::deadline_after(begin, takt::to_nanoseconds(length));

  takt::thread_pool pool{{.core_threads = 1}};
  takt::wheel_scheduler wheel{{.tick = 1ms}};
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(wheel.schedule_at_fixed_rate(10ms, 10ms, pool, [] {}));
  }
  std::array<std::thread, 2> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] { churn(wheel, pool, i + 1, end); });
  }
  double first = 0;
  double last = 0;
  std::printf("%8s %12s %12s %12s %12s %10s\n", "s", "submitted", "cancelled", "fired", "runs",
              "MB");
  for (int i = 1; i <= 10; ++i) {
    std::this_thread::sleep_until(begin + (end - begin) * i / 10);
    const takt::task_totals t = wheel.totals();
    last = resident_megabytes();
    if (i == 1) first = last;
    std::printf(
        "%8.0f %12llu %12llu %12llu %12llu %10.1f\n",
        std::chrono::duration<double>(takt::steady.now() - begin).count(),
        static_cast<unsigned long long>(t.submitted), static_cast<unsigned long long>(t.cancelled),
        static_cast<unsigned long long>(t.finished), static_cast<unsigned long long>(t.ran), last);
    std::fflush(stdout);
  }
  for (std::thread& t : threads) t.join();
  wheel.close();
  pool.close(takt::drain);
  const takt::task_totals t = wheel.totals();
  const takt::histogram_snapshot late = wheel.lateness();
  std::printf("late by: p50 %lld us, p99 %lld us, p99.9 %lld us; pending at the end: %llu\n",
              static_cast<long long>(late.percentile(50) / 1us),
              static_cast<long long>(late.percentile(99) / 1us),
              static_cast<long long>(late.percentile(99.9) / 1us),
              static_cast<unsigned long long>(t.pending()));
  // A short run does not reach its steady state.
  const bool grows = length > 60s && last > 1.05 * first;
  return t.pending() == 0 && !grows ? 0 : 1;
}

#include "workloads.hpp"

#include "scheduled.hpp"

namespace bench {
namespace {

// Collects the competitors of each kind for one workload; the naive one is first, as the reference.
std::vector<competitor> all(std::vector<competitor> timer_competitors::* entered) {
  std::vector<competitor> found;
  for (const timer_competitors& family :
       {naive_timers(), takt_timers(), takt_wheels(), java_timers(), asio_timers()}) {
    const auto& entries = family.*entered;
    found.insert(found.end(), entries.begin(), entries.end());
  }
  return found;
}

constexpr const char* pool = "takt::scheduled_pool";
constexpr const char* wheel = "takt::wheel_scheduler";
constexpr const char* exact = "takt::wheel_scheduler (exact)";
constexpr const char* java = "java ScheduledThreadPoolExecutor";
constexpr const char* asio = "asio::steady_timer";

// 1, less the noise: a loop compared with itself may get 0.9.
bar not_later_than(const char* peer, const char* metric, const char* subject = pool) {
  return {.subject = subject, .at_least = 0.9, .of = peer, .metric = metric};
}

// One wake-up in ten seconds would be too many. A limit must be above 0.
bar sleeps(const char* subject) { return {.subject = subject, .at_most = 0.1}; }

}  // namespace

workload fire_workload() {
  return {.id = "fire",
          .title = "1 M one-shots due over 100 ms, from the first call until all have fired",
          .metrics = {{"timer", "ns/timer"}, {"processor", "ns/timer"}},
          .competitors = all(&timer_competitors::fire),
          .bars = {{.subject = pool, .at_least = 5, .of = java, .metric = "timer"},
                   {.subject = wheel, .at_least = 5, .of = java, .metric = "timer"},
                   {.subject = wheel, .at_least = 5, .of = asio, .metric = "timer"},
                   {.subject = wheel,
                    .at_least = 0.83,  // at most 1.2 times as long as the floor
                    .of = "takt::wheel_scheduler (floor)",
                    .metric = "timer"}}};
}

workload periodic_workload() {
  return {.id = "periodic",
          .title = "Periodic tasks of 10 ms, how late their runs are",
          .metrics = {{"p50", "us"},
                      {"p99", "us"},
                      {"p99.9", "us"},
                      {"minimum", "us"},
                      {"processor", "ns/run"}},
          .parameters = {{"tasks", {1'000, 10'000}, {1'000}}},
          .competitors = all(&timer_competitors::periodic)};
}

workload late_workload() {
  return {.id = "late",
          .title = "One timer of some milliseconds, how late it is",
          .metrics = {{"p50", "us"}, {"p99", "us"}, {"p99.9", "us"}, {"minimum", "us"}},
          .parameters = {{"delay", {1, 5}}},
          .competitors = all(&timer_competitors::late),
          .bars = {not_later_than("clock_nanosleep", "p50"),
                   not_later_than("clock_nanosleep", "p99"),
                   not_later_than(asio, "p50"),
                   not_later_than(asio, "p99"),
                   not_later_than("clock_nanosleep", "p50", exact),
                   not_later_than("clock_nanosleep", "p99", exact),
                   not_later_than(asio, "p50", exact),
                   not_later_than(asio, "p99", exact),
                   {.subject = "takt::wheel_scheduler (precise)", .at_most = 2, .metric = "p50"}}};
}

workload idle_workload() {
  return {.id = "idle",
          .title = "One timer an hour away, how often threads wake up",
          .metrics = {{"wake-ups", "1/s"}},
          .competitors = all(&timer_competitors::idle),
          .bars = {sleeps(pool), sleeps("takt::scheduled_pool (2 threads)"), sleeps(wheel),
                   sleeps(exact)}};
}

workload memory_workload() {
  return {.id = "memory",
          .title = "1 M one-shots pending, each with a callback of 32 bytes",
          .metrics = {{"timer", "bytes"}},
          .competitors = all(&timer_competitors::memory)};
}

workload memory_resident_workload() {
  return {.id = "memory-resident",
          .title = "1 M one-shots pending, as memory, by what the process has in use",
          .metrics = {{"timer", "bytes"}},
          .competitors = all(&timer_competitors::resident),
          .bars = {{.subject = wheel, .at_most = 96}}};
}

workload stop_delayed_workload() {
  return {
      .id = "stop-delayed",
      .title = "shutdown_now with 1 M one-shots pending",
      .metrics = {{"returned", "ms"}, {"gone", "ms"}},
      .competitors = all(&timer_competitors::stop),
      .bars = {{.subject = pool, .at_most = 100, .metric = "returned"},
               {.subject = wheel, .at_most = 100, .metric = "returned"},
               {.subject = "takt::wheel_scheduler (close)", .at_most = 100, .metric = "returned"}}};
}

}  // namespace bench

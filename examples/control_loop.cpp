// A control loop at 1 kHz: a fixed rate, a policy for missed runs, and statistics of lateness. The
// lateness depends on the machine. The totals do not: each run is counted as begun or as missed.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t steps = 500;

// Moves a value towards its target.
class controller {
 public:
  // Returns true after the last step.
  bool step() {
    value_ += (target_ - value_) * gain_;
    return ++steps_ == steps;
  }
  [[nodiscard]] double value() const { return value_; }

 private:
  double value_ = 0;
  double target_ = 20;
  double gain_ = 0.05;
  std::uint64_t steps_ = 0;
};

double microseconds(std::chrono::nanoseconds d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

}  // namespace

int main() {
  takt::task_statistics figures;
  takt::scheduled_pool pool{{.threads = 1, .name = "control", .observer = &figures}};

  controller heating;
  // If the loop is more than 5 ms late, the steps whose time has passed are skipped.
  takt::periodic_future loop =
      pool.schedule_at_fixed_rate(0ms, 1ms,
                                  [&] {
                                    if (heating.step())
                                      throw takt::cancelled();  // ends the periodic task
                                  },
                                  {.name = "heating", .missed = takt::catch_up_within(5ms)});
  loop.wait();
  pool.close(takt::drain);

  const auto late = figures.delays();
  const std::uint64_t missed = loop.missed_count();
  std::printf("%llu runs, %llu missed; the value is %.3f\n",
              static_cast<unsigned long long>(loop.run_count()),
              static_cast<unsigned long long>(missed), heating.value());
  for (const double percent : {50.0, 90.0, 99.0, 100.0}) {
    std::printf("lateness, p%-5.1f %9.1f us\n", percent, microseconds(late.percentile(percent)));
  }
  const takt::task_totals tasks = figures.totals();
  return loop.run_count() == steps && tasks.started == steps && tasks.missed == missed &&
                 loop.is_cancelled() && heating.value() > 19.9
             ? 0
             : 1;
}

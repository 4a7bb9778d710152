// A control loop at 1 kHz: a fixed rate, a policy for the runs that it cannot make, and figures of
// how late it was. How late that is depends on the machine; that no run is lost does not.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t steps = 500;

// Pulls a value towards its target.
class controller {
 public:
  // True when it has done all its steps.
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
  // A loop that is late looks at the present: what it should have done 5 ms ago is of no use.
  takt::periodic_future loop =
      pool.schedule_at_fixed_rate(0ms, 1ms,
                                  [&] {
                                    if (heating.step()) throw takt::cancelled();  // ends the series
                                  },
                                  {.name = "heating", .missed = takt::catch_up_within(5ms)});
  loop.wait();
  pool.close(takt::drain);

  const auto late = figures.delays();
  const std::uint64_t missed = loop.missed_count();
  std::printf("%llu runs, %llu left out; the value is %.3f\n",
              static_cast<unsigned long long>(loop.run_count()),
              static_cast<unsigned long long>(missed), heating.value());
  for (const double percent : {50.0, 90.0, 99.0, 100.0}) {
    std::printf("late, %5.1f %%: %9.1f us\n", percent, microseconds(late.percentile(percent)));
  }
  const takt::task_totals tasks = figures.totals();
  return loop.run_count() == steps && tasks.started == steps && tasks.missed == missed &&
                 loop.is_cancelled() && heating.value() > 19.9
             ? 0
             : 1;
}

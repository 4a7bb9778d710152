// A program whose services start in order, run until a signal arrives, and stop in reverse order.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

int main() {
  const takt::stop_signals signals;  // first: later threads inherit blocked SIGINT and SIGTERM

  takt::thread_pool pool{{.core_threads = 2, .name = "work"}};
  takt::wheel_scheduler timers{{.tick = 1ms}};
  std::atomic<int> beats = 0;

  takt::service_group app;
  app.add("pool", pool);  // before the services that use it
  app.add("timers", timers);
  app.add("heart", {.start =
                        [&] {
                          // The third beat stands in for Ctrl-C.
                          static_cast<void>(timers.schedule_at_fixed_rate(0ms, 1ms, pool, [&beats] {
                            if (++beats == 3) kill(getpid(), SIGTERM);
                          }));
                        },
                    .shutdown = [] {},  // its timer ends with `timers`
                    .await_end = [](auto, const auto&) { return true; }});

  const takt::stop_report report = app.run(5s, signals);
  std::printf("signal %d after at least 3 beats; %s\n", signals.first(),
              report.to_string().c_str());
  return report.is_clean() && beats >= 3 ? 0 : 1;
}

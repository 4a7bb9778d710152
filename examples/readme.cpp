// The program and the snippets of README.md.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <vector>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

struct connection {
  takt::timer_handle idle;
  void drop() {}
};

void refresh_cache() {}
void send_report() {}

// Simulates a user pressing Ctrl-C.
void step() {
  static int steps = 0;
  if (++steps == 3) kill(getpid(), SIGINT);
}

bool first_program() {
  takt::scheduled_pool pool{{.threads = 2, .name = "work"}};

  takt::future<int> answer = pool.submit([] { return 42; });
  auto tick = pool.schedule_at_fixed_rate(0ms, 10ms, [] { std::puts("tick"); });

  std::printf("the answer is %d\n", answer.get());
  tick.cancel_and_join();   // after this line the lambda does not run
  pool.close(takt::drain);  // runs what is queued, joins the threads
  return pool.totals().pending() == 0;
}

bool delayed_and_periodic(takt::scheduled_pool& pool) {
  auto refresh = pool.schedule_at_fixed_rate(0s, 10s, [] { refresh_cache(); });
  auto report = pool.schedule(5min, [] { send_report(); });
  report.reschedule(1h);
  if (report.cancel() == takt::cancel_result::prevented) {
    std::puts("the report will never be sent");  // `running` or `done`: it is too late
  }
  refresh.cancel_and_join();
  return report.is_ready();
}

bool million_time_outs(takt::thread_pool& pool, std::vector<connection>& connections) {
  takt::wheel_scheduler timeouts{{.tick = 1ms}};
  for (connection& c : connections) {
    c.idle = timeouts.execute(30s, pool, [&c] { c.drop(); });
  }
  for (connection& c : connections) c.idle.reschedule(30s);  // a message has arrived
  for (connection& c : connections) c.idle.cancel();         // the connection is closed
  return timeouts.totals().cancelled == connections.size();
}

bool stop_cleanly() {
  const takt::stop_signals signals;  // construct it before any thread starts
  takt::scheduled_pool pool{{.threads = 4, .name = "work"}};
  auto steps = pool.schedule_at_fixed_rate(0s, 10ms, [] { step(); });
  takt::service_group app;
  app.add("pool", pool);
  const auto report = app.run(10s, signals);  // until Ctrl-C, and at most 10 s longer
  return report.is_clean();
}

bool virtual_time() {
  takt::manual_clock time;
  takt::scheduled_pool pool{{.threads = 1, .time = &time}};
  auto hourly = pool.schedule_at_fixed_rate(1h, 1h, [] { send_report(); });

  for (int hour = 0; hour < 24; ++hour) {
    time.wait_for_waiters(1);  // the pool sleeps until its next deadline
    time.advance(1h);
  }
  time.wait_for_waiters(1);
  return hourly.run_count() == 24;
}

}  // namespace

int main() {
  if (!stop_cleanly()) return 5;
  takt::scheduled_pool pool{{.threads = 1}};
  takt::thread_pool workers{{.core_threads = 1}};
  std::vector<connection> connections(100'000);
  if (!first_program()) return 1;
  if (!delayed_and_periodic(pool)) return 2;
  if (!million_time_outs(workers, connections)) return 3;
  if (!virtual_time()) return 4;
  return 0;
}

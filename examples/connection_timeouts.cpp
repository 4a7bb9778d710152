// Close connections that have been silent for too long: a time-out each, pushed back by every
// message, and gone when the connection is closed.
#include <chrono>
#include <cstdio>
#include <latch>
#include <vector>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

class connection {
 public:
  connection(takt::scheduled_pool& timers, std::chrono::milliseconds patience, std::latch& dropped)
      : patience_(patience), silence_(timers.execute(patience, [&dropped] {
          dropped.count_down();  // here: close the socket
        })) {}

  // False if it has timed out.
  bool on_message() { return silence_.reschedule(patience_); }

  // False if it has timed out, or just does.
  bool close() { return silence_.cancel() == takt::cancel_result::prevented; }

 private:
  std::chrono::milliseconds patience_;
  takt::timer_handle silence_;
};

int main() {
  constexpr int alive = 10'000;
  constexpr int silent = 100;

  std::latch dropped{silent};
  takt::scheduled_pool timers{{.core = 1, .name = "timers"}};

  std::vector<connection> connections;
  connections.reserve(alive);
  for (int i = 0; i < alive; ++i) connections.emplace_back(timers, 1h, dropped);
  for (int i = 0; i < silent; ++i) connection(timers, 5ms, dropped);  // never heard of again

  int messages = 0;
  for (int round = 0; round < 10; ++round) {
    for (connection& c : connections) messages += c.on_message() ? 1 : 0;
  }
  dropped.wait();

  int closed = 0;
  for (connection& c : connections) closed += c.close() ? 1 : 0;

  timers.close(takt::drain);  // at once: a time-out that was cancelled is not waited for
  const takt::task_totals tasks = timers.statistics().tasks;
  std::printf("%d messages pushed time-outs back\n", messages);
  std::printf("%d connections closed, %llu timed out\n", closed,
              static_cast<unsigned long long>(tasks.finished));
  return messages == 10 * alive && closed == alive && tasks.finished == silent &&
                 tasks.cancelled == alive
             ? 0
             : 1;
}

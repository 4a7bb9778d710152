// A million connections, each with a time-out: every message postpones it, and closing the
// connection cancels it. Few time-outs ever fire.
#include <chrono>
#include <cstdio>
#include <latch>
#include <vector>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

class connection {
 public:
  connection(takt::wheel_scheduler& timeouts, std::chrono::milliseconds patience,
             takt::any_executor where, std::latch& dropped)
      : patience_(patience), silence_(timeouts.execute(patience, where, [&dropped] {
          dropped.count_down();  // a real program closes the socket here
        })) {}

  // Returns false if the connection has timed out.
  bool on_message() { return silence_.reschedule(patience_); }

  // Returns false if the connection has timed out or is timing out.
  bool close() { return silence_.cancel() == takt::cancel_result::prevented; }

 private:
  std::chrono::milliseconds patience_;
  takt::timer_handle silence_;
};

int main() {
  constexpr int alive = 1'000'000;
  constexpr int silent = 100;

  std::latch dropped{silent};
  takt::thread_pool pool{{.core_threads = 1, .name = "work"}};
  takt::wheel_scheduler timeouts{{.tick = 1ms}};

  std::vector<connection> connections;
  connections.reserve(alive);
  for (int i = 0; i < alive; ++i) connections.emplace_back(timeouts, 1h, pool, dropped);
  for (int i = 0; i < silent; ++i)
    connection(timeouts, 5ms, pool, dropped);  // dropping the handle does not cancel the timer

  int messages = 0;
  for (connection& c : connections) messages += c.on_message() ? 1 : 0;
  dropped.wait();

  int closed = 0;
  for (connection& c : connections) closed += c.close() ? 1 : 0;

  timeouts.close(takt::drain);  // returns at once: cancelled time-outs are gone
  const takt::task_totals tasks = timeouts.totals();
  std::printf("%d messages postponed time-outs\n", messages);
  std::printf("%d connections closed, %llu timed out\n", closed,
              static_cast<unsigned long long>(tasks.finished));
  return messages == alive && closed == alive && tasks.finished == silent &&
                 tasks.cancelled == alive
             ? 0
             : 1;
}

// A heartbeat every second, and its test in virtual time, which does not wait for real seconds.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

class heartbeat {
 public:
  explicit heartbeat(const takt::clock& time = takt::steady) : time_(time) {}

  // Beats at once and then every second until stop().
  void run() {
    for (auto next = time_.now();; next += 1s) {
      while (!stopped_ && time_.now() < next) time_.park_until(wake_, next);
      if (stopped_) return;
      ++beats_;
    }
  }

  void stop() {
    stopped_ = true;
    wake_.unpark();
  }

  int beats() const { return beats_; }

 private:
  const takt::clock& time_;
  takt::parker wake_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> beats_ = 0;
};

int main() {
  bool right = true;
  auto expect = [&right](int beats, int expected, const char* due_time) {
    std::printf("%-22s %2d beats\n", due_time, beats);
    right = right && beats == expected;
  };

  takt::manual_clock time;
  heartbeat pulse{time};
  std::thread runner{[&] { pulse.run(); }};

  time.wait_for_waiters(1);  // the first beat is done; the thread waits for the next
  expect(pulse.beats(), 1, "at the start:");
  time.advance(1s);
  time.wait_for_waiters(1);  // the second beat is done; the thread waits again
  expect(pulse.beats(), 2, "a second later:");
  time.advance(999ms);
  expect(pulse.beats(), 2, "too early for another:");
  time.advance(10s);
  time.wait_for_waiters(1);
  expect(pulse.beats(), 12, "ten seconds later:");

  pulse.stop();
  runner.join();
  time.advance(1h);
  expect(pulse.beats(), 12, "stopped:");
  return right ? 0 : 1;
}

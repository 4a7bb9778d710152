// Asks an unreliable server: retries with a growing delay, and limits the total time.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

class server {
 public:
  explicit server(int failures) : failures_(failures) {}
  std::string ask() {
    std::printf("  attempt %d\n", ++attempts_);
    if (attempts_ <= failures_) throw std::runtime_error("no answer");
    return "42";
  }
  [[nodiscard]] int attempts() const { return attempts_; }

 private:
  int failures_;
  int attempts_ = 0;
};

// Jitter keeps clients that failed together from retrying together. The seed makes the delays
// repeatable.
takt::backoff patience(std::uint32_t seed) {
  return {.initial = 1ms,
          .factor = 2,
          .limit = 10ms,
          .attempts = 4,
          .jitter = [random = std::minstd_rand(seed)](std::chrono::nanoseconds delay) mutable {
            std::uniform_int_distribution<std::int64_t> part(delay.count() / 2, delay.count());
            return std::chrono::nanoseconds(part(random));
          }};
}

}  // namespace

int main() {
  takt::scheduled_pool pool{{.threads = 1, .name = "client"}};
  int wrong = 0;

  std::printf("a server that answers at the third attempt:\n");
  server shaky{2};
  const std::string answer = takt::retry(pool, [&] { return shaky.ask(); }, patience(1)).get();
  std::printf("  %s\n", answer.c_str());
  if (answer != "42" || shaky.attempts() != 3) ++wrong;

  std::printf("a server that never answers:\n");
  server dead{1'000};
  try {
    takt::retry(pool, [&] { return dead.ask(); }, patience(2)).get();
    ++wrong;
  } catch (const std::runtime_error& e) {
    std::printf("  %s\n", e.what());
  }
  if (dead.attempts() != 4) ++wrong;

  std::printf("a time-out for all attempts:\n");
  server slow{1'000};
  takt::scheduled_pool timers{takt::scheduled_pool::single()};
  auto limited = takt::with_timeout(
      5ms, timers,
      takt::retry(pool, [&] { return slow.ask(); }, {.initial = 1h, .limit = 1h, .attempts = 10}));
  try {
    limited.get();
    ++wrong;
  } catch (const takt::timeout_error& e) {
    std::printf("  %s\n", e.what());
  }
  pool.close(takt::drain);  // returns at once: the time-out has cancelled the retry
  return wrong == 0 && slow.attempts() <= 1 ? 0 : 1;
}

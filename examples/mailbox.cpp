// Hand work from any thread to the one thread that owns the data, and stop without losing any.
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include <takt/takt.hpp>

struct job : takt::mpsc_node {
  takt::move_only_function<void() &&> run;
};

int main() {
  takt::mpsc_queue<job> inbox;
  takt::parker ready;
  long sum = 0;          // the worker's
  bool stopped = false;  // the worker's

  auto post = [&](takt::move_only_function<void() &&> work) {
    auto added = std::make_unique<job>();
    added->run = std::move(work);
    inbox.push(*added.release());  // the queue links it; the worker takes it over
    ready.unpark();
  };

  std::thread worker([&] {
    while (!stopped) {
      while (std::unique_ptr<job> next{inbox.pop()}) std::move(next->run)();
      if (!stopped) ready.park();  // returns at once if something came in meanwhile
    }
  });

  auto count = [&] {
    for (int i = 1; i <= 1000; ++i) post([&sum, i] { sum += i; });
  };
  std::thread one(count);
  std::thread two(count);
  one.join();
  two.join();
  post([&stopped] { stopped = true; });  // after all the work: first in, first out
  worker.join();

  constexpr long expected = 2L * (1000 * 1001 / 2);
  std::printf("sum %ld, expected %ld\n", sum, expected);
  return sum == expected ? 0 : 1;
}

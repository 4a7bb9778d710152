// A tour of what takt has, live. It grows with the library; ./dev run builds and runs it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <takt/takt.hpp>

using namespace std::chrono_literals;
using real_time = std::chrono::steady_clock;

namespace {

double microseconds(real_time::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

void title(const char* text) { std::printf("\n== %s\n", text); }

// A callable of any kind in one cache line.
void show_functions() {
  title("move_only_function: any callable, 64 bytes, never copied");

  auto greeting = std::make_unique<std::string>("good morning");
  takt::move_only_function<std::size_t()> length = [text = std::move(greeting)] {
    return text->size();
  };
  std::printf("a lambda that owns a unique_ptr: called once %zu, called twice %zu\n", length(),
              length());

  takt::move_only_function<std::size_t()> moved = std::move(length);
  std::printf("moved into another function:     called %zu; sizeof is %zu\n", moved(),
              sizeof moved);
  try {
    length();  // NOLINT(bugprone-use-after-move): what it does is specified, and shown here
  } catch (const std::bad_function_call& error) {
    std::printf("calling what was moved from:     throws %s\n", error.what());
  }
}

// Two threads submit to a pool; a strand on it counts without a lock; then it is stopped while
// there is work left. Returns what became of each task.
takt::task_totals show_pool() {
  title("thread_pool, serial_executor: two threads submit for half a second, then it is stopped");

  takt::task_statistics figures;
  takt::thread_pool pool{
      {.core = 2, .name = "tour", .unhandled = &takt::lenient, .observer = &figures}};
  takt::serial_executor counter{pool};
  long sum = 0;  // the strand's

  auto submit = [&] {
    for (const auto end = real_time::now() + 500ms; real_time::now() < end;) {
      for (int i = 0; i < 100; ++i) counter.execute([&sum] { ++sum; });
      static_cast<void>(pool.submit([] {}).cancel());
      std::this_thread::sleep_for(1ms);
    }
  };
  std::thread one(submit);
  std::thread two(submit);
  one.join();
  two.join();
  counter.close(takt::drain);
  std::printf("the strand counted to %ld in %llu tasks of the pool; they waited %.0f us (median)\n",
              sum, static_cast<unsigned long long>(figures.totals().finished),
              microseconds(figures.delays().percentile(50)));

  for (int i = 0; i < 2; ++i) {  // one for each thread, until it is asked to stop
    pool.execute([](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
    });
  }
  while (pool.statistics().active != 2) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) pool.execute([] {});
  const takt::task_list unstarted = pool.shutdown_now();
  pool.await_termination();
  std::printf("shutdown_now() with 1000 tasks queued behind long ones gave back %zu\n",
              unstarted.size());
  return pool.statistics().tasks;
}

// Beats so many times; returns how late the latest of them was.
std::chrono::nanoseconds beat(const takt::clock& time, std::chrono::nanoseconds period, int count) {
  takt::parker wake;
  std::chrono::nanoseconds late{0};
  auto next = takt::deadline_after(time.now(), period);
  for (int i = 0; i < count; ++i, next += period) {
    while (time.now() < next) time.park_until(wake, next);
    late = std::max(late, time.now() - next);
  }
  return late;
}

// Code that is given its clock runs in real time, or in the time of a test.
void show_clock() {
  title("clock: the same code in real time, and in a time that is moved by hand");

  const auto begin = real_time::now();
  const auto late = beat(takt::steady, 20ms, 10);
  std::printf("10 beats, 20 ms apart, on steady:         %.1f ms, at most %.0f us late\n",
              microseconds(real_time::now() - begin) / 1000, microseconds(late));

  const auto begin_by_hand = real_time::now();
  takt::manual_clock by_hand;
  std::thread day([&] { beat(by_hand, 1h, 24); });
  for (int hour = 0; hour < 24; ++hour) {
    by_hand.wait_for_waiters(1);
    by_hand.advance_to_next();
  }
  day.join();
  std::printf("24 beats, an hour apart, on manual_clock: %.1f ms, for %d hours of its time\n",
              microseconds(real_time::now() - begin_by_hand) / 1000,
              static_cast<int>(by_hand.now().time_since_epoch() / 1h));
}

// Work that is prevented, asked to stop, or continued: and what the caller is told.
void show_tasks() {
  title("task: futures that always end, and cancellation that tells what it did");

  takt::promise<int> number;
  auto text = number.get_future().then([](int n) { return "the answer is " + std::to_string(n); });
  std::thread([number = std::move(number)]() mutable { number.set_value(42); }).join();
  std::printf("continued: %s\n", text.get().c_str());

  takt::parker begun;
  takt::future_task search([&begun](const std::stop_token& stop) {
    begun.unpark();
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  auto never_begins = takt::future_task([] {});
  auto searching = search.get_future();
  std::thread worker([&] { search.run(); });
  begun.park();
  const std::string before(takt::to_string(never_begins.cancel()));
  const std::string during(takt::to_string(searching.cancel()));
  const std::string joined(takt::to_string(searching.cancel_and_join()));
  std::printf("cancel before it begins: %s; while it runs: %s; joined: %s\n", before.c_str(),
              during.c_str(), joined.c_str());
  worker.join();
}

// Two threads wake each other in turn.
void show_parker() {
  title("parker: two threads hand one ball to and fro");

  constexpr int rounds = 20000;
  takt::parker left;
  takt::parker right;
  const auto begin = real_time::now();
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      right.park();
      left.unpark();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    right.unpark();
    left.park();
  }
  other.join();
  std::printf("%d rounds, %.1f us for one there and back\n", rounds,
              microseconds(real_time::now() - begin) / rounds);

  const auto asleep = real_time::now();
  const bool woken = left.park_until(asleep + 50ms);
  std::printf("nobody wakes: park_until of 50 ms says %s after %.1f ms\n",
              woken ? "woken" : "too late", microseconds(real_time::now() - asleep) / 1000);
}

}  // namespace

int main() {
  std::printf("takt %d.%d.%d, a tour\n", TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR,
              TAKT_VERSION_PATCH);
  show_functions();
  show_parker();
  show_clock();
  show_tasks();
  const takt::task_totals book = show_pool();

  title("ledger of the pool");
  std::printf(
      "submitted %llu = finished %llu + cancelled %llu + rejected %llu + returned %llu: %s\n",
      static_cast<unsigned long long>(book.submitted),
      static_cast<unsigned long long>(book.finished),
      static_cast<unsigned long long>(book.cancelled),
      static_cast<unsigned long long>(book.rejected),
      static_cast<unsigned long long>(book.returned),
      book.pending() == 0 ? "balanced" : "NOT BALANCED");
  return book.pending() == 0 ? 0 : 1;
}

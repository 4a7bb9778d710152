// The program of the tour (docs/tour.md); ./dev run builds and runs it. With a folder as its
// argument it writes a timeline there.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <latch>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "timeline.hpp"

using namespace std::chrono_literals;

namespace {

void title(const char* text) { std::printf("\n== %s\n", text); }

unsigned long long number(std::uint64_t n) { return n; }

void give_work() {
  title("1. Tasks and their outcomes");
  takt::thread_pool pool{{.core_threads = 2, .name = "work"}};

  takt::future<std::string> text = pool.submit([] { return 40 + 2; }).then([](int n) {
    return "the answer is " + std::to_string(n);
  });
  std::printf("%s\n", text.get().c_str());

  takt::future<int> wrong = pool.submit([]() -> int { throw std::runtime_error("no luck"); });
  try {
    wrong.get();
  } catch (const std::runtime_error& e) {
    std::printf("get() throws the error of the task: %s\n", e.what());
  }

  std::latch begun{1};
  takt::future<void> search = pool.submit([&](const std::stop_token& stop) {
    begun.count_down();
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  begun.wait();
  const takt::cancel_result result = search.cancel();
  search.cancel_and_join();  // returns after the task has ended
  std::printf("cancel() returned: %s\n", std::string(to_string(result)).c_str());
}

void work_later() {
  title("2. Delayed and periodic tasks");
  takt::scheduled_pool pool{{.threads = 2, .name = "later"}};

  takt::timer_handle in_an_hour = pool.execute(1h, [] { std::printf("an hour has passed\n"); });

  std::latch third_beat{3};
  takt::periodic_future heart = pool.schedule_at_fixed_rate(0ms, 2ms, [&, beats = 0]() mutable {
    if (++beats <= 3) third_beat.count_down();
  });
  third_beat.wait();
  heart.cancel_and_join();
  std::printf("at least three beats: %s\n", heart.run_count() >= 3 ? "yes" : "no");

  int attempts = 0;
  takt::future<int> answer = takt::retry(pool,
                                         [&] {
                                           if (++attempts < 3) throw std::runtime_error("not yet");
                                           return 42;
                                         },
                                         {.initial = 1ms, .attempts = 5});
  const int got = answer.get();
  std::printf("the answer is %d, after %d attempts\n", got, attempts);

  std::printf("cancelling the task in an hour: %s\n",
              std::string(to_string(in_an_hour.cancel())).c_str());
}

void time_out() {
  title("3. A hundred thousand time-outs");
  takt::thread_pool pool{{.core_threads = 1, .name = "work"}};
  takt::wheel_scheduler timeouts{{.tick = 1ms}};

  std::vector<takt::timer_handle> silence;
  for (int i = 0; i < 100'000; ++i) {
    silence.push_back(timeouts.execute(30s, pool, [] { std::printf("dropped\n"); }));
  }
  for (takt::timer_handle& t : silence) t.reschedule(30s);  // a message has arrived: 30 s more
  for (takt::timer_handle& t : silence) t.cancel();         // the connection is closed

  timeouts.close(takt::drain);
  std::printf("%llu time-outs scheduled, moved and cancelled\n",
              number(timeouts.totals().cancelled));
}

void one_after_the_other() {
  title("4. Sequential tasks on many threads");
  takt::scheduled_pool pool{{.threads = 2, .name = "many"}};

  long balance = 0;  // used only by tasks of `account`: needs no lock
  takt::serial_executor account{pool};
  for (int i = 0; i < 1000; ++i) account.execute([&] { balance += 1; });
  account.close(takt::drain);
  std::printf("1000 payments, no lock: %ld\n", balance);

  takt::rx::worker worker{pool};  // sequential as well, with delays; unsubscribe() cancels all
  std::latch first{1};
  worker.schedule([&] { first.count_down(); });
  worker.schedule(24h, [] {}).add([] { std::printf("tomorrow's task: cancelled\n"); });
  first.wait();
  worker.unsubscribe();
}

void test_time() {
  title("5. A year in a test");
  takt::rx::test_scheduler time;
  const auto hourly = time.schedule_at_fixed_rate(1h, 1h, [] {});
  time.advance(std::chrono::days(365));
  std::printf("%llu hourly runs in a year\n", number(hourly.run_count()));
}

// Tasks of many kinds on two threads, and the shutdown of their pool.
takt::task_totals stop(timeline& seen) {
  title("6. Shutdown and the ledger");
  takt::scheduled_pool pool{{.threads = 2, .name = "tour", .observer = &seen}};

  const auto work_for = [](std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  static_cast<void>(
      pool.schedule_at_fixed_rate(0ms, 5ms, [&] { work_for(300us); }, {.name = "heartbeat"}));
  for (int i = 0; i < 12; ++i) {
    static_cast<void>(pool.execute(i * 4ms, [&] { work_for(2ms); }, {.name = "report"}));
  }
  static_cast<void>(pool.execute(20ms, [] {}, {.name = "regretted"}).cancel());
  static_cast<void>(pool.execute(1h, [] {}, {.name = "in an hour"}));

  std::latch stopping{1};
  pool.execute(takt::task(
      [&](const std::stop_token& stop) {
        for (int i = 0; i < 30 && !stop.stop_requested(); ++i) work_for(1ms);
        stopping.count_down();
        while (!stop.stop_requested()) std::this_thread::yield();
      },
      {.name = "long search"}));
  stopping.wait();

  const takt::task_list unstarted = pool.shutdown_now();  // requests stop of the running task
  pool.await_termination();
  for (const takt::task& t : unstarted) {
    std::printf("not started: %s\n", std::string(t.name()).c_str());
  }
  const takt::task_totals book = pool.totals();
  std::printf(
      "submitted %llu = finished %llu + cancelled %llu + rejected %llu + returned %llu: %s\n",
      number(book.submitted), number(book.finished), number(book.cancelled), number(book.rejected),
      number(book.returned), book.pending() == 0 ? "balanced" : "NOT BALANCED");
  return book;
}

// Returns false if the folder is not writable.
bool write(const timeline& seen, const std::filesystem::path& folder) {
  title("7. A timeline");
  std::ofstream trace(folder / "timeline.json");
  seen.write_trace(trace);
  std::ofstream picture(folder / "timeline.svg");
  seen.write_picture(picture);
  trace.close();
  picture.close();
  if (!trace.good() || !picture.good()) return false;
  std::printf("%zu runs: %s (for chrome://tracing or Perfetto) and .svg\n", seen.runs(),
              (folder / "timeline.json").c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::fprintf(stderr, "usage: %s [FOLDER]   for a timeline\n", argv[0]);
    return 2;
  }
  std::printf("takt %d.%d.%d, a tour\n", TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR,
              TAKT_VERSION_PATCH);
  give_work();
  work_later();
  time_out();
  one_after_the_other();
  test_time();
  timeline seen;
  const takt::task_totals book = stop(seen);
  if (argc == 2 && !write(seen, argv[1])) {
    std::fprintf(stderr, "%s: cannot write into %s\n", argv[0], argv[1]);
    return 1;
  }
  return book.pending() == 0 ? 0 : 1;
}

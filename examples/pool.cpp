// Submits tasks to a pool, waits for results, stops, and accounts for every task.
#include <chrono>
#include <cstdio>
#include <latch>
#include <stop_token>
#include <string>
#include <thread>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

int main() {
  std::latch begun{2};
  takt::thread_pool pool{{.core_threads = 2, .name = "work"}};

  takt::future<int> answer = pool.submit([] { return 42; });
  std::printf("answer: %d\n", answer.get());

  // Two long tasks that observe their stop tokens occupy both threads; a third task is queued.
  for (int i = 0; i < 2; ++i) {
    pool.execute([&](const std::stop_token& stop) {
      begun.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
    });
  }
  takt::future<int> late = pool.submit([] { return 7; }, {.name = "late"});
  begun.wait();

  pool.shutdown();                               // rejects new tasks; queued tasks still run
  if (!pool.await_termination(10ms)) {           // waits with a deadline
    for (takt::task& t : pool.shutdown_now()) {  // requests stop, returns queued tasks
      std::printf("not started: %s\n", std::string(t.name()).c_str());
      t.run();  // or drop it, which fails its future
    }
  }
  pool.await_termination();
  std::printf("late: %d\n", late.get());

  const takt::task_totals tasks = pool.totals();
  std::printf("submitted %llu = finished %llu + returned %llu\n",
              static_cast<unsigned long long>(tasks.submitted),
              static_cast<unsigned long long>(tasks.finished),
              static_cast<unsigned long long>(tasks.returned));
  return tasks.submitted == 4 && tasks.finished == 3 && tasks.returned == 1 ? 0 : 1;
}

// Shared by the conformance suites of RxJava.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/schedulers.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../support/pools.hpp"

namespace takt_test {

// Makes two calls concurrently.
template <class F, class G>
void race(F&& f, G&& g) {
  takt::sync::atomic<int> ready{0};
  const auto begin = [&ready] {
    ready.fetch_add(1);
    while (ready.load() != 2) takt::sync::yield();
  };
  takt::sync::thread other([&] {
    begin();
    g();
  });
  begin();
  f();
  other.join();
}

// Advances the clock to each deadline that a thread waits for, until the gate is open.
inline void pass_time_until(takt::manual_clock& time, const gate& done) {
  while (!done.is_open()) {
    time.advance_to_next();
    takt::sync::yield();
  }
}

// All schedulers that have threads, on a manual clock.
class rx_family {
 public:
  takt::manual_clock time;
  recording_hook hook;

 private:
  takt::rx::schedulers run_{{.computation_threads = 2, .time = &time, .unhandled = &hook}};
  takt::thread_pool pool_{{.core_threads = 2, .time = &time}};
  takt::scheduled_pool timers_{{.threads = 2, .time = &time}};
  takt::rx::worker_scheduler eager_ =
      takt::rx::worker_scheduler::from(pool_, {.timers = &timers_, .unhandled = &hook});
  takt::rx::worker_scheduler fair_ =
      takt::rx::worker_scheduler::from(pool_, {.timers = &timers_, .batch = 1, .unhandled = &hook});
  takt::rx::worker_scheduler scheduled_ =
      takt::rx::worker_scheduler::from(timers_, {.unhandled = &hook});

 public:
  [[nodiscard]] std::vector<takt::rx::worker_scheduler*> concurrent() {
    return {&run_.new_thread(), &run_.single(), &run_.computation(), &run_.io(), &eager_, &fair_,
            &scheduled_};
  }
  [[nodiscard]] std::vector<takt::rx::worker_scheduler*> all() {
    std::vector<takt::rx::worker_scheduler*> list = concurrent();
    list.push_back(&run_.trampoline());
    return list;
  }
  [[nodiscard]] takt::rx::schedulers& run() { return run_; }
};

// A task that can reschedule itself: `again(self)` returns a callable that runs it.
class recursive {
 public:
  explicit recursive(std::function<void(const recursive&)> body)
      : body_(std::make_shared<std::function<void(const recursive&)>>(std::move(body))) {}
  void operator()() const { (*body_)(*this); }

 private:
  std::shared_ptr<std::function<void(const recursive&)>> body_;
};

// Runs five tasks on each scheduler; none of them runs on this thread.
inline void runs_elsewhere() {
  rx_family family;
  for (takt::rx::worker_scheduler* s : family.concurrent()) {
    const auto here = takt::sync::this_thread_id();
    gate first;
    tally ran;
    takt::rx::worker inner = s->create_worker();
    for (int i = 0; i < 5; ++i) {
      inner.schedule([&] {
        first.wait();
        EXPECT_NE(takt::sync::this_thread_id(), here);
        ran.add();
      });
    }
    EXPECT_EQ(ran.count(), 0u);
    first.open();
    ran.wait_for(5);
  }
}

}  // namespace takt_test

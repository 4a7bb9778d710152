// Runs each hot path a fixed number of times, so that callgrind can count its instructions; see
// tools/instructions.py. Without callgrind it only runs them.
//
// The count covers all instructions of the process from the start of a path to its end, on all
// threads. To make it repeatable, no two threads work at once: tasks are queued while the only
// worker is kept busy, and run while the producer sleeps; time passes only in advance(). The few
// instructions in which a thread falls asleep or wakes are divided among ten thousand operations.
#include <valgrind/callgrind.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/service/channel.hpp>
#include <takt/timer/delay_heap.hpp>
#include <takt/timer/timer_wheel.hpp>

#include "report.hpp"
#include "support/delays.hpp"
#include "support/leaves.hpp"
#include "timers/timers.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t operations = 10'000;

// callgrind's dump has the name of the path and the number of operations.
template <class Work>
void count(const std::string& path, Work work, std::int64_t number = operations) {
  const std::string label = path + "/" + std::to_string(number);
  CALLGRIND_ZERO_STATS;
  work();
  CALLGRIND_DUMP_STATS_AT(label.c_str());
}

template <class Operation>
auto each(Operation operation) {
  return [=] {
    for (std::int64_t i = 0; i < operations; ++i) operation();
  };
}

// `add(f)` submits a task to the pool, which has one thread.
template <class Pool, class Add>
void queued_and_run(const std::string& name, Pool& pool, Add add) {
  std::int64_t ran = 0;
  takt::parker busy;
  takt::parker go_on;
  takt::parker done;
  pool.execute([&] {
    busy.unpark();
    go_on.park();
  });
  busy.park();
  count(name + ": queue", each([&] { add([&ran] { ++ran; }); }));
  pool.execute([&] { done.unpark(); });
  count(name + ": run", [&] {
    go_on.unpark();
    done.park();
  });
}

void pools() {
  const auto executed = [](auto& pool) { return [&](auto f) { pool.execute(f); }; };
  takt::thread_pool fifo({.core_threads = 1});
  queued_and_run("thread_pool, execute", fifo, executed(fifo));
  queued_and_run("thread_pool, submit", fifo, [&](auto f) { static_cast<void>(fifo.submit(f)); });
  takt::stealing_pool stealing({.threads = 1});
  queued_and_run("stealing_pool, execute", stealing, executed(stealing));
}

// Each task submits the next one.
struct link {
  takt::stealing_pool& pool;
  takt::parker& done;
  std::int64_t left;

  void operator()() const {
    if (left > 1) {
      pool.execute(link{pool, done, left - 1});
    } else {
      done.unpark();
    }
  }
};

void inside_of_a_pool() {
  takt::stealing_pool pool({.threads = 1});
  pool.prestart();
  takt::parker done;
  count("stealing_pool, execute by a task: queue and run", [&] {
    pool.execute(link{pool, done, operations});
    done.park();
  });
  constexpr std::int64_t depth = 13;
  count(
      "fork_join: spawn and join",
      [&] { pool.submit([&] { return bench::leaves(depth, pool); }).get(); },
      (std::int64_t{1} << depth) - 1);
}

// `schedule(delay, f)` returns a handle. One timer is due before all others, so that the others
// make no thread read the clock again.
template <class Schedule>
void timers(const std::string& name, takt::manual_clock& time, Schedule schedule) {
  const auto delays = bench::random_delays(operations);
  const auto sentinel = schedule(5s, [] {});
  time.wait_for_waiters(1);
  std::vector<takt::timer_handle> handles;
  handles.reserve(delays.size());
  const auto schedule_all = [&] {
    for (const auto delay : delays) handles.push_back(schedule(delay, [] {}));
  };
  const auto cancel_all = [&] {
    for (const takt::timer_handle& handle : handles) handle.cancel();
  };
  schedule_all();  // allocates the memory
  cancel_all();
  handles.clear();
  count(name + ": schedule", schedule_all);
  count(name + ": cancel", cancel_all);
  takt::parker done;
  std::int64_t ran = 0;
  for (const auto delay : delays) {
    schedule(delay, [&] {
      if (++ran == operations) done.unpark();
    });
  }
  count(name + ": fire", [&] {
    time.advance(120s);
    done.park();
  });
}

void schedulers() {
  takt::manual_clock time;
  {
    takt::scheduled_pool pool({.threads = 1, .time = &time});
    pool.prestart();
    timers("scheduled_pool", time,
           [&](auto due_time, auto f) { return pool.execute(due_time, f); });
  }
  {
    takt::wheel_scheduler wheel({.time = &time});
    takt::inline_executor here;
    timers("wheel_scheduler", time,
           [&](auto due_time, auto f) { return wheel.execute(due_time, here, f); });
  }
}

void on_the_calling_thread() {
  std::int64_t ran = 0;
  const auto step = [&ran] { ++ran; };
  takt::manual_executor manual;
  count("manual_executor: queue and run", [&] {
    each([&] { manual.execute(step); })();
    manual.poll();
  });
  takt::serial_executor strand(manual);
  count("serial_executor: queue and run", [&] {
    each([&] { strand.execute(step); })();
    manual.poll();
  });
  takt::rx::worker worker(manual);
  count("rx::worker: schedule and run", [&] {
    each([&] { worker.schedule(step); })();
    manual.poll();
  });
  takt::event_loop loop;
  count("event_loop: queue and run", [&] {
    each([&] { loop.execute(step); })();
    loop.poll();
  });
  takt::channel<std::int64_t> values;
  auto producer = values.make_producer();
  auto consumer = values.make_consumer();
  count("channel: push and pop", each([&] {
          producer.push(1);
          ran += *consumer.try_pop();
        }));
}

// Half of the timers are cancelled, the others fire, in steps of a second.
template <class Set>
void life_of_timers(const std::string& name) {
  const auto delays = bench::random_delays(operations);
  Set set;
  std::vector<takt::timer_id> ids;
  ids.reserve(delays.size());
  std::array<takt::timer_id, 64> expired;
  count(name + ": life of a timer", [&] {
    for (const auto delay : delays) ids.push_back(set.insert(typename Set::time_point(delay), {}));
    for (std::size_t i = 0; i < ids.size(); i += 2) set.remove(ids[i]);
    for (std::chrono::nanoseconds now = 0s; now < 111s;) {
      const std::size_t due = set.advance_to(typename Set::time_point(now), expired);
      for (std::size_t i = 0; i < due; ++i) set.remove(expired[i]);
      if (due < expired.size()) now += 1s;
    }
  });
}

}  // namespace

int main() {
  std::puts(bench::current_environment().compiler.c_str());
  pools();
  inside_of_a_pool();
  schedulers();
  on_the_calling_thread();
  life_of_timers<takt::delay_heap<bench::timer_value>>("delay_heap");
  life_of_timers<takt::timer_wheel<bench::timer_value>>("timer_wheel");
}

// Prints as Markdown how often a task writes to memory that several threads use, with 1, 2 and 4
// threads, for "On 64 cores" in docs/performance.md.
//
// Counts locks, read-modify-writes and stores on atomics and mutexes that more than one thread uses
// during the work; and how many of these operations follow one by another thread, so that another
// core holds the line. Threads take their steps in random order. The start and the end of a queue
// or pool do not count.
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <vector>

#include <takt/base/parker.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/fork_join.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/model/explore.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>

namespace {

using namespace takt;
using namespace std::chrono_literals;

struct figures {
  double locks = 0;
  double rmws = 0;
  double stores = 0;
  double from_others = 0;
};

// Counts the operations of the threads of one run between begin() and end().
class tally {
 public:
  void step(std::size_t thread, const model::operation& done) {
    if (!counting_ || done.object == 0) return;
    object& o = objects_at(done.object);
    figures more;
    switch (done.kind) {
      case model::op::lock:
      case model::op::try_lock:
        more.locks = 1;
        break;
      case model::op::rmw:
        more.rmws = 1;
        break;
      case model::op::store:
        more.stores = 1;
        break;
      case model::op::load:
      case model::op::unlock:
        break;
      default:
        return;
    }
    const bool writes = more.locks + more.rmws + more.stores > 0;
    if (writes && o.last != 0 && o.last != thread) more.from_others = 1;
    o.last = thread;
    o.threads |= 1U << thread;
    add(o.done, more);
  }

  void begin() { counting_ = true; }
  void end() {
    counting_ = false;
    for (const object& o : objects_) {
      if (std::popcount(o.threads) > 1) add(all_, o.done);
    }
    objects_.clear();
  }

  [[nodiscard]] const figures& all() const { return all_; }

 private:
  struct object {
    figures done{};
    std::size_t last = 0;
    std::uint32_t threads = 0;
  };

  static void add(figures& to, const figures& more) {
    to.locks += more.locks;
    to.rmws += more.rmws;
    to.stores += more.stores;
    to.from_others += more.from_others;
  }

  object& objects_at(std::uint32_t number) {
    if (objects_.size() <= number) objects_.resize(number + 1);
    return objects_[number];
  }

  bool counting_ = false;
  std::vector<object> objects_;
  figures all_;
};

constexpr int each = 100;  // tasks per thread
constexpr std::uint64_t runs = 20;

// `body(threads, counted)` runs tasks between counted.begin() and end(), and returns their number.
void row(const char* name, const std::function<int(std::size_t, tally&)>& body) {
  for (const std::size_t threads : {1U, 2U, 4U}) {
    tally counted;
    int tasks = 0;
    const auto found = model::explore(
        {.runs = runs,
         .how = model::strategy::random,
         .max_steps = 1'000'000,
         .spurious_wakeups = false,
         .on_step = [&](std::size_t t, const model::operation& o) { counted.step(t, o); }},
        [&] { tasks = body(threads, counted); });
    if (!found.clean()) {
      std::cerr << found;
      std::exit(1);
    }
    const double all = static_cast<double>(tasks) * static_cast<double>(found.runs);
    const figures& f = counted.all();
    std::printf("| %s | %zu | %.2f | %.2f | %.2f | %.2f |\n", threads == 1 ? name : "", threads,
                f.locks / all, f.rmws / all, f.stores / all, f.from_others / all);
    std::fflush(stdout);
  }
}

// A clock that stands still and has no lock.
struct still_clock final : clock {
  [[nodiscard]] time_point now() const noexcept override { return time_point(1h); }
  void park_until(parker& p, time_point /*never comes*/) const noexcept override { p.park(); }
};

// Calls `work` on this number of threads concurrently, and joins them.
template <class Work>
void together(std::size_t threads, Work work) {
  std::vector<sync::thread> all;
  for (std::size_t i = 0; i < threads; ++i) all.emplace_back(work);
  for (sync::thread& t : all) t.join();
}

// Submits tasks from this number of threads to a pool with as many workers.
template <class Pool>
int submitted(Pool& pool, std::size_t threads, tally& counted) {
  pool.prestart();
  counted.begin();
  together(threads, [&] {
    for (int i = 0; i < each; ++i) pool.execute([] {});
  });
  pool.shutdown();
  pool.await_termination();
  counted.end();
  return each * static_cast<int>(threads);
}

int leaves(int depth, stealing_pool& pool) {
  if (depth == 0) return 1;
  int left = 0;
  fork_join children(pool);
  children.spawn([&] { left = leaves(depth - 1, pool); });
  const int right = leaves(depth - 1, pool);
  children.join();
  return left + right;
}

// Schedules and cancels tasks on this number of threads.
template <class Schedule>
int schedule_and_cancel(std::size_t threads, tally& counted, Schedule schedule) {
  const auto sentinel = schedule(1s);
  counted.begin();
  together(threads, [&] {
    for (int i = 0; i < each; ++i) schedule(10s).cancel();
  });
  counted.end();
  return each * static_cast<int>(threads);
}

}  // namespace

int main() {
  std::puts(
      "| | threads | locks | read-modify-writes | stores | of all these, from another thread |");
  std::puts("|---|---:|---:|---:|---:|---:|");
  row("`thread_pool`, submit", [](std::size_t threads, tally& counted) {
    thread_pool pool({.core_threads = threads});
    return submitted(pool, threads, counted);
  });
  row("`stealing_pool`, submit", [](std::size_t threads, tally& counted) {
    stealing_pool pool({.threads = threads});
    return submitted(pool, threads, counted);
  });
  row("`fork_join`, spawn and join", [](std::size_t threads, tally& counted) {
    constexpr int depth = 8;
    stealing_pool pool({.threads = threads});
    pool.prestart();
    counted.begin();
    pool.submit([&] { return leaves(depth, pool); }).get();
    counted.end();
    pool.close(drain);
    return (1 << depth) - 1;
  });
  row("`serial_executor`, submit", [](std::size_t threads, tally& counted) {
    thread_pool pool({.core_threads = threads});
    serial_executor strand(pool);
    pool.prestart();
    counted.begin();
    together(threads, [&] {
      for (int i = 0; i < each; ++i) strand.execute([] {});
    });
    pool.shutdown();
    pool.await_termination();
    counted.end();
    return each * static_cast<int>(threads);
  });
  row("`wheel_scheduler`, schedule and cancel", [](std::size_t threads, tally& counted) {
    const still_clock time;
    wheel_scheduler wheel({.time = &time});
    return schedule_and_cancel(threads, counted, [&](auto due_time) {
      return wheel.execute(due_time, inline_executor(), [] {});
    });
  });
  row("`scheduled_pool`, schedule and cancel", [](std::size_t threads, tally& counted) {
    const still_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    return schedule_and_cancel(threads, counted,
                               [&](auto due_time) { return pool.execute(due_time, [] {}); });
  });
}

// The thread pool while threads are refused, start and end, and producers wait for room, under all
// interleavings: no thread waits for ever.
#include <chrono>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using model::require;

TEST(thread_pool_model, a_thread_that_cannot_start_loses_nothing) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    runs refused{0};
    runs budget{1};
    thread_pool pool(
        {.core_threads = 2, .thread = {.may_start = [&] { return budget.fetch_sub(1) > 0; }}});
    const auto produce = [&] {
      try {
        pool.execute([&] { ran.fetch_add(1); });
      } catch (const rejected&) {
        refused.fetch_add(1);
      }
    };
    sync::thread other(produce);
    produce();
    other.join();
    pool.close(drain);
    require(ran.load() == 2 && refused.load() == 0, "the one worker does it all");
    balanced(pool);
  });
}

// A thread that starts after it was refused makes room for a waiting producer.
TEST(thread_pool_model, a_blocked_producer_hears_of_a_thread_that_was_refused_before) {
  check({.runs = 10'000}, [] {
    runs budget{1};
    promise<void> p;
    auto f = p.get_future();
    thread_pool pool({.core_threads = 2,
                      .queue_capacity = 0,
                      .rejection = rejection_policy::wait(),
                      .thread = {.may_start = [&] { return budget.fetch_sub(1) > 0; }}});
    pool.execute([&] { f.wait(); });
    sync::thread producer([&] { pool.execute([&] { p.set_value(); }); });
    budget.store(1);
    pool.prestart();
    producer.join();
    pool.close(drain);
    balanced(pool);
  });
}

// The thread that had made room leaves, and there is no other.
TEST(thread_pool_model, all_blocked_producers_hear_that_there_is_no_thread) {
  check({.runs = 10'000}, [] {
    runs budget{1};
    thread_pool pool({.core_threads = 0,
                      .max_threads = 1,
                      .keep_alive = std::chrono::nanoseconds(0),
                      .queue_capacity = 0,
                      .rejection = rejection_policy::wait(),
                      .thread = {.may_start = [&] { return budget.fetch_sub(1) > 0; }}});
    runs ran{0};
    runs refused{0};
    const auto produce = [&] {
      try {
        pool.execute([&] { ran.fetch_add(1); });
      } catch (const rejected& e) {
        require(e.reason() == rejection::no_thread, "nothing else");
        refused.fetch_add(1);
      }
    };
    produce();
    sync::thread a(produce);
    sync::thread b(produce);
    a.join();
    b.join();
    pool.close(drain);
    require(ran.load() + refused.load() == 3, "each has its answer");
    balanced(pool);
  });
}

// All of them: the first producer is refused a thread, and continues when the second one has got
// one.
TEST(thread_pool_model, blocked_producers_hear_of_a_larger_pool) {
  check({.runs = 10'000}, [] {
    runs begun{0};
    runs asked{0};
    promise<void> p;
    auto f = p.get_future();
    thread_pool pool({.core_threads = 1,
                      .queue_capacity = 0,
                      .rejection = rejection_policy::wait(),
                      .thread = {.may_start = [&] { return asked.fetch_add(1) != 1; }}});
    const auto produce = [&] {
      pool.execute([&] {
        if (begun.fetch_add(1) == 2) p.set_value();
        f.wait();
      });
    };
    produce();
    sync::thread a(produce);
    sync::thread b(produce);
    pool.resize(1, 3);
    a.join();
    b.join();
    pool.close(drain);
    balanced(pool);
  });
}

// Counts the threads that have ended, by the destruction of a thread-local object.
struct last_words {
  ~last_words() {
    if (count != nullptr) count->fetch_add(1);
  }
  runs* count = nullptr;
};

// Terminated: all threads but the last one have ended. Destroyed: that one as well.
TEST(thread_pool_model, is_over_when_its_threads_are) {
  check({.runs = 10'000}, [] {
    runs ended{0};
    {
      thread_pool pool({.core_threads = 2, .thread = {.on_start = [&] {
                                             sync::tls<last_words>::get().count = &ended;
                                           }}});
      pool.prestart();
      pool.close(drain);
      require(ended.load() >= 1, "all but the one that says so");
    }
    require(ended.load() == 2, "and that one");
  });
}

// The awaited task was removed from the pool: no task is left for the surplus worker.
TEST(thread_pool_model, a_worker_too_many_leaves_while_the_other_waits) {
  check({.runs = 10'000}, [] {
    manual_clock time;  // stands still, so no worker times out
    runs exits{0};
    promise<void> leaves;
    auto left = leaves.get_future();
    promise<void> lets_go;
    auto let_go = lets_go.get_future();
    promise<void> goes;
    auto go = goes.get_future();
    thread_pool pool({.core_threads = 2,
                      .thread = {.on_exit =
                                     [&] {
                                       if (exits.fetch_add(1) == 0) leaves.set_value();
                                     }},
                      .time = &time});
    future<void> x;
    auto a = pool.submit([&] {
      go.wait();
      x.wait();
    });
    auto b = pool.submit([&] { let_go.wait(); });
    x = pool.submit([] {});
    goes.set_value();
    task t = pool.remove(x);
    require(static_cast<bool>(t), "both workers have something else to do");
    pool.resize(1);
    lets_go.set_value();
    left.wait();
    t.run();
    a.get();
    b.get();
  });
}

// Time stands still. Woken workers are counted, and held.
class holding_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override { return time_.now(); }
  void park_until(parker& p, time_point deadline) const noexcept override {
    time_.park_until(p, deadline);
    woken.fetch_add(1);
    let_go_.wait();
  }
  void let_go() { lets_go_.set_value(); }
  mutable runs woken{0};

 private:
  manual_clock time_;
  promise<void> lets_go_;
  future<void> let_go_ = lets_go_.get_future();
};

// A searching worker wakes the next.
TEST(thread_pool_model, a_burst_wakes_one_at_a_time) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    holding_clock time;
    {
      thread_pool pool({.core_threads = 2, .time = &time});
      pool.prestart();
      pool.execute([&] { ran.fetch_add(1); });
      pool.execute([&] { ran.fetch_add(1); });
      require(time.woken.load() <= 1, "one at a time");
      time.let_go();
      pool.close(drain);
    }
    require(ran.load() == 2, "each once");
  });
}

// The running task ends when both producers are rejected.
TEST(thread_pool_model, all_blocked_producers_hear_of_the_end) {
  for (const bool now : {false, true}) {
    check({.runs = 10'000}, [now] {
      runs told{0};
      promise<void> p;
      auto f = p.get_future();
      thread_pool pool(
          {.core_threads = 1, .queue_capacity = 0, .rejection = rejection_policy::wait()});
      promise<void> begins;
      auto begun = begins.get_future();
      pool.execute([&] {
        begins.set_value();
        f.wait();
      });
      begun.wait();
      const auto produce = [&] {
        try {
          pool.execute([] {});
          require(false, "there is no room");
        } catch (const rejected&) {
          if (told.fetch_add(1) == 1) p.set_value();
        }
      };
      sync::thread a(produce);
      sync::thread b(produce);
      if (now) {
        require(pool.shutdown_now().empty(), "nothing waits");
      } else {
        pool.shutdown();
      }
      a.join();
      b.join();
      pool.await_termination();
      balanced(pool);
    });
  }
}

// Each purged task makes room for one.
TEST(thread_pool_model, all_blocked_producers_hear_of_purged_tasks) {
  check({.runs = 10'000}, [] {
    runs queued{0};
    promise<void> p;
    auto f = p.get_future();
    promise<void> begins;
    auto begun = begins.get_future();
    thread_pool pool(
        {.core_threads = 1, .queue_capacity = 2, .rejection = rejection_policy::wait()});
    pool.execute([&] {
      begins.set_value();
      f.wait();  // until both tasks are queued
    });
    begun.wait();
    auto x = pool.submit([] {});
    auto y = pool.submit([] {});
    const auto produce = [&] {
      pool.execute([] {});
      if (queued.fetch_add(1) == 1) p.set_value();
    };
    sync::thread a(produce);
    sync::thread b(produce);
    x.cancel();
    y.cancel();
    require(pool.purge() == 2, "both");
    a.join();
    b.join();
    pool.close(drain);
    balanced(pool);
  });
}

// No task waits in a queue of 0: the worker for which a task was accepted takes it, also if the
// pool was resized meanwhile.
TEST(thread_pool_model, a_worker_too_many_takes_what_was_accepted_for_it) {
  check({.runs = 10'000}, [] {
    promise<void> p;
    auto f = p.get_future();
    thread_pool pool({.core_threads = 0, .max_threads = 2, .queue_capacity = 0});
    auto a = pool.submit([&] { f.wait(); });
    pool.submit([] {}).get();
    pool.resize(0, 1);
    try {
      pool.execute([&] { p.set_value(); });
    } catch (const rejected&) {
      p.set_value();
    }
    a.get();
    pool.close(drain);
    balanced(pool);
  });
}

// As above, at the end of a blocking_region.
TEST(thread_pool_model, a_worker_added_for_a_region_takes_what_was_accepted_for_it) {
  check({.runs = 10'000}, [] {
    promise<void> p;
    auto f = p.get_future();
    thread_pool pool({.core_threads = 1, .queue_capacity = 0});
    promise<void> leaves;
    auto left = leaves.get_future();
    auto a = pool.submit([&] {
      {
        const blocking_region waiting;
        pool.submit([] {}).get();
      }
      leaves.set_value();
      f.wait();
    });
    left.wait();
    try {
      pool.execute([&] { p.set_value(); });
    } catch (const rejected&) {
      p.set_value();
    }
    a.get();
    pool.close(drain);
    balanced(pool);
  });
}

}  // namespace

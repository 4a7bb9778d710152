// The threads of a scheduled pool, which come and go, under every kind of interleaving: whoever
// leaves, somebody looks at the time.
#include <chrono>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/task/blocking_region.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

// One worker at most, which may leave, but not while something waits.
TEST(scheduled_pool_model, without_core_threads) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 0, .keep_alive = 1ms, .time = &time});
    for (int i = 0; i < 2; ++i) {
      auto f = pool.schedule(5ms, [] {});
      time.advance(5ms);
      f.get();
      time.advance(1ms);  // it may leave now
    }
    pool.close(drain);
    balanced(pool);
  });
}

TEST(scheduled_pool_model, threads_that_time_out) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .keep_alive = 1ms, .core_times_out = true, .time = &time});
    auto a = pool.schedule(3ms, [] {});
    auto b = pool.schedule(2ms, [] {});
    time.advance(2ms);
    b.get();
    time.advance(1ms);
    a.get();
    pool.close(drain);
    balanced(pool);
  });
}

// keep_alive begins when no delayed task is left, whenever the thread has begun to stay for one.
TEST(scheduled_pool_model, the_last_worker_leaves_after_the_last_delayed_task_was_cancelled) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    parker gone;
    scheduled_pool pool({.threads = 0,
                         .keep_alive = 1ms,
                         .thread = {.on_exit = [&] { gone.unpark(); }},
                         .time = &time});
    auto first = pool.schedule(1h, [] {});
    auto second = pool.schedule(2h, [] {});
    sync::thread canceller([&] { first.cancel(); });
    second.cancel();
    canceller.join();
    time.wait_for_waiters(1);
    time.advance(1ms);
    gone.park();
    pool.close(drain);
    balanced(pool);
  });
}

// It is called for what is cancelled meanwhile; when it looks, it has been idle for too long.
TEST(scheduled_pool_model, the_last_worker_leaves_against_schedule) {
  check({.runs = 50'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 0, .keep_alive = 1ms, .time = &time});
    pool.submit([] {}).get();
    auto called_for = pool.schedule(1h, [] {});
    time.advance(1ms);
    called_for.cancel();
    pool.schedule(0ms, [] {}).get();
    pool.close(drain);
    balanced(pool);
  });
}

TEST(scheduled_pool_model, the_last_worker_is_one_too_many_against_schedule) {
  check({.runs = 50'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .keep_alive = 0ms, .time = &time});
    pool.submit([] {}).get();
    pool.resize(0);
    pool.schedule(0ms, [] {}).get();
    pool.close(drain);
    balanced(pool);
  });
}

// The only worker that does not wait may not leave before what the other waits for.
TEST(scheduled_pool_model, a_task_waits_for_a_delayed_one_while_threads_time_out) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .keep_alive = 1ms, .core_times_out = true, .time = &time});
    auto f = pool.submit([&] { pool.schedule(clock::time_point(5ms), [] {}).get(); });
    time.advance(1ms);
    time.advance(4ms);
    f.get();
    pool.close(drain);
    balanced(pool);
  });
}

// One too many leaves when the last task has ended: another one still sleeps.
TEST(scheduled_pool_model, shutdown_within_a_blocking_region) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto f = pool.schedule(0ms, [&] {
      const blocking_region waiting;
      pool.execute([] {});
      pool.shutdown();
    });
    f.get();
    pool.await_termination();
    balanced(pool);
  });
}

TEST(scheduled_pool_model, a_delayed_task_within_a_blocking_region) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<void> p;
    auto told = p.get_future();
    auto later = pool.schedule(1ms, [&] { p.set_value(); });
    auto f = pool.submit([&] {
      const blocking_region waiting;
      told.wait();
    });
    time.advance(1ms);
    f.get();
    pool.close(drain);
    balanced(pool);
  });
}

// It is refused after the pool was shut down, which has waited for it.
TEST(scheduled_pool_model, a_rejection_for_want_of_a_thread_against_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool(
        {.threads = 1, .thread = {.may_start = [] { return false; }}, .time = &time});
    sync::thread other([&] { pool.shutdown(); });
    try {
      pool.execute(1ms, [] {});
      require(false, "there is no thread");
    } catch (const rejected&) {
    }
    other.join();
    pool.await_termination();
    balanced(pool);
  });
}

TEST(scheduled_pool_model, a_delayed_task_in_a_pool_that_grows) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<void> p;
    auto told = p.get_future();
    auto later = pool.schedule(1ms, [&] { p.set_value(); });
    auto now = pool.submit([&] { told.wait(); });
    pool.resize(2);
    time.advance(1ms);
    now.get();
    pool.close(drain);
    balanced(pool);
  });
}

// Of two threads one may have timed out; what the first task waits for begins all the same.
TEST(scheduled_pool_model, two_are_due_after_a_thread_has_timed_out) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .keep_alive = 1ms, .core_times_out = true, .time = &time});
    promise<void> p;
    auto told = p.get_future();
    auto first = pool.schedule(5ms, [&] { told.wait(); });
    auto second = pool.schedule(5ms, [&] { p.set_value(); });
    time.advance(1ms);
    time.advance(4ms);
    first.get();
    second.get();
    pool.close(drain);
    balanced(pool);
  });
}

}  // namespace

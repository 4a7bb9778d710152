// The ends of executors, and of waits within them, under all interleavings.
#include <chrono>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/completion_queue.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

// Fork-join: a worker whose wait is over, but which has not called end_wait() yet, is not stuck.
TEST(executor_end_model, no_false_deadlock_after_a_wait_has_ended) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    auto x = pool.submit([] {});
    auto a = pool.submit([&] { x.get(); });  // one wait at a time: a second thread is always free
    auto b = pool.submit([&] { a.get(); });
    b.get();
  });
}

// The usual form: each of two tasks forks and joins one; but the second begins when the first one's
// child has ended.
TEST(executor_end_model, fork_join) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    future<void> later;
    auto a = pool.submit([&] {
      pool.submit([&] { later = pool.submit([&] { pool.submit([] {}).get(); }); }).get();
    });
    a.get();
    later.get();
  });
}

// The awaited task was removed from the pool, and is run on another thread.
TEST(executor_end_model, no_false_deadlock_if_a_removed_task_is_waited_for) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    promise<void> held;
    auto hold = held.get_future();
    promise<void> waits;
    auto waiting = waits.get_future();
    auto h = pool.submit([&] { hold.wait(); });
    promise<void> in_a;
    auto a_runs = in_a.get_future();
    promise<void> go_a;
    auto go = go_a.get_future();
    future<void> x;
    auto a = pool.submit([&] {
      in_a.set_value();
      go.wait();
      x.wait();
    });
    a_runs.wait();
    x = pool.submit([] {});
    go_a.set_value();
    task t = pool.remove(x);
    require(static_cast<bool>(t), "still queued: both workers are busy");
    auto b = pool.submit([&] { a.wait(); });
    held.set_value();
    t.run();
    b.wait();
    a.get();
    h.get();
    b.get();
  });
}

// The task that execute() submits destroys the pool before the caller has unparked a worker.
TEST(executor_end_model, execute_of_a_task_that_destroys_the_pool) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    sync::atomic<int> ended{0};
    auto pool =
        std::make_unique<thread_pool>(thread_pool_options{.core_threads = 0,
                                                          .max_threads = 1,
                                                          .keep_alive = 1s,
                                                          .terminated = [&] { ended.fetch_add(1); },
                                                          .time = &time});
    thread_pool& alive = *pool;
    alive.submit([] {}).get();
    sync::thread other([&] { time.advance(1s); });
    alive.execute([p = std::move(pool)]() mutable { p.reset(); });
    other.join();
    while (ended.load() == 0) sync::yield();
  });
}

// When a strand is terminated, dropped tasks have ended, whether they were dropped before or after
// shutdown.
TEST(executor_end_model, dropped_tasks_have_ended_when_the_strand_is_terminated) {
  check({.runs = 10'000}, [] {
    manual_executor loop;
    serial_executor strand(loop);
    auto f = strand.submit([] {});
    sync::thread other([&] { static_cast<void>(loop.shutdown_now()); });  // destroys the drain
    strand.shutdown();
    strand.await_termination();
    require(f.is_ready(), "it has ended");
    other.join();
  });
}

// A task is rejected or returned, not both.
TEST(executor_end_model, a_task_that_is_given_back_is_not_also_refused) {
  check({.runs = 10'000}, [] {
    class refusing {
     public:
      void execute(task) { throw rejected(rejection::saturated); }
    } where;
    serial_executor strand(where);
    std::size_t returned = 0;
    sync::thread other([&] { returned = strand.shutdown_now().size(); });
    bool threw = false;
    try {
      strand.execute([] {});
    } catch (const rejected&) {
      threw = true;
    }
    other.join();
    require(!(threw && returned == 1), "one end");
  });
}

// The same, with a later task that is rejected before.
TEST(executor_end_model, a_task_that_is_given_back_is_not_refused_with_a_later_one) {
  check({.runs = 20'000}, [] {
    class refusing {
     public:
      void execute(task) { throw rejected(rejection::saturated); }
    } where;
    serial_executor strand(where);
    sync::atomic<std::size_t> refused{0};
    const auto produce = [&] {
      try {
        strand.execute([] {});
      } catch (const rejected&) {
        refused.fetch_add(1);
      }
    };
    sync::thread other(produce);
    sync::thread stops([&] { static_cast<void>(strand.shutdown_now()); });
    produce();
    other.join();
    stops.join();
    const task_totals totals = strand.totals();
    require(totals.pending() == 0, "the ledger balances");
    require(refused.load() <= totals.rejected, "a returned task was not rejected");
  });
}

// A task that caller_runs() runs destroys the pool.
TEST(executor_end_model, destroyed_by_a_task_that_its_caller_runs) {
  check({.runs = 10'000}, [] {
    promise<void> go;
    auto gone = go.get_future();
    auto pool = std::make_unique<thread_pool>(thread_pool_options{
        .core_threads = 1, .queue_capacity = 0, .rejection = rejection_policy::caller_runs()});
    thread_pool& alive = *pool;
    alive.execute([&] { gone.wait(); });
    alive.execute([&, p = std::move(pool)]() mutable {
      go.set_value();
      p.reset();
    });
  });
}

TEST(executor_end_model, on_exit_waits_for_another_worker) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::atomic<int> exits{0};
    sync::atomic<bool> error{false};
    thread_pool* p = nullptr;
    {
      thread_pool pool({.core_threads = 0,
                        .max_threads = 1,
                        .keep_alive = 1s,
                        .thread = {.on_exit =
                                       [&] {
                                         if (exits.fetch_add(1) != 0) return;
                                         try {
                                           p->submit([] {}).get();
                                         } catch (const rejected&) {
                                         } catch (const cancelled&) {
                                         } catch (const std::system_error&) {
                                           error.store(true);
                                         }
                                       }},
                        .time = &time});
      p = &pool;
      pool.submit([] {}).get();
      time.advance(1s);
      pool.close(drain);
    }
    require(!error.load(), "another worker can run it");
  });
}

// The wait ends when stop is requested.
TEST(executor_end_model, a_wait_with_a_token_is_not_for_ever) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    sync::stop_source stop;
    auto f = pool.submit([&] {
      auto x = pool.submit([] {});
      return x.wait(stop.get_token());
    });
    stop.request_stop();
    static_cast<void>(f.get());
  });
}

// After await_termination() nothing is pending.
TEST(executor_end_model, terminated_means_that_the_queue_has_ended) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    promise<void> go;
    auto gone = go.get_future();
    auto r = pool.submit([&] { gone.wait(); });
    auto f = pool.submit([] {});
    sync::thread other([&] {
      go.set_value();
      pool.shutdown_and_cancel();
    });
    pool.await_termination();
    const bool ended = f.is_ready() && pool.totals().pending() == 0;
    other.join();
    require(ended, "all has ended");
  });
}

// As a_burst_wakes_as_many_as_it_needs, but without close(), which would wake the workers.
TEST(executor_end_model, a_burst_without_close) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    pool.prestart();
    promise<void> p;
    auto f = p.get_future();
    auto a = pool.submit([&] { f.wait(); });
    auto b = pool.submit([&] { p.set_value(); });
    a.get();
    b.get();
  });
}

// A woken worker leaves, because it is surplus: it wakes another one.
TEST(executor_end_model, a_called_worker_that_leaves_calls_another) {
  check({.runs = 20'000}, [] {
    thread_pool pool({.core_threads = 2});
    promise<void> p;
    auto f = p.get_future();
    promise<void> q;
    auto left = q.get_future();
    auto a = pool.submit([&] {
      {
        const blocking_region waiting;
        pool.prestart();  // three workers
      }
      q.set_value();  // two suffice
      f.wait();
    });
    left.wait();
    auto b = pool.submit([&] { p.set_value(); });
    a.get();
    b.get();
  });
}

// All that the worker did happens before is_terminated() returns true.
TEST(executor_end_model, polling_for_the_end_sees_what_was_done) {
  check({.runs = 10'000}, [] {
    sync::var<int> n(0);
    thread_pool pool({.core_threads = 1, .terminated = [&] { n.write() += 1; }});
    pool.execute([&] { n.write() += 1; });
    pool.shutdown();
    while (!pool.is_terminated()) sync::yield();
    require(n.read() == 2, "seen");
  });
}

// As no_false_deadlock_after_a_wait_has_ended: one of two results is ready, and the task that takes
// it has not called end_wait() yet.
TEST(executor_end_model, no_false_deadlock_while_a_result_is_being_taken) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    future<void> waiting;
    pool.submit([&] {
          completion_queue<void> results(pool);
          results.submit([] {});
          waiting = pool.submit([&] { pool.submit([] {}).get(); });
          results.submit([] {});
          results.take().get();
        })
        .get();
    waiting.get();
  });
}

}  // namespace

// The thread pool under all interleavings: each submitted task has exactly one outcome, and the
// pool terminates.
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

TEST(thread_pool_model, runs_what_is_submitted_from_two_threads) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    thread_pool pool({.core_threads = 2});
    execute_from_two_threads(pool, ran);
    pool.close(drain);
    require(ran.load() == 2, "each once");
    balanced(pool);
  });
}

// The only worker, idle or about to park, is woken.
TEST(thread_pool_model, parking_against_submit) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    thread_pool pool({.core_threads = 1});
    pool.prestart();
    pool.submit([&] { ran.fetch_add(1); }).get();
    pool.submit([&] { ran.fetch_add(1); }).get();
    require(ran.load() == 2, "each once");
  });
}

// Both tasks are needed at once: the second one must not wait for a sleeping worker.
TEST(thread_pool_model, a_burst_wakes_as_many_as_it_needs) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    pool.prestart();
    promise<void> p;
    auto f = p.get_future();
    pool.execute([&] { f.wait(); });
    pool.execute([&] { p.set_value(); });
    pool.close(drain);
    balanced(pool);
  });
}

// Submits two tasks. Returns how many were accepted.
int submit_two(thread_pool& pool, runs& ran) {
  int accepted = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      pool.execute([&ran] { ran.fetch_add(1); });
      ++accepted;
    } catch (const rejected&) {
    }
  }
  return accepted;
}

TEST(thread_pool_model, submit_against_shutdown) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    thread_pool pool({.core_threads = 1});
    sync::thread other([&] { pool.shutdown(); });
    const int accepted = submit_two(pool, ran);
    other.join();
    pool.await_termination();
    require(ran.load() == accepted, "what was accepted ran");
    balanced(pool);
  });
}

TEST(thread_pool_model, submit_against_shutdown_now) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    std::size_t returned = 0;
    thread_pool pool({.core_threads = 1});
    sync::thread other([&] { returned = pool.shutdown_now().size(); });
    const int accepted = submit_two(pool, ran);
    other.join();
    pool.await_termination();
    require(ran.load() + static_cast<int>(returned) == accepted, "ran or returned");
    balanced(pool);
  });
}

// A task that waits for its stop token gets the request, whenever it begins.
TEST(thread_pool_model, shutdown_now_reaches_what_runs) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    auto f = pool.submit([](const sync::stop_token& stop) {
      promise<void> never;
      never.get_future().wait(stop);
      return 1;
    });
    auto unstarted = pool.shutdown_now();
    require(unstarted.size() <= 1, "one at most");
    if (unstarted.empty()) {
      require(f.get() == 1, "it came to its end");
    } else {
      unstarted = {};
      try {
        f.get();
        require(false, "it never ran");
      } catch (const broken_promise&) {
      }
    }
    pool.await_termination();
    balanced(pool);
  });
}

TEST(thread_pool_model, two_shutdowns_and_a_stop) {
  check({.runs = 10'000}, [] {
    runs ended{0};
    thread_pool pool({.core_threads = 1, .terminated = [&] { ended.fetch_add(1); }});
    pool.execute([] {});
    sync::thread a([&] { pool.shutdown(); });
    sync::thread b([&] { static_cast<void>(pool.shutdown_now()); });
    a.join();
    b.join();
    pool.await_termination();
    require(ended.load() == 1, "one end");
    balanced(pool);
  });
}

TEST(thread_pool_model, cancel_against_run) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    thread_pool pool({.core_threads = 1});
    auto f = pool.submit([&] { ran.fetch_add(1); });
    const cancel_result r = f.cancel();
    f.wait();
    pool.close(drain);
    require(ran.load() == (r == cancel_result::prevented ? 0 : 1), "cancel() returns what it did");
    const task_totals tasks = pool.totals();
    require(tasks.cancelled == (r == cancel_result::done ? 0U : 1U), "as does the ledger");
    balanced(pool);
  });
}

TEST(thread_pool_model, resize_against_submit) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    thread_pool pool({.core_threads = 2});
    sync::thread other([&] {
      pool.resize(1);
      pool.resize(2);
    });
    for (int i = 0; i < 3; ++i) pool.execute([&] { ran.fetch_add(1); });
    other.join();
    pool.close(drain);
    require(ran.load() == 3, "each once");
    balanced(pool);
  });
}

// The worker's keep_alive ends just when a task is submitted.
void submit_as_time_is_up(std::size_t max, std::size_t queue_capacity) {
  check({.runs = 10'000}, [=] {
    runs ran{0};
    manual_clock time;
    {
      thread_pool pool({.core_threads = 0,
                        .max_threads = max,
                        .keep_alive = 1s,
                        .queue_capacity = queue_capacity,
                        .time = &time});
      pool.execute([&] { ran.fetch_add(1); });
      sync::thread other([&] { time.advance(1s); });
      pool.execute([&] { ran.fetch_add(1); });
      other.join();
      pool.close(drain);
      balanced(pool);
    }
    require(ran.load() == 2, "each once");
  });
}

TEST(thread_pool_model, keep_alive_against_submit) { submit_as_time_is_up(1, unbounded); }

// With a queue of 0, no task waits for a worker that leaves.
TEST(thread_pool_model, hand_off_against_keep_alive) { submit_as_time_is_up(2, 0); }

TEST(thread_pool_model, blocked_producers_get_room_or_are_told) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    runs refused{0};
    thread_pool pool(
        {.core_threads = 1, .queue_capacity = 1, .rejection = rejection_policy::wait()});
    const auto produce = [&] {
      for (int i = 0; i < 2; ++i) {
        try {
          pool.execute([&] { ran.fetch_add(1); });
        } catch (const rejected&) {
          refused.fetch_add(1);
        }
      }
    };
    sync::thread other(produce);
    produce();
    pool.shutdown();
    other.join();
    pool.await_termination();
    require(ran.load() + refused.load() == 4, "each has one end");
    balanced(pool);
  });
}

TEST(thread_pool_model, throwing_tasks_do_not_stop_the_worker) {
  check({.runs = 5'000}, [] {
    class count_hook final : public unhandled_hook {
     public:
      void on_unhandled(unhandled kind, const std::exception_ptr&) const noexcept override {
        if (kind == unhandled::uncaught) seen.fetch_add(1);
      }
      mutable runs seen{0};
    } hook;
    {
      thread_pool pool({.core_threads = 1, .unhandled = &hook});
      pool.execute([] { throw 1; });
      require(pool.submit([] { return 2; }).get() == 2, "the worker goes on");
    }
    require(hook.seen.load() == 1, "told once");
  });
}

// Each task waits for a task that only the other's thread could run: one of the waits throws.
TEST(thread_pool_model, waiting_for_each_other_is_found_out) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    const auto wait_for_another = [&] { pool.submit([] {}).get(); };
    auto a = pool.submit(wait_for_another);
    auto b = pool.submit(wait_for_another);
    int deadlocks = 0;
    for (auto* f : {&a, &b}) {
      try {
        f->get();
      } catch (const std::system_error&) {
        ++deadlocks;
      }
    }
    require(deadlocks <= 1, "the other one goes on");
    pool.close(drain);
    balanced(pool);
  });
}

TEST(thread_pool_model, a_blocking_region_has_its_work_done_by_another) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    promise<void> p;
    auto f = p.get_future();
    pool.execute([&] {
      const blocking_region waiting;
      f.wait();
    });
    pool.execute([&] { p.set_value(); });
    pool.close(drain);
    balanced(pool);
  });
}

// The last owner of the pool is one of its tasks.
TEST(thread_pool_model, destroyed_by_its_own_task) {
  check({.runs = 10'000}, [] {
    runs ended{0};
    sync::var<int> ran{0};  // the destructor, too, happens after the write
    auto pool = std::make_unique<thread_pool>(
        thread_pool_options{.core_threads = 2, .terminated = [&] { ended.fetch_add(1); }});
    thread_pool& alive = *pool;
    promise<void> go;
    auto gone = go.get_future();
    auto other = alive.submit([&] { ++ran.write(); });
    alive.execute([&, p = std::move(pool), g = std::move(go)]() mutable {
      p.reset();
      require(other.is_ready(), "the others have ended");
      require(ran.read() == (other.is_cancelled() ? 0 : 1), "ran or cancelled");
      require(ended.load() == 0, "but not the pool, which this worker is part of");
      g.set_value();
    });
    gone.wait();
    while (ended.load() == 0) sync::yield();  // its own worker ends later
    require(ended.load() == 1, "one end");
  });
}

// The destructor does not wait for itself if it is called while the pool's own task cancels the
// queue.
TEST(thread_pool_model, destroyed_by_what_its_own_task_cancels) {
  check({.runs = 10'000}, [] {
    runs ended{0};
    auto pool = std::make_unique<thread_pool>(
        thread_pool_options{.core_threads = 2, .terminated = [&] { ended.fetch_add(1); }});
    thread_pool& alive = *pool;
    promise<void> go;
    const auto gone_on = go.get_future();
    alive.execute([&] {
      gone_on.wait();
      alive.shutdown_and_cancel();
    });
    alive.execute([&] { gone_on.wait(); });
    alive.execute([p = std::move(pool)] {});
    go.set_value();
    while (ended.load() == 0) sync::yield();
    require(ended.load() == 1, "one end");
  });
}

TEST(thread_pool_model, destructor_against_running_and_queued_work) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    future<void> f;
    future<void> g;
    {
      thread_pool pool({.core_threads = 1});
      f = pool.submit([&] { ran.fetch_add(1); });
      g = pool.submit([&] { ran.fetch_add(1); });
    }
    require(f.is_ready() && g.is_ready(), "all has ended");
    const int finished = (f.is_cancelled() ? 0 : 1) + (g.is_cancelled() ? 0 : 1);
    require(ran.load() == finished, "ran or cancelled");
  });
}

}  // namespace

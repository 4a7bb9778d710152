// The open queue, to which producers append without the executor's lock, under all interleavings:
// some worker looks into it after each append, and tasks keep their order.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/blocking_region.hpp>
#include <takt/task/future.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

// Plain data that tasks access one after the other, in their order.
class sequence {
 public:
  auto step(int i) {
    return [this, i] {
      require(next_.read() == i, "in order");
      next_.write() = i + 1;
    };
  }
  [[nodiscard]] int done() const { return next_.read(); }

 private:
  sync::var<int> next_{0};
};

// Waits for each task, not for the pool's termination: ending the pool would wake sleeping workers.
template <class Pool>
void adds_to(Pool& pool) {
  promise<void> first;
  auto f = first.get_future();
  sync::thread other([&] {
    pool.execute([] {});
    pool.execute([&] { first.set_value(); });
  });
  pool.execute([] {});
  pool.submit([] {}).get();
  f.wait();
  other.join();
}

// --- workers

TEST(open_queue, added_as_the_worker_becomes_idle) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    adds_to(pool);
  });
  check({.runs = 5'000}, [] {
    stealing_pool pool({.threads = 1});
    adds_to(pool);
  });
}

// One of two workers may run a task that waits for the last task: the other one must wake for it.
TEST(open_queue, added_as_one_of_two_becomes_idle) {
  const auto body = [](auto& pool) {
    promise<void> p;
    auto f = p.get_future();
    pool.prestart();
    pool.execute([] {});
    auto waits = pool.submit([&] { f.wait(); });
    pool.submit([&] { p.set_value(); }).get();
    waits.get();
  };
  check({.runs = 10'000}, [&] {
    thread_pool pool({.core_threads = 2});
    body(pool);
  });
  check({.runs = 5'000}, [&] {
    stealing_pool pool({.threads = 2});
    body(pool);
  });
}

// Other threads submit tasks while a worker searches the local queues of others.
TEST(open_queue, added_as_a_worker_searches) {
  check({.runs = 5'000}, [] {
    promise<void> p;
    auto f = p.get_future();
    promise<void> q;
    auto g = q.get_future();
    stealing_pool pool({.threads = 2});
    pool.execute([&] {
      pool.execute([&] { q.set_value(); });
      f.wait();
    });
    pool.execute([] {});
    pool.execute([&] { p.set_value(); });
    f.wait();
    g.wait();
  });
}

// The only worker leaves as soon as it finds no task.
TEST(open_queue, added_as_the_last_worker_leaves) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 0, .max_threads = 1, .keep_alive = 0s});
    adds_to(pool);
    pool.close(drain);
    balanced(pool);
  });
}

TEST(open_queue, added_as_the_last_worker_of_the_core_times_out) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    thread_pool pool({.core_threads = 1, .keep_alive = 1s, .core_times_out = true, .time = &time});
    sync::thread other([&] {
      time.advance(1s);
      time.advance(1s);
    });
    for (int i = 0; i < 3; ++i) pool.execute([] {});
    pool.submit([] {}).get();
    other.join();
    pool.close(drain);
    balanced(pool);
  });
}

TEST(open_queue, added_as_workers_come_and_go) {
  check({.runs = 5'000}, [] {
    thread_pool pool({.core_threads = 1});
    sync::thread other([&] {
      pool.resize(2);
      pool.set_keep_alive(0s, false);
      pool.resize(0, 1);
    });
    for (int i = 0; i < 2; ++i) pool.execute([] {});
    pool.submit([] {}).get();
    other.join();
    pool.submit([] {}).get();
    pool.close(drain);
    balanced(pool);
  });
}

// Both tasks must run at once as soon as there are two threads; the waiting one was added before.
TEST(open_queue, added_before_the_pool_becomes_larger) {
  check({.runs = 10'000}, [] {
    promise<void> p;
    auto f = p.get_future();
    thread_pool pool({.core_threads = 1});
    pool.execute([&] { f.wait(); });
    sync::thread other([&] { pool.resize(2); });
    pool.execute([&] { p.set_value(); });
    f.wait();
    other.join();
  });
}

// A task in a blocking_region waits for another task, which another thread runs, whether it was
// added before the region or in it.
TEST(open_queue, added_as_the_worker_blocks) {
  check({.runs = 10'000}, [] {
    promise<void> p;
    auto f = p.get_future();
    thread_pool pool({.core_threads = 1});
    pool.execute([&] {
      const blocking_region waiting;
      f.wait();
    });
    pool.execute([&] { p.set_value(); });
    f.wait();
    pool.close(drain);
    balanced(pool);
  });
}

// --- shutdown

// Submits three tasks; the last two while the first one's worker is on its way, or runs it.
template <class Executor>
int submit_three(Executor& where, runs& ran) {
  int accepted = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      where.execute([&ran] { ran.fetch_add(1); });
      ++accepted;
    } catch (const rejected&) {
    }
  }
  return accepted;
}

template <class Executor>
void added_until_shutdown(Executor& where) {
  runs ran{0};
  sync::thread other([&] { where.shutdown(); });
  const int accepted = submit_three(where, ran);
  other.join();
  where.await_termination();
  require(ran.load() == accepted, "what was accepted ran");
}

TEST(open_queue, added_until_shutdown) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    added_until_shutdown(pool);
    balanced(pool);
  });
  check({.runs = 5'000}, [] {
    stealing_pool pool({.threads = 2});
    added_until_shutdown(pool);
    balanced(pool);
  });
  check({.runs = 5'000}, [] {
    thread_pool pool({.core_threads = 1});
    serial_executor strand(pool);
    added_until_shutdown(strand);
    require(strand.totals().pending() == 0, "the ledger balances");
  });
}

// Returned tasks are in order as well.
template <class Executor>
void added_until_stop(Executor& where, bool in_order) {
  runs ran{0};
  int returned = 0;
  sync::thread other([&] {
    std::uint64_t last = 0;
    for (const task& t : where.shutdown_now()) {
      require(!in_order || t.id() > last, "in order");
      last = t.id();
      ++returned;
    }
  });
  const int accepted = submit_three(where, ran);
  other.join();
  where.await_termination();
  require(ran.load() + returned == accepted, "ran or returned");
}

TEST(open_queue, added_until_stop) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    added_until_stop(pool, true);
    balanced(pool);
  });
  check({.runs = 5'000}, [] {
    stealing_pool pool({.threads = 2});
    added_until_stop(pool, false);
    balanced(pool);
  });
  check({.runs = 5'000}, [] {
    thread_pool pool({.core_threads = 1});
    serial_executor strand(pool);
    added_until_stop(strand, true);
    require(strand.totals().pending() == 0, "the ledger balances");
  });
}

// The task destroys the pool, although its producer may not have returned from execute() yet.
TEST(open_queue, added_to_destroy_the_pool) {
  check({.runs = 10'000}, [] {
    sync::atomic<int> ended{0};
    auto pool = std::make_unique<thread_pool>(
        thread_pool_options{.core_threads = 1, .terminated = [&] { ended.fetch_add(1); }});
    thread_pool& alive = *pool;
    alive.execute([] {});
    alive.execute([p = std::move(pool)]() mutable { p.reset(); });
    while (ended.load() == 0) sync::yield();
  });
}

TEST(open_queue, added_to_destroy_the_strand) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    auto strand = std::make_unique<serial_executor>(pool);
    serial_executor& alive = *strand;
    alive.execute([] {});
    alive.execute([s = std::move(strand)]() mutable { s.reset(); });
    pool.close(drain);
  });
}

// --- order

TEST(open_queue, one_producer_keeps_its_order_in_one_thread) {
  check({.runs = 10'000}, [] {
    sequence s;
    thread_pool pool({.core_threads = 1});
    sync::thread other([&] {
      pool.execute([] {});
      pool.execute([] {});
    });
    for (int i = 0; i < 3; ++i) pool.execute(s.step(i));
    pool.submit(s.step(3)).get();
    other.join();
    pool.close(drain);
    require(s.done() == 4, "each once");
    balanced(pool);
  });
}

TEST(open_queue, one_producer_keeps_its_order_as_the_thread_leaves) {
  check({.runs = 10'000}, [] {
    sequence s;
    thread_pool pool({.core_threads = 0, .max_threads = 1, .keep_alive = 0s});
    for (int i = 0; i < 3; ++i) pool.execute(s.step(i));
    pool.submit(s.step(3)).get();
    require(s.done() == 4, "each once");
  });
}

TEST(open_queue, one_producer_keeps_its_order_in_a_strand) {
  for (const std::size_t batch : {std::size_t{1}, std::size_t{2}, unbounded}) {
    check({.runs = 5'000}, [batch] {
      sequence s;
      thread_pool pool({.core_threads = 2});
      serial_executor strand(pool, {.batch = batch});
      sync::thread other([&] { strand.execute([] {}); });
      for (int i = 0; i < 3; ++i) strand.execute(s.step(i));
      strand.submit(s.step(3)).get();
      other.join();
      require(s.done() == 4, "each once");
      strand.close(drain);
      require(strand.totals().pending() == 0, "the ledger balances");
    });
  }
}

// --- strands

// Waits for each task, not for the strand's termination: no task is left behind by a drain that has
// ended.
TEST(open_queue, added_as_the_drain_ends) {
  for (const std::size_t batch : {std::size_t{1}, unbounded}) {
    check({.runs = 5'000}, [batch] {
      thread_pool pool({.core_threads = 2});
      serial_executor strand(pool, {.batch = batch});
      adds_to(strand);
    });
  }
}

// The drain is dropped with the tasks added meanwhile; the next producer submits another drain.
TEST(open_queue, added_as_the_drain_is_dropped) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    manual_executor loop;
    serial_executor strand(loop);
    sync::thread other([&] {
      loop.poll_one();
      static_cast<void>(loop.shutdown_now());
    });
    int refused = 0;
    for (int i = 0; i < 3; ++i) {
      try {
        strand.execute([&] { ran.fetch_add(1); });
      } catch (const rejected&) {
        ++refused;
      }
    }
    other.join();
    const task_totals totals = strand.totals();
    require(totals.pending() == 0, "nothing is left in a strand without a drain");
    require(strand.queued() == 0, "nor queued");
    require(static_cast<int>(totals.finished) == ran.load(), "some ran");
    require(totals.rejected + totals.finished == 3, "the others were rejected");
    require(refused <= static_cast<int>(totals.rejected),
            "execute() threw, or the tasks were dropped");
  });
}

// --- remove() and purge()

TEST(open_queue, removed_or_run) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    thread_pool pool({.core_threads = 1});
    pool.execute([] {});
    sync::thread other([&] { pool.execute([] {}); });
    auto f = pool.submit([&] { ran.fetch_add(1); });
    task t = pool.remove(f);
    require(static_cast<bool>(t) == pool.submit([&] { return ran.load() == 0; }).get(),
            "one of the two");
    if (t) t.run();
    f.get();
    other.join();
    pool.close(drain);
    require(ran.load() == 1, "once");
    balanced(pool);
  });
}

// The only worker is held, so added tasks stay in the queue.
TEST(open_queue, removed_and_purged_while_others_add) {
  check({.runs = 10'000}, [] {
    promise<void> goes;
    auto go = goes.get_future();
    promise<void> begins;
    auto begun = begins.get_future();
    thread_pool pool({.core_threads = 1});
    pool.execute([&] {
      begins.set_value();
      go.wait();
    });
    begun.wait();
    sync::thread other([&] { pool.execute([] {}); });
    auto f = pool.submit([] {});
    auto g = pool.submit([] {});
    task t = pool.remove(f);
    require(static_cast<bool>(t), "it was queued");
    require(g.cancel() == cancel_result::prevented, "it has not begun");
    require(pool.purge() == 1, "it was queued");
    goes.set_value();
    other.join();
    pool.close(drain);
    const task_totals tasks = pool.totals();
    require(tasks.finished == 2 && tasks.cancelled == 1 && tasks.returned == 1, "one end each");
    balanced(pool);
  });
}

// --- totals

// No thread sees more outcomes than submissions.
TEST(open_queue, counts_never_exceed_what_has_happened) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    sync::thread other([&] {
      for (int i = 0; i < 2; ++i) {
        const task_totals now = pool.totals();
        require(now.submitted >= now.finished, "each end has its beginning");
        require(now.submitted <= 3 && pool.statistics().queued <= 3, "and no more");
      }
    });
    for (int i = 0; i < 3; ++i) pool.execute([] {});
    other.join();
    pool.close(drain);
    const task_totals end = pool.totals();
    require(end.submitted == 3 && end.finished == 3, "exact in the end");
  });
}

}  // namespace

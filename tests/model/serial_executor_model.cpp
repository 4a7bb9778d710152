// The serial executor under all interleavings: tasks run one at a time, in order, and none is lost.
#include <memory>
#include <utility>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/future.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;

// Plain data that only tasks of one strand access: overlapping tasks would race.
using touched = sync::var<int>;

TEST(serial_executor_model, tasks_never_overlap_and_keep_their_order) {
  check({.runs = 10'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 2});
    serial_executor strand(pool);
    sync::thread other([&] { strand.execute([&] { n.write() += 10; }); });
    strand.execute([&] { n.write() += 1; });
    auto last = strand.submit([&] { return n.read(); });
    other.join();
    require(last.get() % 10 == 1, "after the first of its own thread");
    strand.close(drain);
    require(n.read() == 11, "each once");
    require(strand.totals().pending() == 0, "the ledger balances");
  });
}

TEST(serial_executor_model, a_fair_one_hands_over) {
  check({.runs = 10'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 2});
    serial_executor strand(pool, {.batch = 1});
    for (int i = 0; i < 3; ++i) {
      strand.execute([&n, i] {
        require(n.read() == i, "in order");
        n.write() = i + 1;
      });
    }
    strand.close(drain);
    require(n.read() == 3, "each once");
  });
}

// The underlying executor may be destroyed right after the strand.
TEST(serial_executor_model, uses_its_executor_no_more_after_its_end) {
  class passes_on {
   public:
    explicit passes_on(thread_pool& to) : to_(to) {}
    ~passes_on() { uses_.write() = 0; }  // a race if execute() is running
    void execute(task t) {
      uses_.write() += 1;
      to_.execute(std::move(t));
    }

   private:
    thread_pool& to_;
    sync::var<int> uses_{0};
  };
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    passes_on where(pool);
    serial_executor strand(where, {.batch = 1});
    strand.execute([] {});
    strand.execute([] {});
  });
}

// Also if a task of the drain that was just submitted destroys the strand.
TEST(serial_executor_model, uses_its_executor_no_more_after_its_own_task_has_destroyed_it) {
  class passes_on {
   public:
    explicit passes_on(thread_pool& to) : to_(to) {}
    void execute(task t) {
      to_.execute(std::move(t));
      uses_.write() += 1;  // the task may be running already
    }

   private:
    thread_pool& to_;
    sync::var<int> uses_{0};
  };
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    auto where = std::make_unique<passes_on>(pool);
    auto strand = std::make_unique<serial_executor>(*where, serial_executor_options{.batch = 1});
    promise<void> go;
    const auto gone_on = go.get_future();
    strand->execute([&] { gone_on.wait(); });
    strand->execute([&] {
      strand.reset();
      where.reset();
    });
    go.set_value();
    pool.close(drain);
    require(where == nullptr, "it ran");
  });
}

// A strand that a closure destroys, while a task of the strand cancels the queue, does not wait for
// itself.
TEST(serial_executor_model, destroyed_by_what_its_own_task_cancels) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 2});
    auto strand = std::make_unique<serial_executor>(pool, serial_executor_options{.batch = 1});
    serial_executor& alive = *strand;
    promise<void> go;
    const auto gone_on = go.get_future();
    alive.execute([&] { gone_on.wait(); });
    alive.execute([&] { alive.shutdown_and_cancel(); });
    alive.execute([s = std::move(strand)] {});
    go.set_value();
    pool.close(drain);
  });
}

TEST(serial_executor_model, the_last_task_against_the_next) {
  check({.runs = 10'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 1});
    serial_executor strand(pool);
    strand.submit([&] { n.write() += 1; }).get();  // the drain may be ending
    strand.submit([&] { n.write() += 1; }).get();
    strand.close(drain);
    require(n.read() == 2, "each once");
  });
}

TEST(serial_executor_model, submit_against_shutdown_now) {
  check({.runs = 10'000}, [] {
    sync::atomic<int> ran{0};
    int accepted = 0;
    std::size_t returned = 0;
    thread_pool pool({.core_threads = 1});
    serial_executor strand(pool);
    sync::thread other([&] { returned = strand.shutdown_now().size(); });
    for (int i = 0; i < 2; ++i) {
      try {
        strand.execute([&] { ran.fetch_add(1); });
        ++accepted;
      } catch (const rejected&) {
      }
    }
    other.join();
    strand.await_termination();
    require(ran.load() + static_cast<int>(returned) == accepted, "ran or returned");
    require(strand.totals().pending() == 0, "the ledger balances");
  });
}

// The pool is stopped while the drain is in its queue, runs, or is about to be submitted again.
TEST(serial_executor_model, the_pool_is_stopped_under_it) {
  for (const std::size_t batch : {std::size_t{1}, unbounded}) {
    check({.runs = 10'000}, [batch] {
      sync::atomic<int> ran{0};
      int refused = 0;
      thread_pool pool({.core_threads = 1});
      serial_executor strand(pool, {.batch = batch});
      sync::thread other([&] { static_cast<void>(pool.shutdown_now()); });
      std::vector<future<void>> all;
      for (int i = 0; i < 2; ++i) {
        try {
          all.push_back(strand.submit([&] { ran.fetch_add(1); }));
        } catch (const rejected&) {
          ++refused;
        }
      }
      other.join();
      int dropped = 0;
      for (auto& f : all) {
        try {
          f.get();
        } catch (const rejected&) {
          ++dropped;
        }
      }
      require(ran.load() + refused + dropped == 2, "each has one end");
      pool.await_termination();
      strand.close(drain);
      require(strand.totals().pending() == 0, "the ledger balances");
    });
  }
}

TEST(serial_executor_model, destroyed_while_it_runs) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    {
      auto data = std::make_unique<touched>(0);
      serial_executor strand(pool);
      strand.execute([d = data.get()] { d->write() += 1; });
      strand.execute([d = data.get()] { d->write() += 1; });
    }  // the strand is destroyed first: none of its tasks runs when `data` is destroyed
    pool.close(drain);
  });
}

TEST(serial_executor_model, destroyed_by_its_own_task) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    auto strand = std::make_unique<serial_executor>(pool);
    serial_executor& alive = *strand;
    sync::atomic<bool> gone{false};
    sync::atomic<int> later{0};
    auto queued = alive.submit([&, s = std::move(strand)]() mutable {
      s.reset();
      gone.store(true);
    });
    queued.wait();
    require(gone.load(), "it ran");
    pool.close(drain);
    require(later.load() == 0, "nothing else");
  });
}

// A closure that the shutdown destroys destroys the strand. The destructor waits for the running
// task, but not for its caller.
TEST(serial_executor_model, destroyed_by_its_own_end) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    auto owner = std::make_unique<serial_executor>(pool);
    serial_executor& strand = *owner;
    strand.execute([&strand] {
      while (!strand.is_shutdown()) sync::yield();
    });
    strand.execute([own = std::move(owner)] {});
    strand.shutdown_and_cancel();
    pool.close(drain);
  });
}

// A drain that ends while the queue is being cancelled does not terminate the strand before all
// tasks are cancelled.
TEST(serial_executor_model, terminated_means_that_the_queue_has_ended) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    serial_executor strand(pool);
    promise<void> goes;
    auto go = goes.get_future();
    strand.execute([&] { go.wait(); });
    auto f = strand.submit([] {});
    sync::thread other([&] {
      goes.set_value();
      strand.shutdown_and_cancel();
    });
    strand.await_termination();
    const bool ended = f.is_ready() && strand.totals().pending() == 0;
    other.join();
    require(ended, "all has ended");
  });
}

}  // namespace

// Workers under all kinds of interleavings: tasks are sequential, each has one outcome, none leaks.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;
using namespace std::chrono_literals;

// Plain data that only tasks of one worker access: overlapping tasks would be a race.
using touched = sync::var<int>;

struct silent_hook final : unhandled_hook {
  void on_unhandled(unhandled /*kind*/,
                    const std::exception_ptr& /*error*/) const noexcept override {}
};
constexpr silent_hook silent{};

// A callable whose destructor accesses the data.
class witness {
 public:
  explicit witness(touched& of) noexcept : of_(&of) {}
  witness(witness&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  witness& operator=(witness&&) = delete;
  ~witness() {
    if (of_ != nullptr) of_->write() += 1;
  }

 private:
  touched* of_;
};

TEST(worker_model, close_against_schedule) {
  check({.runs = 10'000}, [] {
    touched n(0);
    int ran = 0;
    thread_pool pool({.core_threads = 1});
    {
      rx::worker w(pool);
      const rx::subscription closes = w.as_subscription();
      sync::thread other([&] { closes.unsubscribe(); });
      const rx::task_subscription a = w.schedule([&] { n.write() += 1; });
      const rx::task_subscription b = w.schedule([&] { n.write() += 1; });
      other.join();
      require(w.is_unsubscribed(), "closed");
      require(w.tracked() == 0, "nothing is kept");
      require(a.is_unsubscribed() || a.run_count() == 1, "cancelled, rejected, or it runs");
      require(!b.is_rejected() || b.run_count() == 0, "what is rejected does not run");
      require(w.schedule([] {}).is_rejected(), "it takes no more");
    }
    ran = n.read();
    require(ran <= 2, "each once at most; and nothing runs when the worker is gone");
  });
}

// Wherever the strand has the task at that time: queued, taken out, running, or completed.
TEST(worker_model, what_is_closed_is_closed_when_that_returns) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched first(0);
    touched second(0);
    thread_pool pool({.core_threads = 1});
    {
      rx::worker w(pool);
      const rx::task_subscription a = w.schedule([&] { n.write() += 1; });
      const rx::task_subscription b = w.schedule([&] { n.write() += 1; });
      a.add([&] { first.write() += 1; });
      b.add([&] { second.write() += 1; });
      w.unsubscribe();
      require(a.is_unsubscribed() && b.is_unsubscribed(), "both are closed");
      require(w.tracked() == 0, "nothing is kept");
    }
    require(n.read() <= 2, "each once at most");
    require(first.read() == 1 && second.read() == 1, "cleaned up once");
  });
}

// Of the threads that run it, cancel it and close the worker, one takes the task.
TEST(worker_model, run_against_cancel_against_close) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched cleaned(0);
    cancel_result outcome = cancel_result::done;
    thread_pool pool({.core_threads = 1});
    {
      rx::worker w(pool);
      rx::task_subscription a = w.schedule([&] { n.write() += 1; });
      a.add([&] { cleaned.write() += 1; });
      sync::thread other([&outcome, mine = std::move(a)] { outcome = mine.cancel(); });
      w.unsubscribe();
      other.join();
      require(w.tracked() == 0, "nothing is kept");
    }
    require(n.read() == 0 || outcome != cancel_result::prevented, "as cancel() says");
    require(cleaned.read() == 1, "cleaned up once");
  });
}

TEST(worker_model, what_is_cancelled_is_not_tracked) {
  check({.runs = 10'000}, [] {
    touched n(0);
    sync::atomic<bool> go_on{false};
    thread_pool pool({.core_threads = 1});
    rx::worker w(pool);
    const rx::task_subscription a = w.schedule([&] {
      while (!go_on.load()) sync::yield();
      n.write() += 1;
    });
    const rx::task_subscription b = w.schedule([&] { n.write() += 1; });
    sync::thread other([&] { b.unsubscribe(); });
    a.unsubscribe();
    other.join();
    while (w.tracked() != 0)
      sync::yield();  // one may still run; the thread that runs b may be about to close it
    go_on.store(true);
    const rx::task_subscription c = w.schedule([&] { n.write() += 1; });
    while (!c.is_unsubscribed()) sync::yield();
    while (w.tracked() != 0) sync::yield();  // the running thread may be about to remove it
    require(n.read() <= 2, "and the next one follows");
  });
}

TEST(worker_model, a_drain_hands_over) {
  for (const std::size_t batch : {unbounded, std::size_t{1}}) {
    check({.runs = 5'000}, [batch] {
      touched n(0);
      thread_pool pool({.core_threads = 2});
      rx::worker w(pool, {.batch = batch});
      sync::atomic<bool> last{false};
      sync::thread other([&] { w.schedule([&] { n.write() += 1; }); });
      w.schedule([&] { n.write() += 1; });
      other.join();
      const rx::task_subscription a = w.schedule([&] {
        require(n.read() == 2, "after the others");
        last.store(true);
      });
      while (!a.is_unsubscribed()) sync::yield();
      require(last.load(), "it has run");
    });
  }
}

TEST(worker_model, a_throw_inside_a_drain) {
  for (const std::size_t batch : {unbounded, std::size_t{1}}) {
    check({.runs = 5'000}, [batch] {
      touched n(0);
      thread_pool pool({.core_threads = 2});
      rx::worker w(pool, {.batch = batch, .unhandled = &silent});
      w.schedule([&] {
        n.write() += 1;
        throw std::runtime_error("bad");
      });
      const rx::task_subscription b = w.schedule([&] { n.write() += 1; });
      sync::thread other([&] { w.schedule([] { throw std::runtime_error("worse"); }); });
      while (!b.is_unsubscribed()) sync::yield();
      require(b.run_count() == 1, "it has run");
      other.join();
    });
  }
}

TEST(worker_model, cancel_against_run) {
  check({.runs = 10'000}, [] {
    touched n(0);
    touched closure(0);
    touched cleaned(0);
    cancel_result outcome = cancel_result::done;
    {
      thread_pool pool({.core_threads = 1});
      rx::worker w(pool);
      const rx::task_subscription a = w.schedule([&n, held = witness(closure)] { n.write() += 1; });
      a.add([&] { cleaned.write() += 1; });
      outcome = a.cancel();
      if (outcome == cancel_result::prevented) {
        require(closure.read() == 1, "the callable is gone");
        require(cleaned.read() == 1, "cleaned up by the canceller");
      }
      require(a.is_unsubscribed(), "closed");
    }
    require(n.read() == (outcome == cancel_result::prevented ? 0 : 1), "as cancel() says");
    require(closure.read() == 1, "destroyed once");
    require(cleaned.read() == 1, "cleaned up once");
  });
}

TEST(worker_model, cancel_from_another_thread_while_running) {
  check({.runs = 10'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 1});
    rx::worker w(pool, {.interruptible = true});
    sync::atomic<bool> begun{false};
    const rx::task_subscription a = w.schedule([&](const sync::stop_token& stop) {
      begun.store(true);
      while (!stop.stop_requested()) sync::yield();
      n.write() += 1;
    });
    while (!begun.load()) sync::yield();
    require(a.cancel() == cancel_result::running, "it runs");
    const rx::task_subscription b = w.schedule([&] { n.write() += 1; });
    while (!b.is_unsubscribed()) sync::yield();
    require(n.read() == 2, "the next one follows");
  });
}

// A cancelled task continues, because its worker does not interrupt: only the destructor requests
// stop.
TEST(worker_model, cancel_of_what_runs_against_the_destructor) {
  check({.runs = 10'000}, [] {
    touched n(0);
    sync::atomic<bool> begun{false};
    thread_pool pool({.core_threads = 1});
    auto w = std::make_unique<rx::worker>(pool);
    rx::task_subscription a = w->schedule([&](const sync::stop_token& stop) {
      begun.store(true);
      while (!stop.stop_requested()) sync::yield();
      n.write() += 1;
    });
    while (!begun.load()) sync::yield();
    sync::thread other([mine = std::move(a)] { mine.unsubscribe(); });
    w.reset();
    require(n.read() == 1, "it was asked, and has ended");
    other.join();
  });
}

TEST(worker_model, what_has_ended_is_not_asked_to_stop) {
  check({.runs = 10'000}, [] {
    sync::stop_token seen;
    rx::task_subscription a;
    thread_pool pool({.core_threads = 1});
    {
      rx::worker w(pool);
      a = w.schedule([&](const sync::stop_token& stop) { seen = stop; });
      a.unsubscribe();
      const rx::task_subscription next = w.schedule([] {});
      while (!next.is_unsubscribed()) sync::yield();
    }
    require(!seen.stop_requested(), "not by the end of its worker");
  });
}

TEST(worker_model, cancel_and_join_comes_after_the_body) {
  check({.runs = 10'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 1});
    rx::worker w(pool);
    const rx::task_subscription a = w.schedule([&] { n.write() += 1; });
    sync::thread other([&] { a.unsubscribe(); });
    a.cancel_and_join();
    n.write() += 1;  // what the task refers to can be destroyed
    other.join();
  });
}

TEST(worker_model, cancel_and_join_comes_after_the_end_of_the_callable) {
  check({.runs = 10'000}, [] {
    touched closure(0);
    thread_pool pool({.core_threads = 1});
    rx::worker w(pool);
    const rx::task_subscription a = w.schedule([held = witness(closure)] {});
    sync::thread other([&] { a.unsubscribe(); });
    a.cancel_and_join();
    require(closure.read() == 1, "what it refers to may go");
    other.join();
  });
}

TEST(worker_model, a_series_cancel_and_join_comes_after_the_end_of_the_callable) {
  check({.runs = 5'000}, [] {
    touched closure(0);
    scheduled_pool pool({.threads = 1});
    rx::worker w(pool);
    const rx::task_subscription a =
        w.schedule_at_fixed_rate(0ns, 1ns, [n = 0, held = witness(closure)]() mutable {
          if (++n == 2) throw cancelled();
        });
    const rx::subscription all = w.as_subscription();
    sync::thread other([&] { all.unsubscribe(); });
    a.cancel_and_join();
    require(closure.read() == 1, "what it refers to may go");
    other.join();
  });
}

TEST(worker_model, two_cancel_one) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    rx::worker w(pool);
    const rx::task_subscription a = w.schedule([] {});
    cancel_result there = cancel_result::done;
    sync::thread other([&] { there = a.cancel(); });
    const cancel_result here = a.cancel();
    other.join();
    require(here == cancel_result::done || there == cancel_result::done, "only one has done it");
  });
}

TEST(worker_model, a_delayed_task_against_cancel) {
  check({.runs = 5'000}, [] {
    touched n(0);
    cancel_result outcome = cancel_result::done;
    {
      scheduled_pool timers({.threads = 1});
      thread_pool pool({.core_threads = 1});
      rx::worker w(pool, {.timers = &timers});
      const rx::task_subscription a = w.schedule(1ns, [&] { n.write() += 1; });
      outcome = a.cancel();
      if (outcome == cancel_result::prevented) require(w.tracked() == 0, "nothing is kept");
    }
    require(n.read() == 0 || outcome != cancel_result::prevented, "as cancel() says");
  });
}

TEST(worker_model, a_delayed_task_against_the_destructor) {
  check({.runs = 5'000}, [] {
    touched n(0);
    scheduled_pool timers({.threads = 1});
    auto pool = std::make_unique<thread_pool>(thread_pool_options{.core_threads = 1});
    auto w = std::make_unique<rx::worker>(*pool, rx::worker_options{.timers = &timers});
    w->schedule(1ns, [&] { n.write() += 1; });
    w.reset();
    pool.reset();  // the timers no longer use it
    require(n.read() <= 1, "once at most");
  });
}

TEST(worker_model, a_series_against_cancel) {
  check({.runs = 5'000}, [] {
    touched n(0);
    scheduled_pool pool({.threads = 2});
    {
      rx::worker w(pool);
      const rx::task_subscription a = w.schedule_at_fixed_rate(0ns, 1ns, [&] {
        if ((n.write() += 1) >= 3) throw cancelled();  // otherwise it might never end
      });
      sync::thread other([&] { a.unsubscribe(); });
      w.schedule([&] { n.write() += 1; });
      other.join();
      require(a.is_unsubscribed(), "closed");
    }
    require(n.read() >= 0, "nothing runs any more");
    require(pool.statistics().delayed == 0, "nothing waits any more");
  });
}

TEST(worker_model, a_series_ends_itself_against_cancel_and_join) {
  check({.runs = 5'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 2});
    scheduled_pool timers({.threads = 1});
    rx::worker w(pool, {.timers = &timers});
    rx::task_subscription a;
    sync::atomic<bool> known{false};
    a = w.schedule_at_fixed_rate(0ns, 1ns, [&] {
      while (!known.load()) sync::yield();
      if ((n.write() += 1) == 2) a.unsubscribe();
    });
    known.store(true);
    const cancel_result outcome = a.cancel_and_join();
    require(outcome != cancel_result::running, "it has waited");
    n.write() += 10;  // what the task refers to can be destroyed
    require(n.read() <= 12, "it has ended itself at the latest");
    while (w.tracked() != 0) sync::yield();  // the running thread may be about to remove it
  });
}

// Two threads schedule; one may lose the task that the other has just queued.
TEST(worker_model, an_executor_that_is_full_against_schedule) {
  for (const std::size_t batch : {unbounded, std::size_t{1}}) {
    check({.runs = 5'000}, [batch] {
      touched n(0);
      sync::atomic<bool> go_on{false};
      thread_pool pool({.core_threads = 1, .queue_capacity = 1});
      pool.execute([&] {
        while (!go_on.load()) sync::yield();
      });
      try {
        pool.execute([] {});
      } catch (const rejected&) {
      }
      rx::worker w(pool, {.batch = batch, .unhandled = &silent});
      rx::task_subscription there;
      bool there_thrown = false;
      sync::thread other([&] {
        try {
          there = w.schedule([&] { n.write() += 1; });
        } catch (const rejected&) {
          there_thrown = true;
        }
      });
      rx::task_subscription here;
      bool here_thrown = false;
      try {
        here = w.schedule([&] { n.write() += 1; });
      } catch (const rejected&) {
        here_thrown = true;
      }
      go_on.store(true);
      other.join();
      while (!here.is_unsubscribed() || !there.is_unsubscribed()) sync::yield();
      const auto lost = [](bool thrown, const rx::task_subscription& a) {
        return thrown || a.is_rejected();
      };
      require(lost(here_thrown, here) == (here.run_count() == 0), "run, or refused");
      require(lost(there_thrown, there) == (there.run_count() == 0), "run, or refused");
      while (w.tracked() != 0) sync::yield();  // the closing thread may be about to remove it
      require(!w.is_unsubscribed(), "it goes on");
    });
  }
}

TEST(worker_model, a_cleanup_that_closes_the_worker) {
  check({.runs = 5'000}, [] {
    touched n(0);
    touched cleaned(0);
    thread_pool pool({.core_threads = 1});
    {
      rx::worker w(pool);
      const rx::subscription all = w.as_subscription();
      const rx::task_subscription a = w.schedule([&] { n.write() += 1; });
      a.add([&] {
        cleaned.write() += 1;
        all.unsubscribe();
      });
      w.schedule([&] { n.write() += 1; });
      a.unsubscribe();
      while (!w.is_unsubscribed()) sync::yield();
    }
    require(cleaned.read() == 1, "once");
    require(n.read() <= 2, "each once at most");
  });
}

TEST(worker_model, an_executor_that_goes_against_schedule) {
  check({.runs = 10'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 1});
    rx::worker w(pool, {.unhandled = &silent});
    sync::thread other([&] { static_cast<void>(pool.shutdown_now()); });
    const rx::task_subscription a = w.schedule([&] { n.write() += 1; });
    other.join();
    pool.await_termination();
    require(a.is_unsubscribed(), "it has run, or was refused");
    require(a.is_rejected() == (n.read() == 0), "and knows which");
    require(w.tracked() == 0, "nothing is kept");
    require(w.schedule([] {}).is_rejected(), "closed at the latest now");
  });
}

TEST(worker_model, an_owned_executor_goes_with_its_worker) {
  check({.runs = 5'000}, [] {
    touched n(0);
    {
      rx::worker w(std::make_unique<scheduled_pool>(scheduled_pool::single()));
      const rx::subscription closes = w.as_subscription();
      w.schedule([&] { n.write() += 1; });
      sync::thread other([&] { closes.unsubscribe(); });
      w.schedule([&] { n.write() += 1; });
      other.join();
    }
    require(n.read() <= 2, "each once at most");
  });
}

TEST(worker_model, a_task_destroys_its_worker) {
  check({.runs = 5'000}, [] {
    thread_pool pool({.core_threads = 1});
    auto w = std::make_unique<rx::worker>(pool);
    rx::worker& alias = *w;
    const rx::task_subscription a = alias.schedule([&] { w.reset(); });
    while (!a.is_unsubscribed()) sync::yield();
    pool.close(drain);
    require(w == nullptr, "gone");
  });
}

// Destroyed by a callable that unsubscribe() destroys: the destructor cannot wait for its caller.
TEST(worker_model, destroyed_by_its_own_end) {
  check({.runs = 1'000}, [] {
    manual_executor nobody_runs;
    auto owner = std::make_unique<rx::worker>(nobody_runs);
    rx::worker& alive = *owner;
    alive.schedule([own = std::move(owner)] {});
    alive.unsubscribe();
  });
}

}  // namespace

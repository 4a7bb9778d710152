// Schedulers and trampolines under all kinds of interleavings.
#include <chrono>
#include <memory>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;
using namespace std::chrono_literals;

using touched = sync::var<int>;

rx::worker trampoline() {
  return rx::worker(detail::worker_place{.access = detail::worker_place::kind::trampoline}, {});
}

TEST(rx_scheduler_model, two_on_a_trampoline) {
  check({.runs = 10'000}, [] {
    touched n(0);
    rx::worker w = trampoline();
    sync::thread other([&] { w.schedule([&] { n.write() += 1; }); });
    w.schedule([&] {
      n.write() += 1;
      w.schedule([&] { n.write() += 1; });
    });
    other.join();
    require(n.read() == 3, "all have run when both calls have returned");
    require(w.tracked() == 0, "nothing is kept");
  });
}

TEST(rx_scheduler_model, a_trampoline_waits_for_what_is_cancelled) {
  check({.runs = 5'000}, [] {
    rx::worker w = trampoline();
    const rx::subscription all = w.as_subscription();
    touched n(0);
    sync::thread other([&] { all.unsubscribe(); });
    w.schedule(1h, [&] { n.write() += 1; });  // in virtual time, so it may run
    other.join();
    require(n.read() <= 1, "once at most");
    require(w.tracked() == 0, "nothing is kept");
  });
}

TEST(rx_scheduler_model, immediate_against_close) {
  check({.runs = 5'000}, [] {
    rx::worker w(detail::worker_place{.access = detail::worker_place::kind::immediate}, {});
    const rx::subscription all = w.as_subscription();
    touched n(0);
    sync::thread other([&] { all.unsubscribe(); });
    const rx::task_subscription a = w.schedule(1h, [&] { n.write() += 1; });
    other.join();
    require(a.is_unsubscribed(), "it has run or was cancelled");
    require(n.read() <= 1, "once at most");
  });
}

TEST(rx_scheduler_model, two_on_an_immediate) {
  check({.runs = 10'000}, [] {
    touched a(0);
    touched b(0);
    rx::worker w(detail::worker_place{.access = detail::worker_place::kind::immediate}, {});
    sync::thread other([&] { w.schedule([&] { a.write() += 1; }); });
    w.schedule([&] { w.schedule([&] { b.write() += 1; }); });
    require(b.read() == 1, "it does not wait for the other one");
    other.join();
    require(a.read() == 1, "within schedule()");
    require(w.tracked() == 0, "nothing is kept");
  });
}

TEST(rx_scheduler_model, a_trampoline_against_cancel) {
  check({.runs = 10'000}, [] {
    touched n(0);
    rx::worker w = trampoline();
    rx::task_subscription late;
    sync::atomic<bool> known{false};
    sync::thread other([&] {
      while (!known.load()) sync::yield();
      late.cancel();
    });
    w.schedule([&] {
      late = w.schedule(1h, [&] { n.write() += 1; });
      known.store(true);
    });
    other.join();
    require(late.is_unsubscribed(), "it has run or was cancelled");
    require(n.read() == static_cast<int>(late.run_count()), "once at most");
    require(w.tracked() == 0, "nothing is kept");
    w.schedule([&] { n.write() += 1; });
    require(n.read() >= 1, "and it goes on");
  });
}

TEST(rx_scheduler_model, start_against_shutdown) {
  check({.runs = 5'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 1});
    rx::worker_scheduler s = rx::worker_scheduler::from(pool);
    s.shutdown();
    sync::thread other([&] { s.shutdown(); });
    s.start();
    const rx::task_subscription a = s.schedule([&] { n.write() += 1; });
    other.join();
    while (!a.is_unsubscribed()) sync::yield();
    require(!a.is_rejected() || a.run_count() == 0, "what is rejected does not run");
    s.start();
    rx::worker w = s.create_worker();
    require(!w.is_unsubscribed() && !s.is_shutdown(), "whatever came before");
  });
}

TEST(rx_scheduler_model, one_that_runs_alone_against_shutdown_and_cancel) {
  check({.runs = 5'000}, [] {
    touched n(0);
    rx::task_subscription a;
    {
      thread_pool pool({.core_threads = 1});
      rx::worker_scheduler s = rx::worker_scheduler::from(pool);
      a = s.schedule([&] { n.write() += 1; });
      sync::thread other([&] { s.shutdown(); });
      const cancel_result outcome = a.cancel();
      require(outcome != cancel_result::prevented || a.run_count() == 0, "as cancel() says");
      other.join();
      require(s.workers() == 0, "nothing is kept");
    }
    require(n.read() == static_cast<int>(a.run_count()), "nothing runs any more");
  });
}

TEST(rx_scheduler_model, shutdown_against_new_workers) {
  check({.runs = 5'000}, [] {
    touched n(0);
    thread_pool pool({.core_threads = 1});
    rx::worker_scheduler s = rx::worker_scheduler::from(pool);
    sync::thread other([&] { s.shutdown(); });
    {
      rx::worker w = s.create_worker();
      const rx::task_subscription a = w.schedule([&] { n.write() += 1; });
      other.join();
      require(w.is_unsubscribed(), "before or after");
      require(a.is_unsubscribed() || !a.is_rejected(), "what is rejected is closed");
    }
    require(s.workers() == 0, "nothing is kept");
    require(s.schedule([] {}).is_rejected(), "it takes no more");
  });
}

TEST(rx_scheduler_model, the_end_waits_for_what_runs_alone) {
  check({.runs = 5'000}, [] {
    touched n(0);
    scheduled_pool timers({.threads = 1});
    auto pool = std::make_unique<thread_pool>(thread_pool_options{.core_threads = 1});
    {
      rx::worker_scheduler s = rx::worker_scheduler::from(*pool, {.timers = &timers});
      s.schedule([&] { n.write() += 1; });
      s.schedule(1ns, [] {});
    }
    require(n.read() <= 1, "nothing runs any more");
    pool.reset();  // the timers no longer use it
  });
}

}  // namespace

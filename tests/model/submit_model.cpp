// A task ends while its submitter is still inside execute(), schedule() or co_await. Another thread
// sees the end, and destroys the component together with its clock and its observer. For all
// components that run tasks.
//
// A component is described by a struct:
//
//   submit(f)   submits a task, or a coroutine, that calls f
//   destroy()   destroys the component, and then its clock and its observer
#include <chrono>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/exec/tracking_executor.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/service/task_scope.hpp>

#include "../support/coroutines.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;

using flag = sync::atomic<bool>;

// A use of the observer after its destruction fails the run.
class counting_observer final : public task_observer {
 public:
  void on_event(const task_event&) noexcept override { events_.fetch_add(1); }

 private:
  sync::atomic<int> events_{0};
};

template <class T>
struct component {
  void destroy() {
    it.reset();
    observer.reset();
    time.reset();
  }
  // Lets a component that has no thread of its own run tasks.
  void step() { sync::yield(); }

  std::optional<manual_clock> time{std::in_place};
  std::optional<counting_observer> observer{std::in_place};
  std::optional<T> it;
};

struct a_thread_pool : component<thread_pool> {
  a_thread_pool() {
    it.emplace(thread_pool_options{.core_threads = 1, .time = &*time, .observer = &*observer});
  }
  void submit(flag& ran) {
    it->execute([&ran] { ran.store(true); });
  }
};

struct a_stealing_pool : component<stealing_pool> {
  a_stealing_pool() {
    it.emplace(stealing_pool_options{.threads = 1, .time = &*time, .observer = &*observer});
  }
  void submit(flag& ran) {
    it->execute([&ran] { ran.store(true); });
  }
};

struct a_scheduled_pool : component<scheduled_pool> {
  a_scheduled_pool() {
    it.emplace(scheduled_pool_options{.threads = 1, .time = &*time, .observer = &*observer});
  }
  void submit(flag& ran) {
    it->execute(0s, [&ran] { ran.store(true); });
  }
};

struct a_coroutine_on_a_scheduled_pool : a_scheduled_pool {
  void submit(flag& ran) {
    [](scheduled_pool& pool, flag& f) -> takt_test::detached {
      co_await pool.after(0s);
      f.store(true);
    }(*it, ran);
  }
};

struct a_strand : component<serial_executor> {
  a_strand() { it.emplace(pool, serial_executor_options{.time = &*time, .observer = &*observer}); }
  void submit(flag& ran) {
    it->execute([&ran] { ran.store(true); });
  }
  thread_pool pool{{.core_threads = 1}};
};

struct a_tracking_executor : component<tracking_executor<thread_pool>> {
  a_tracking_executor() { it.emplace(pool); }
  void submit(flag& ran) {
    it->execute([&ran] { ran.store(true); });
  }
  thread_pool pool{{.core_threads = 1}};
};

struct a_wheel : component<wheel_scheduler> {
  a_wheel() {
    it.emplace(wheel_scheduler_options{
        .tick = 1ms, .ticks_per_wheel = 2, .time = &*time, .observer = &*observer});
  }
  void submit(flag& ran) {
    static_cast<void>(it->execute(0s, pool, [&ran] { ran.store(true); }));
  }
  thread_pool pool{{.core_threads = 1}};
};

struct a_future_of_a_wheel : a_wheel {
  void submit(flag& ran) {
    static_cast<void>(it->schedule(0s, pool, [&ran] { ran.store(true); }));
  }
};

struct a_later_task_of_a_wheel : a_wheel {
  void submit(flag& ran) {
    static_cast<void>(it->execute(1ms, pool, [&ran] { ran.store(true); }));
  }
  void step() {
    time->advance_to_next();
    sync::yield();
  }
};

struct a_coroutine_on_a_wheel : a_wheel {
  void submit(flag& ran) {
    [](wheel_scheduler& wheel, thread_pool& on, flag& f) -> takt_test::detached {
      co_await wheel.on(on).after(0s);
      f.store(true);
    }(*it, pool, ran);
  }
};

struct a_loop : component<event_loop> {
  a_loop() { it.emplace(event_loop_options{.time = &*time, .observer = &*observer}); }
  void submit(flag& ran) {
    it->execute([&ran] { ran.store(true); });
  }
  void step() {
    it->poll();
    sync::yield();
  }
};

struct a_task_scope : component<task_scope<void>> {
  a_task_scope() { it.emplace(task_scope_options{.executor = pool, .time = &*time}); }
  void submit(flag& ran) {
    it->spawn([&ran] { ran.store(true); });
  }
  thread_pool pool{{.core_threads = 1}};
};

struct an_rx_worker : component<rx::worker> {
  an_rx_worker() { it.emplace(pool); }
  void submit(flag& ran) {
    it->schedule([&ran] { ran.store(true); });
  }
  thread_pool pool{{.core_threads = 1}};
};

template <class T>
class submit_model : public testing::Test {};

using components = testing::Types<a_thread_pool, a_stealing_pool, a_scheduled_pool,
                                  a_coroutine_on_a_scheduled_pool, a_strand, a_tracking_executor,
                                  a_wheel, a_future_of_a_wheel, a_later_task_of_a_wheel,
                                  a_coroutine_on_a_wheel, a_loop, a_task_scope, an_rx_worker>;
TYPED_TEST_SUITE(submit_model, components);

TYPED_TEST(submit_model, against_destruction_after_the_end_of_the_task) {
  check({.runs = 5'000}, [] {
    TypeParam c;
    flag ran{false};
    sync::thread submitter([&] { c.submit(ran); });
    while (!ran.load()) c.step();
    c.destroy();
    submitter.join();
  });
}

}  // namespace

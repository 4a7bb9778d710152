// One thread ends a component. Another thread waits for its termination, and destroys it together
// with its clock and its observer. Also, two threads end it at once: nothing is pending when it has
// terminated. For all owners of threads and loops, and for every member function that ends one.
//
// A component is described by a struct:
//
//   component()      constructs it, with work in it
//   verbs            the members that end it; each of them leads to termination
//   await()          waits for its termination
//   destroy()        destroys it, and then all that it and its closures have borrowed
//   pending()        the number of tasks without an outcome; 0 once it has terminated
//
// Closures, hooks and suspended coroutines use a borrowed object when they are destroyed.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/exec/tracking_executor.hpp>
#include <takt/rx/schedulers.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/log_service.hpp>
#include <takt/service/memory_work_queue.hpp>
#include <takt/service/pipeline.hpp>
#include <takt/service/service_group.hpp>
#include <takt/service/task_scope.hpp>

#include "../support/coroutines.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

// A use of the observer after its destruction fails the run.
class counting_observer final : public task_observer {
 public:
  void on_event(const task_event&) noexcept override { events_.fetch_add(1); }

 private:
  sync::atomic<int> events_{0};
};

using subject = sync::atomic<int>;

// Part of a closure: uses its subject when the closure is destroyed.
class last_use {
 public:
  explicit last_use(subject& of) : of_(&of) {}
  last_use(const last_use& other) = default;
  last_use(last_use&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  last_use& operator=(const last_use&) = delete;
  last_use& operator=(last_use&&) = delete;
  ~last_use() {
    if (of_ != nullptr) of_->fetch_add(1);
  }

 private:
  subject* of_;
};

// A coroutine that waits to be resumed by the executor. Its frame is destroyed when the coroutine
// returns, also after the executor has cancelled it.
template <class Executor>
takt_test::detached suspended(Executor& executor, [[maybe_unused]] last_use use) {
  try {
    co_await resume_on(executor);
  } catch (const cancelled&) {
  }
}

// The objects that a component borrows.
struct borrowed {
  manual_clock time;
  counting_observer observer;
  subject of_component{0};  // of closures that the component destroys in any case
};

template <class T>
struct verb {
  const char* name;
  void (*call)(T&);
  bool gives_back = false;  // the caller destroys queued closures, after the call
};

// Constructs objects that cannot be moved.
template <class F>
struct made_by {
  explicit made_by(F f) : make(std::move(f)) {}
  operator std::invoke_result_t<F>() const { return make(); }  // NOLINT: for emplace()
  F make;
};

// The members that end a component with a lifecycle.
template <class T>
constexpr auto lifecycle_verbs = std::to_array<verb<T>>({
    {"shutdown", [](T& c) { c.shutdown(); }},
    {"shutdown_and_cancel", [](T& c) { c.shutdown_and_cancel(); }},
    {"close", [](T& c) { c.close(drain); }},
    {"close at once", [](T& c) { c.close(cancel_pending); }},
});

template <class T>
constexpr auto executor_verbs = std::to_array<verb<T>>({
    lifecycle_verbs<T>[0],
    lifecycle_verbs<T>[1],
    lifecycle_verbs<T>[2],
    lifecycle_verbs<T>[3],
    {"shutdown_now", [](T& c) { static_cast<void>(c.shutdown_now()); }, true},
});

// The common part of components with a lifecycle.
template <class T>
struct with_lifecycle {
  void await() { it->await_termination(); }
  void destroy(bool gives_back) {
    it.reset();
    with.reset();
    if (!gives_back) of_queued.reset();
  }
  std::uint64_t pending() { return it->totals().pending(); }

  // For queued closures, and for closures that no call returns.
  last_use queued() { return last_use(*of_queued); }
  last_use owned() { return last_use(with->of_component); }

  // Adds the hooks of a pool.
  template <class Options>
  Options hooked(Options options) {
    options.thread.on_exit = [use = owned()] {};
    options.thread.may_start = [use = owned()] { return true; };
    options.before = [use = owned()](const task&) {};
    options.after = [use = owned()](const task&, const std::exception_ptr&) {};
    options.terminated = [use = owned()] {};
    return options;
  }

  std::optional<subject> of_queued{std::in_place, 0};
  std::optional<borrowed> with{std::in_place};
  std::optional<T> it;
};

struct a_thread_pool : with_lifecycle<thread_pool> {
  static constexpr auto& verbs = executor_verbs<thread_pool>;
  a_thread_pool() {
    it.emplace(hooked(
        thread_pool_options{.core_threads = 1, .time = &with->time, .observer = &with->observer}));
    it->execute([use = queued()] {});
    it->execute([use = queued()] {});
    suspended(*it, owned());
  }
};

struct a_stealing_pool : with_lifecycle<stealing_pool> {
  static constexpr auto& verbs = executor_verbs<stealing_pool>;
  a_stealing_pool() {
    it.emplace(hooked(
        stealing_pool_options{.threads = 1, .time = &with->time, .observer = &with->observer}));
    it->execute([use = queued()] {});
    it->execute([use = queued()] {});
    suspended(*it, owned());
  }
};

struct a_scheduled_pool : with_lifecycle<scheduled_pool> {
  static constexpr auto verbs = std::to_array<verb<scheduled_pool>>({
      executor_verbs<scheduled_pool>[0],
      executor_verbs<scheduled_pool>[1],
      executor_verbs<scheduled_pool>[2],
      executor_verbs<scheduled_pool>[3],
      executor_verbs<scheduled_pool>[4],
      {"keep_after_shutdown",
       [](scheduled_pool& c) {
         c.keep_after_shutdown({.delayed = true});
         c.shutdown();
         c.keep_after_shutdown({.delayed = false});
       }},
  });
  a_scheduled_pool() {
    it.emplace(hooked(scheduled_pool_options{.threads = 1,
                                             .keep = {.delayed = false},
                                             .decorate = [use = owned()](task t) { return t; },
                                             .time = &with->time,
                                             .observer = &with->observer}));
    it->execute(1h, [use = queued()] {});
    static_cast<void>(it->schedule_at_fixed_rate(1h, 1h, [use = queued()] {}));
  }
};

struct a_wheel : with_lifecycle<wheel_scheduler> {
  static constexpr auto verbs = std::to_array<verb<wheel_scheduler>>({
      executor_verbs<wheel_scheduler>[0],
      executor_verbs<wheel_scheduler>[1],
      executor_verbs<wheel_scheduler>[2],
      executor_verbs<wheel_scheduler>[3],
      executor_verbs<wheel_scheduler>[4],
      {"close(at_close)", [](wheel_scheduler& c) { c.close(at_close::run_all); }},
      {"close(at_close) that times out",
       [](wheel_scheduler& c) {
         try {
           c.close(0s, at_close::run_all);
         } catch (const std::system_error&) {
           c.shutdown_and_cancel();  // not terminated: timers wait
         }
       }},
  });
  a_wheel() {
    it.emplace(wheel_scheduler_options{.tick = 1ms,
                                       .ticks_per_wheel = 2,
                                       .thread = {.on_exit = [use = owned()] {}},
                                       .time = &with->time,
                                       .observer = &with->observer});
    static_cast<void>(it->schedule_at_fixed_rate(1h, 1h, inline_executor(), [use = queued()] {}));
    static_cast<void>(it->schedule_at_fixed_rate(1h, 1h, inline_executor(), [use = queued()] {}));
  }
};

struct a_strand : with_lifecycle<serial_executor> {
  static constexpr auto& verbs = executor_verbs<serial_executor>;
  a_strand() {
    it.emplace(pool, serial_executor_options{.time = &with->time, .observer = &with->observer});
    it->execute([use = queued()] {});
    it->execute([use = queued()] {});
    suspended(*it, owned());
  }
  thread_pool pool{{.core_threads = 1}};
};

// A tracking_executor and its pool.
struct tracked_pool {
  explicit tracked_pool(borrowed& with)
      : pool({.core_threads = 1, .time = &with.time, .observer = &with.observer}) {}
  void await_termination() { pool.await_termination(); }
  [[nodiscard]] task_totals totals() const { return pool.totals(); }
  thread_pool pool;
  tracking_executor<thread_pool> tracker{pool};
};

struct a_tracking_executor : with_lifecycle<tracked_pool> {
  static constexpr auto verbs = std::to_array<verb<tracked_pool>>({
      {"shutdown_now", [](tracked_pool& c) { static_cast<void>(c.tracker.shutdown_now()); }, true},
  });
  a_tracking_executor() {
    it.emplace(*with);
    it->tracker.execute([use = queued()] {});
    it->tracker.execute([use = queued()] {});
  }
};

struct a_loop : with_lifecycle<event_loop> {
  static constexpr auto verbs = std::to_array<verb<event_loop>>({
      {"shutdown", [](event_loop& c) { c.shutdown(); }},
      {"shutdown_and_cancel", [](event_loop& c) { c.shutdown_and_cancel(); }},
      {"shutdown_now", [](event_loop& c) { static_cast<void>(c.shutdown_now()); }, true},
  });
  a_loop() {
    it.emplace(event_loop_options{.time = &with->time, .observer = &with->observer});
    it->execute([use = queued()] {});
    it->frames().execute([use = queued()] {});
    static_cast<void>(it->schedule_at_fixed_rate(1h, 1h, [use = queued()] {}));
    suspended(*it, owned());
  }
  void await() { it->run(); }
};

// Only its destructor waits for other calls.
struct a_loop_that_nobody_runs : a_loop {
  void await() {
    while (!it->is_shutdown()) sync::yield();
  }
  std::uint64_t pending() { return 0; }
};

// Terminates in its destructor, which waits for other calls.
struct a_manual_executor : with_lifecycle<manual_executor> {
  static constexpr auto verbs = std::to_array<verb<manual_executor>>({
      {"shutdown", [](manual_executor& c) { c.shutdown(); }},
      {"shutdown_now", [](manual_executor& c) { static_cast<void>(c.shutdown_now()); }, true},
  });
  a_manual_executor() {
    it.emplace();
    it->execute([use = queued()] {});
    suspended(*it, owned());
  }
  void await() {
    while (!it->is_shutdown()) sync::yield();
    it->poll();
  }
  std::uint64_t pending() { return 0; }
};

class null_sink final : public log_sink {
 public:
  explicit null_sink(last_use use) : use_(std::move(use)) {}

 private:
  void write(std::string_view) override {}

  last_use use_;
};

struct a_log_service : with_lifecycle<log_service> {
  static constexpr auto& verbs = executor_verbs<log_service>;
  a_log_service() {
    it.emplace(std::make_unique<null_sink>(owned()),
               log_service_options{.capacity = 2, .executor = pool, .time = &with->time});
    it->log("a line");
  }
  std::uint64_t pending() { return it->statistics().pending(); }
  thread_pool pool{{.core_threads = 1}};
};

struct a_log_service_with_a_thread : with_lifecycle<log_service> {
  static constexpr auto& verbs = executor_verbs<log_service>;
  a_log_service_with_a_thread() {
    it.emplace(std::make_unique<null_sink>(owned()),
               log_service_options{.capacity = 2, .time = &with->time});
    it->log("a line");
  }
  std::uint64_t pending() { return it->statistics().pending(); }
};

struct a_pipeline : with_lifecycle<pipeline> {
  static constexpr auto& verbs = lifecycle_verbs<pipeline>;
  a_pipeline() {
    it.emplace(made_by([this] {
      return pipeline::from<int>(
                 [use = owned()](outlet<int>& out) {
                   out.push(1);
                   while (!out.stop().stop_requested()) sync::yield();
                 },
                 {}, {.time = &with->time})
          .into([use = owned()](int) {}, {.capacity = 1});
    }));
  }
  std::uint64_t pending() {
    std::uint64_t all = 0;
    for (const stage_statistics& s : it->statistics()) all += s.pending();
    return all;
  }
};

struct a_crawler : with_lifecycle<crawler> {
  static constexpr auto& verbs = lifecycle_verbs<crawler>;
  a_crawler() {
    list.enqueue({.key = "a"});
    const auto visit = [use = owned()](const work_item&, const sync::stop_token&) {
      return std::vector<work_item>();
    };
    const auto failed = [use = owned()](const work_item&, const std::exception_ptr&) {};
    it.emplace(pool, list, visit,
               crawler_options{.visits = 1, .failed = failed, .time = &with->time});
    it->start();
  }
  memory_work_queue list;
  thread_pool pool{{.core_threads = 1}};
};

// stop() and join() wait for the end of these; called after the other thread has begun to end them.
struct a_service_group : with_lifecycle<service_group> {
  static constexpr auto verbs = std::to_array<verb<service_group>>({
      {"stop", [](service_group& c) { static_cast<void>(c.stop(never)); }},
  });
  a_service_group() {
    it.emplace(service_group_options{.time = &with->time});
    it->add("service", {.shutdown = [use = owned()] {},
                        .await_end = [use = owned()](auto, const auto&) { return true; }});
    it->add("pool", pool);
    it->start();
  }
  void await() {
    while (!pool.is_shutdown()) sync::yield();
    require(it->stop(never).services.size() == 2, "the report");
  }
  std::uint64_t pending() { return pool.is_terminated() ? 0 : 1; }
  thread_pool pool{{.core_threads = 1}};
};

struct a_task_scope : with_lifecycle<task_scope<void>> {
  static constexpr auto verbs = std::to_array<verb<task_scope<void>>>({
      {"request_stop", [](task_scope<void>& c) { c.request_stop(); }},
  });
  a_task_scope() {
    it.emplace(task_scope_options{.executor = pool, .time = &with->time});
    it->spawn([use = queued()] {});
    it->spawn([use = queued()](const sync::stop_token&) {});
  }
  void await() {
    while (!it->stop_requested()) sync::yield();
    require(it->join().size() == 2, "both have ended");
  }
  std::uint64_t pending() { return 0; }
  thread_pool pool{{.core_threads = 1}};
};

// Their destructors wait for the end.
struct an_rx_worker : with_lifecycle<rx::worker> {
  static constexpr auto verbs = std::to_array<verb<rx::worker>>({
      {"unsubscribe", [](rx::worker& c) { c.unsubscribe(); }},
  });
  an_rx_worker() {
    it.emplace(pool);
    it->schedule([use = queued()] {}).add([use = queued()] {});
    it->schedule(1h, [use = queued()] {});
    it->as_subscription().add([use = queued()] {});
  }
  void await() {
    while (!it->is_unsubscribed()) sync::yield();
  }
  std::uint64_t pending() { return 0; }
  manual_clock time;
  scheduled_pool pool{{.threads = 1, .time = &time}};
};

struct an_rx_scheduler : with_lifecycle<rx::worker_scheduler> {
  static constexpr auto verbs = std::to_array<verb<rx::worker_scheduler>>({
      {"shutdown", [](rx::worker_scheduler& c) { c.shutdown(); }},
  });
  an_rx_scheduler() {
    it.emplace(made_by([this] { return rx::worker_scheduler::from(pool); }));
    it->schedule(1h, [use = queued()] {}).add([use = queued()] {});
  }
  void await() {
    while (!it->is_shutdown()) sync::yield();
  }
  std::uint64_t pending() { return 0; }
  manual_clock time;
  scheduled_pool pool{{.threads = 1, .time = &time}};
};

struct the_rx_schedulers : with_lifecycle<rx::schedulers> {
  static constexpr auto verbs = std::to_array<verb<rx::schedulers>>({
      {"shutdown", [](rx::schedulers& c) { c.shutdown(); }},
  });
  the_rx_schedulers() {
    it.emplace(
        rx::schedulers_options{.computation_threads = 1, .io_threads = 1, .time = &with->time});
    it->io().schedule([use = queued()] {});
    it->computation().schedule(1h, [use = queued()] {});
  }
  void await() {
    while (!it->io().is_shutdown() || !it->computation().is_shutdown()) sync::yield();
  }
  std::uint64_t pending() { return 0; }
};

template <class T>
class ending : public testing::Test {};

using components =
    testing::Types<a_thread_pool, a_stealing_pool, a_scheduled_pool, a_wheel, a_strand,
                   a_tracking_executor, a_loop, a_loop_that_nobody_runs, a_manual_executor,
                   a_log_service, a_log_service_with_a_thread, a_pipeline, a_crawler,
                   a_service_group, a_task_scope, an_rx_worker, an_rx_scheduler, the_rx_schedulers>;

struct names {
  template <class T>
  static std::string GetName(int number) {
    static const std::array all{"thread_pool",
                                "stealing_pool",
                                "scheduled_pool",
                                "wheel_scheduler",
                                "serial_executor",
                                "tracking_executor",
                                "event_loop",
                                "event_loop_that_nobody_runs",
                                "manual_executor",
                                "log_service",
                                "log_service_with_a_thread",
                                "pipeline",
                                "crawler",
                                "service_group",
                                "task_scope",
                                "rx_worker",
                                "rx_scheduler",
                                "rx_schedulers"};
    return all[static_cast<std::size_t>(number)];
  }
};
TYPED_TEST_SUITE(ending, components, names);

TYPED_TEST(ending, against_who_awaits_it_and_destroys) {
  for (const auto& v : TypeParam::verbs) {
    SCOPED_TRACE(v.name);
    check({.runs = 3'000}, [&] {
      TypeParam c;
      sync::thread other([&] { v.call(*c.it); });
      c.await();
      c.destroy(v.gives_back);
      other.join();
    });
  }
}

TYPED_TEST(ending, by_two_at_once_leaves_nothing_pending) {
  for (const auto& first : TypeParam::verbs) {
    for (const auto& second : TypeParam::verbs) {
      SCOPED_TRACE(std::string(first.name) + " and " + second.name);
      check({.runs = 1'000}, [&] {
        TypeParam c;
        sync::thread other([&] { first.call(*c.it); });
        second.call(*c.it);
        c.await();
        require(c.pending() == 0, "nothing is pending when it has terminated");
        other.join();
        c.destroy(false);
      });
    }
  }
}

}  // namespace

// Every allocation of schedule() fails in turn: schedule() throws, nothing runs and nothing leaks.
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/rx/action.hpp>
#include <takt/rx/action_scheduler.hpp>
#include <takt/rx/aggregate_error.hpp>
#include <takt/rx/animation_frame_scheduler.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/detail/error_collector.hpp>
#include <takt/rx/marble_observable.hpp>
#include <takt/rx/queue_scheduler.hpp>
#include <takt/rx/schedulers.hpp>
#include <takt/rx/virtual_time_scheduler.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

#include "../../tests/support/pools.hpp"
#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;

struct rx_no_memory : testing::Test {
  void SetUp() override { TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED(); }

  // Repeats the call until it succeeds. `settle` runs everything that is due.
  template <class Call, class Settle>
  void fail_each(Call call, Settle settle) {
    for (std::size_t after = 0;; ++after) {
      bool failed = false;
      try {
        const no_memory soon(after);
        call();
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      if (!failed) {
        EXPECT_GT(after, 0U) << "it allocates";
        return;
      }
      settle();
      EXPECT_EQ(ran, 0) << "after " << after;
      EXPECT_EQ(held.use_count(), 1) << "after " << after;
    }
  }
  auto work() {
    return [this, kept = held] { ++ran; };
  }
  void pass() {
    time.advance(1s);
    loop.poll();
    executor.poll();
    loop.poll();
    executor.poll();
  }

  int ran = 0;
  std::shared_ptr<int> held = std::make_shared<int>(0);
  takt_test::recording_hook hook;
  manual_clock time;
  event_loop loop{{.frame = 10ms, .time = &time}};
  manual_executor executor;
};

TEST_F(rx_no_memory, worker) {
  rx::worker strand(executor, {.timers = &loop, .unhandled = &hook});
  rx::worker direct(loop, {.unhandled = &hook});
  for (rx::worker* const w : {&strand, &direct}) {
    const auto settle = [&] {
      EXPECT_EQ(w->tracked(), 0U);
      pass();
    };
    fail_each([&] { w->schedule(work()); }, settle);
    pass();
    EXPECT_EQ(std::exchange(ran, 0), 1);
    fail_each([&] { w->schedule(1s, work()); }, settle);
    pass();
    EXPECT_EQ(std::exchange(ran, 0), 1);
    fail_each([&] { w->schedule_at_fixed_rate(1s, 1h, work()); }, settle);
    pass();
    EXPECT_EQ(std::exchange(ran, 0), 1);
    w->unsubscribe();
  }
  EXPECT_TRUE(hook.unobserved().empty());
}

TEST_F(rx_no_memory, scheduler) {
  rx::worker_scheduler s =
      rx::worker_scheduler::from(executor, {.timers = &loop, .unhandled = &hook});
  fail_each([&] { s.schedule(work()); },
            [&] {
              EXPECT_EQ(s.workers(), 0U);
              pass();
            });
  pass();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(s.workers(), 0U);
  EXPECT_TRUE(hook.unobserved().empty());
  ran = 0;
  inline_executor here;
  rx::worker_scheduler at_once = rx::worker_scheduler::from(here, {.unhandled = &hook});
  fail_each([&] { at_once.schedule(work()); }, [] {});
  EXPECT_EQ(ran, 1);
}

TEST_F(rx_no_memory, shutdown_needs_none) {
  rx::schedulers run({.computation_threads = 2, .time = &time, .unhandled = &hook});
  rx::worker_scheduler own =
      rx::worker_scheduler::from(executor, {.timers = &loop, .unhandled = &hook});
  for (rx::worker_scheduler* const s :
       {&own, &run.new_thread(), &run.single(), &run.computation(), &run.io()}) {
    rx::worker w = s->create_worker();
    w.schedule(1h, work());
    s->schedule(1h, work());
    {
      const no_memory now;
      s->shutdown();
    }
    EXPECT_TRUE(s->is_shutdown());
    EXPECT_TRUE(w.is_unsubscribed());
    EXPECT_EQ(held.use_count(), 1);
  }
  EXPECT_TRUE(hook.unobserved().empty());
}

TEST_F(rx_no_memory, one_that_runs_within_schedule) {
  const rx::worker_options how{.unhandled = &hook};
  for (const auto kind :
       {detail::worker_place::kind::immediate, detail::worker_place::kind::trampoline}) {
    rx::worker w(detail::worker_place{.access = kind}, how);
    fail_each([&] { w.schedule(work()); }, [&] { EXPECT_EQ(w.tracked(), 0U); });
    EXPECT_EQ(std::exchange(ran, 0), 1);
  }
}

TEST_F(rx_no_memory, actions) {
  rx::async_scheduler async{loop};
  rx::queue_scheduler queue{loop};
  rx::asap_scheduler asap{loop};
  rx::animation_frame_scheduler frames{loop};
  for (rx::action_scheduler* const s :
       {static_cast<rx::action_scheduler*>(&async), static_cast<rx::action_scheduler*>(&queue),
        static_cast<rx::action_scheduler*>(&asap), static_cast<rx::action_scheduler*>(&frames)}) {
    for (const auto delay : {0ms, 5ms}) {
      fail_each([&] { s->schedule(delay, work()); }, [&] { pass(); });
      pass();
      EXPECT_EQ(std::exchange(ran, 0), 1);
    }
  }
}

TEST_F(rx_no_memory, virtual_time) {
  rx::virtual_time_scheduler v;
  fail_each([&] { v.schedule(1ms, work()); }, [&] { EXPECT_EQ(v.flush(), 0U); });
  EXPECT_EQ(v.flush(), 1U);
  EXPECT_EQ(ran, 1);
}

// A pending action that is scheduled again stays pending or becomes idle; it is not lost.
TEST_F(rx_no_memory, scheduling_again) {
  rx::async_scheduler async{loop};
  rx::asap_scheduler asap{loop};
  rx::virtual_time_scheduler v;
  for (rx::action_scheduler* const s :
       {static_cast<rx::action_scheduler*>(&async), static_cast<rx::action_scheduler*>(&asap),
        static_cast<rx::action_scheduler*>(&v)}) {
    for (std::size_t after = 0; after < 10; ++after) {
      const auto a = s->schedule(1ms, work());
      try {
        const no_memory soon(after);
        a.schedule(2ms);
      } catch (const std::bad_alloc&) {
      }
      pass();
      v.flush();
      ran = 0;
      a.schedule(1ms);
      pass();
      v.flush();
      EXPECT_EQ(std::exchange(ran, 0), 1) << "after " << after;
    }
  }
}

// An action that could not be scheduled again is idle: neither an error of another action nor the
// destruction of its scheduler finds it pending.
TEST_F(rx_no_memory, what_failed_is_not_pending) {
  // Returns the first action that needs an allocation; those before it are pending.
  const auto find = [&](rx::action_scheduler& s, auto run) {
    std::vector<rx::action<void>> idle;
    while (idle.size() < 200) {
      idle.push_back(s.schedule(work()));
      run();
    }
    for (const rx::action<void>& a : idle) {
      try {
        const no_memory now;
        a.schedule(1h);
      } catch (const std::bad_alloc&) {
        return a;
      }
    }
    return rx::action<void>();
  };
  rx::virtual_time_scheduler v;
  const rx::action<void> in_virtual_time = find(v, [&] { v.flush(); });
  v.schedule([] { throw std::runtime_error("planned"); });
  EXPECT_THROW(v.flush(), std::runtime_error);
  EXPECT_FALSE(in_virtual_time.is_unsubscribed());
  std::optional<rx::async_scheduler> async(loop);
  const rx::action<void> on_loop = find(*async, [&] { pass(); });
  async.reset();
  EXPECT_FALSE(on_loop.is_unsubscribed());
}

// The same for an interval whose next timer cannot be allocated; the error leaves the loop.
TEST_F(rx_no_memory, an_interval_that_failed_is_not_pending) {
  std::optional<rx::async_scheduler> async(loop);
  std::vector<rx::action<void>> idle;
  while (idle.size() < 200) {
    idle.push_back(async->schedule([] {}));
    pass();
  }
  std::optional<no_memory> none;
  const auto interval = [&, kept = held](auto& self) {
    ++ran;
    none.emplace();
    self.schedule(1ms);
    EXPECT_THROW(for (const rx::action<void>& a : idle) a.schedule(1h), std::bad_alloc);
  };
  const auto fail = [&] {
    time.advance(1ms);
    EXPECT_THROW(loop.poll(), std::bad_alloc);
    none.reset();
    time.advance(1h);  // makes timers available again
    loop.poll();
    EXPECT_EQ(std::exchange(ran, 0), 1);
  };
  async->schedule(1ms, interval);
  fail();
  EXPECT_EQ(held.use_count(), 2) << "only `held` and `interval` own it";
  const rx::action<void> a = async->schedule(1ms, interval);
  fail();
  pass();
  EXPECT_EQ(ran, 0);
  a.schedule(1ms);
  fail();
  async.reset();
  EXPECT_FALSE(a.is_unsubscribed());
}

TEST_F(rx_no_memory, comparing_errors_throws) {
  const auto a = std::make_exception_ptr(std::runtime_error("a text that needs memory of its own"));
  const auto b = std::make_exception_ptr(std::runtime_error("a text that needs memory of its own"));
  EXPECT_TRUE(rx::same_error(a, b));
  const no_memory now;
  EXPECT_THROW(static_cast<void>(rx::same_error(a, b)), std::bad_alloc);
}

// In virtual time, an error closes all other actions.
TEST_F(rx_no_memory, an_error_closes_the_others_all_the_same) {
  const auto planned = std::make_exception_ptr(std::runtime_error("planned"));
  for (std::size_t after = 0; after < 10; ++after) {
    rx::virtual_time_scheduler v;
    v.schedule([&] { std::rethrow_exception(planned); });
    const rx::action<void> others[] = {v.schedule(2ms, work()), v.schedule(1ms, work())};
    const auto flush = [&] {
      const no_memory soon(after);
      v.flush();
    };
    EXPECT_THROW(flush(), std::runtime_error) << "after " << after;
    for (const rx::action<void>& a : others) EXPECT_TRUE(a.is_unsubscribed()) << "after " << after;
    EXPECT_EQ(held.use_count(), 1) << "after " << after;
    EXPECT_EQ(v.flush(), 0U);
  }
}

// Two errors, and no memory for an aggregate_error: the first one is thrown.
TEST_F(rx_no_memory, an_error_is_told_all_the_same) {
  const auto first = std::make_exception_ptr(std::runtime_error("first"));
  const auto second = std::make_exception_ptr(std::runtime_error("second"));
  bool both = false;
  for (std::size_t after = 0; !both && after < 100; ++after) {
    detail::error_collector errors;
    try {
      const no_memory soon(after);
      errors.run([&] { std::rethrow_exception(first); });
      errors.run([&] { std::rethrow_exception(second); });
      errors.throw_if_any();
    } catch (const rx::aggregate_error& e) {
      both = true;
      EXPECT_EQ(e.errors().size(), 2U);
      EXPECT_GT(after, 0U) << "it allocates";
    } catch (const std::exception& e) {
      EXPECT_STREQ(e.what(), "first") << "after " << after;
    }
  }
  EXPECT_TRUE(both);
}

}  // namespace

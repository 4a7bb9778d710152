#include <takt/exec/serial_executor.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>

#include "../../tests/support/pools.hpp"
#include "../base/counting_new.hpp"

namespace {

using takt::drain;
using takt::manual_executor;
using takt::rejected;
using takt::rejection;
using takt::serial_executor;
using takt::thread_pool;
using takt_test::finds_deadlock;
using takt_test::gate;

static_assert(takt::executor<serial_executor>);
static_assert(takt::is_serial_executor<serial_executor>);
static_assert(takt::is_fifo_executor<serial_executor>);

// Rejects tasks, or drops them silently, as the test sets it.
class switched_executor {
 public:
  enum class mode { runs, refuses, drops };
  void execute(takt::task t) {
    if (now == mode::refuses) throw rejected(rejection::saturated);
    if (now == mode::runs) inner.execute(std::move(t));
  }
  mode now = mode::runs;
  manual_executor inner;
};

TEST(serial_executor, runs_in_order_without_overlap_on_many_threads) {
  thread_pool pool{{.core_threads = 4}};
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}, takt::unbounded}) {
    serial_executor strand(pool, {.batch = batch});
    std::vector<int> seen;  // accessed by the strand's tasks only, without a lock
    for (int i = 0; i < 1000; ++i) strand.execute([&seen, i] { seen.push_back(i); });
    EXPECT_TRUE(strand.close(drain));
    ASSERT_EQ(seen.size(), 1000U);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(strand.totals().finished, 1000U);
    EXPECT_EQ(strand.totals().pending(), 0U);
  }
}

TEST(serial_executor, keeps_the_order_of_each_of_several_producers) {
  thread_pool pool{{.core_threads = 2}};
  serial_executor strand(pool, {.batch = 2});
  std::vector<std::pair<int, int>> seen;
  {
    std::vector<std::jthread> producers;
    for (int p = 0; p < 3; ++p) {
      producers.emplace_back([&, p] {
        for (int i = 0; i < 300; ++i) strand.execute([&seen, p, i] { seen.emplace_back(p, i); });
      });
    }
  }
  strand.close(drain);
  ASSERT_EQ(seen.size(), 900U);
  std::vector<int> next(3, 0);
  for (const auto& [p, i] : seen) EXPECT_EQ(i, next[static_cast<std::size_t>(p)]++);
}

TEST(serial_executor, holds_no_thread_while_it_has_nothing_to_do) {
  manual_executor loop;
  serial_executor strand(loop);
  EXPECT_EQ(loop.queued(), 0U);
  strand.execute([] {});
  strand.execute([] {});
  EXPECT_EQ(loop.queued(), 1U);  // one drain for both
  EXPECT_EQ(loop.poll(), 1U);
  EXPECT_EQ(loop.queued(), 0U);
}

TEST(serial_executor, an_eager_one_goes_on_and_a_fair_one_lets_others_go_first) {
  for (const bool fair : {false, true}) {
    manual_executor loop;
    serial_executor strand(loop, {.batch = fair ? 1U : takt::unbounded});
    std::string order;
    strand.execute([&] { order += 'a'; });
    strand.execute([&] { order += 'b'; });
    loop.execute([&] { order += '-'; });
    loop.poll();
    EXPECT_EQ(order, fair ? "a-b" : "ab-");
  }
}

TEST(serial_executor, a_task_that_adds_one_is_not_interrupted) {
  serial_executor strand{takt::inline_executor()};
  std::string order;
  strand.execute([&] {
    order += '(';
    strand.execute([&] { order += 'x'; });
    order += ')';
  });
  EXPECT_EQ(order, "()x");
}

// An executor that runs the drain within execute() must not nest drains: a million tasks would need
// a million frames.
TEST(serial_executor, a_fair_one_on_an_inline_executor_needs_no_stack) {
  serial_executor strand(takt::inline_executor(), {.batch = 1});
  int ran = 0;
  strand.execute([&] {
    for (int i = 0; i < 1'000'000; ++i) strand.execute([&] { ++ran; });
  });
  EXPECT_EQ(ran, 1'000'000);
}

TEST(serial_executor, errors_go_to_the_future_or_to_the_hook_and_the_next_task_runs) {
  class counting final : public takt::unhandled_hook {
   public:
    void on_unhandled(takt::unhandled kind, const std::exception_ptr&) const noexcept override {
      if (kind == takt::unhandled::uncaught) ++seen;
    }
    mutable int seen = 0;
  } hook;
  manual_executor loop;
  serial_executor strand(loop, {.unhandled = &hook});
  auto failed = strand.submit([] { throw std::runtime_error("x"); });
  strand.execute([] { throw std::runtime_error("y"); });
  auto fine = strand.submit([] { return 1; });
  loop.poll();
  EXPECT_THROW(failed.get(), std::runtime_error);
  EXPECT_EQ(fine.get(), 1);
  EXPECT_EQ(hook.seen, 1);
  EXPECT_EQ(strand.totals().failed, 2U);
}

TEST(serial_executor, an_executor_that_refuses_is_told_to_the_caller_and_tried_again) {
  switched_executor switched;
  serial_executor strand(switched);
  switched.now = switched_executor::mode::refuses;
  EXPECT_THROW(strand.execute([] { FAIL(); }), rejected);
  EXPECT_EQ(strand.queued(), 0U);
  switched.now = switched_executor::mode::runs;
  auto f = strand.submit([] { return 2; });
  switched.inner.poll();
  EXPECT_EQ(f.get(), 2);
  EXPECT_EQ(strand.totals().rejected, 1U);
  EXPECT_EQ(strand.totals().pending(), 0U);
}

TEST(serial_executor, a_fair_one_goes_on_by_itself_if_it_is_refused) {
  switched_executor switched;
  serial_executor strand(switched, {.batch = 1});
  int ran = 0;
  for (int i = 0; i < 5; ++i) strand.execute([&] { ++ran; });
  for (const auto mode : {switched_executor::mode::refuses, switched_executor::mode::drops}) {
    switched.now = mode;
    switched.inner.poll();
    EXPECT_EQ(ran, 5);
    switched.now = switched_executor::mode::runs;
    strand.execute([&] { --ran; });
    strand.execute([&] { ++ran; });
  }
}

// Runs each task at once or keeps it for later, by its number.
class scripted_executor {
 public:
  explicit scripted_executor(std::vector<bool> at_once) : at_once_(std::move(at_once)) {}
  void execute(takt::task t) {
    if (meanwhile != nullptr) meanwhile();
    const std::size_t at = given++;
    if (at < at_once_.size() && at_once_[at]) {
      t.run();
    } else {
      kept.push_back(std::move(t));
    }
  }
  void run_kept() {
    takt::task next = std::move(kept.front());
    kept.pop_front();
    next.run();
  }
  std::size_t given = 0;
  std::deque<takt::task> kept;
  std::function<void()> meanwhile;

 private:
  std::vector<bool> at_once_;
};

TEST(serial_executor, a_fair_one_hands_over_again_after_it_was_run_at_once) {
  scripted_executor where({false, true, false});
  serial_executor strand(where, {.batch = 1});
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) strand.execute([&, i] { order.push_back(i); });
  // Runs a task, submits a drain, which runs at once, runs a task, submits the next drain.
  where.run_kept();
  EXPECT_EQ(order, (std::vector{0, 1}));
  ASSERT_EQ(where.given, 3U);
  where.run_kept();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  EXPECT_EQ(where.given, 3U);
}

TEST(serial_executor, a_batch_is_as_long_as_it_says_each_time) {
  scripted_executor where({false, true, true});
  serial_executor strand(where, {.batch = 2});
  std::vector<std::size_t> drains;
  for (int i = 0; i < 6; ++i) strand.execute([&] { drains.push_back(where.given); });
  where.run_kept();
  EXPECT_EQ(drains, (std::vector<std::size_t>{1, 1, 2, 2, 3, 3}));
}

TEST(serial_executor, may_be_stopped_while_it_hands_over) {
  for (const bool at_once : {true, false}) {
    scripted_executor where({false, at_once});
    serial_executor strand(where, {.batch = 1});
    int ran = 0;
    strand.execute([&] { ++ran; });
    strand.execute([&] { ++ran; });
    where.meanwhile = [&] {
      EXPECT_EQ(strand.shutdown_now().size(), 1U);
      EXPECT_FALSE(strand.is_terminated())
          << "it uses its executor, which may be destroyed after termination";
    };
    where.run_kept();
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(strand.is_terminated());
    EXPECT_EQ(strand.life().workers(), 0U);
    EXPECT_EQ(strand.totals().pending(), 0U);
  }
}

TEST(serial_executor, a_drain_that_is_dropped_ends_what_is_shut_down) {
  scripted_executor where({});
  serial_executor strand(where);
  auto f = strand.submit([] {});
  strand.shutdown();
  EXPECT_FALSE(strand.is_terminated());
  where.kept.clear();
  EXPECT_TRUE(strand.is_terminated());
  EXPECT_THROW(f.get(), rejected);
}

TEST(serial_executor, an_executor_that_drops_it_rejects_what_is_queued) {
  switched_executor switched;
  serial_executor strand(switched);
  auto f = strand.submit([] {});
  auto g = strand.submit([] {});
  {
    auto dropped = switched.inner.shutdown_now();
  }
  for (auto* each : {&f, &g}) {
    try {
      each->get();
      FAIL();
    } catch (const rejected& e) {
      EXPECT_EQ(e.reason(), rejection::dropped);
    }
  }
  EXPECT_THROW(strand.execute([] {}), rejected);
  EXPECT_EQ(strand.totals().rejected, 3U);
  strand.shutdown();
  EXPECT_TRUE(strand.is_terminated());
}

// A function that runs when a closure is destroyed.
using at_end = std::shared_ptr<void>;
at_end when_it_goes(std::function<void()> what) {
  return {nullptr, [what = std::move(what)](void*) { what(); }};
}

TEST(serial_executor, is_not_at_its_end_before_what_is_dropped_is_gone) {
  manual_executor loop;
  takt::task_statistics figures;
  serial_executor strand(loop, {.observer = &figures});
  bool terminated = true;
  strand.execute([last = when_it_goes([&] {
                    strand.shutdown();
                    terminated = strand.is_terminated();
                  })] {});
  static_cast<void>(loop.shutdown_now());
  EXPECT_FALSE(terminated);
  EXPECT_TRUE(strand.is_terminated());
  EXPECT_EQ(figures.totals().rejected, 1U);
}

TEST(serial_executor, what_goes_when_a_task_is_dropped_may_submit) {
  manual_executor loop;
  serial_executor strand(loop);
  takt::future<void> late;
  strand.execute([last = when_it_goes([&] {
                    try {
                      late = strand.submit([] {});
                    } catch (const rejected&) {
                    }
                  })] {});
  static_cast<void>(loop.shutdown_now());
  EXPECT_TRUE(!late.valid() || late.is_ready());
  EXPECT_EQ(strand.totals().rejected, 2U);
  EXPECT_TRUE(strand.close(drain));
}

TEST(serial_executor, can_be_destroyed_by_a_task_that_is_dropped) {
  for (const bool shut_down : {false, true}) {
    manual_executor loop;
    auto owner = std::make_unique<serial_executor>(loop);
    serial_executor& strand = *owner;
    takt::future<void> other = strand.submit([] {});
    strand.execute([own = std::move(owner)] {});
    if (shut_down) strand.shutdown();
    static_cast<void>(loop.shutdown_now());
    EXPECT_THROW(other.get(), rejected);
  }
}

// The task that the pool returns is the drain: running it runs the strand's tasks.
TEST(serial_executor, a_drain_that_is_given_back_can_be_run) {
  manual_executor loop;
  serial_executor strand(loop);
  auto f = strand.submit([] { return 3; });
  for (takt::task& t : loop.shutdown_now()) t.run();
  EXPECT_EQ(f.get(), 3);
}

TEST(serial_executor, waiting_for_its_own_task_is_found_out) {
  thread_pool pool{{.core_threads = 2}};
  serial_executor strand(pool);
  auto f = strand.submit([&] { strand.submit([] {}).get(); });
  try {
    f.get();
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
  }
  EXPECT_THROW(strand.submit([&] { strand.await_termination(); }).get(), std::system_error);
  EXPECT_THROW(strand.submit([&] { strand.close(drain); }).get(), std::system_error);
  EXPECT_EQ(strand.state(), takt::life_state::running);
}

TEST(serial_executor, a_closure_that_its_end_destroys_cannot_wait_for_the_end) {
  manual_executor loop;
  serial_executor strand(loop);
  bool refused = false;
  strand.execute([last = when_it_goes([&] {
                    refused = finds_deadlock(
                        [&] { strand.await_termination(std::chrono::nanoseconds(0)); });
                  })] {});
  strand.shutdown_and_cancel();
  EXPECT_TRUE(refused);
  strand.await_termination();
}

// The future is about to be ready, without the strand's thread.
TEST(serial_executor, may_wait_for_what_another_thread_is_just_cancelling) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1}};
  serial_executor strand(pool, {.time = &time});
  gate submitted;
  gate cancelling;
  gate go_on;
  std::shared_ptr<void> held(nullptr, [&](void*) {
    cancelling.open();
    go_on.wait();
  });
  std::atomic<bool> refused = false;
  takt::future<void> other;
  auto waits = strand.submit([&] {
    other = strand.submit([held = std::move(held)] {});
    submitted.open();
    cancelling.wait();
    try {
      other.wait();
    } catch (const std::system_error&) {
      refused = true;
    }
  });
  submitted.wait();
  std::thread canceller([&] { EXPECT_EQ(other.cancel(), takt::cancel_result::prevented); });
  while (time.waiters() == 0 && !refused) takt::sync::yield();
  go_on.open();
  canceller.join();
  waits.get();
  EXPECT_FALSE(refused);
}

TEST(serial_executor, shutdown_lets_queued_tasks_run) {
  manual_executor loop;
  serial_executor strand(loop);
  int ran = 0;
  strand.execute([&] { ++ran; });
  strand.shutdown();
  EXPECT_THROW(strand.execute([] {}), rejected);
  EXPECT_FALSE(strand.is_terminated());
  loop.poll();
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(strand.is_terminated());
}

TEST(serial_executor, shutdown_now_gives_back_and_asks_what_runs_to_stop) {
  thread_pool pool{{.core_threads = 1}};
  serial_executor strand(pool);
  takt::promise<void> begun;
  auto is_running = begun.get_future();
  auto f = strand.submit([&](const std::stop_token& stop) {
    begun.set_value();
    takt::promise<void> never;
    never.get_future().wait(stop);
    return 4;
  });
  auto g = strand.submit([] { return 5; });
  auto cancelled = strand.submit([] {});
  is_running.wait();
  cancelled.cancel();
  auto unstarted = strand.shutdown_now();
  ASSERT_EQ(unstarted.size(), 1U);
  unstarted[0].run();
  EXPECT_EQ(f.get(), 4);
  EXPECT_EQ(g.get(), 5);
  strand.await_termination();
  const auto totals = strand.totals();
  EXPECT_EQ(totals.finished, 1U);
  EXPECT_EQ(totals.returned, 1U);
  EXPECT_EQ(totals.cancelled, 1U);
}

TEST(serial_executor, the_destructor_cancels_and_does_not_wait_for_a_drain_that_nobody_runs) {
  manual_executor loop;
  takt::future<void> f;
  {
    serial_executor strand(loop);
    f = strand.submit([] {});
  }
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_EQ(loop.poll(), 1U);  // the drain finds nothing
}

TEST(serial_executor, can_be_destroyed_by_its_own_task) {
  thread_pool pool{{.core_threads = 1}};
  auto strand = std::make_unique<serial_executor>(pool);
  serial_executor& alive = *strand;
  auto f = alive.submit([s = std::move(strand)]() mutable { s.reset(); });
  f.get();
  EXPECT_TRUE(pool.close(drain));
}

TEST(serial_executor, tells_an_observer) {
  takt::task_statistics figures;
  manual_executor loop;
  {
    serial_executor strand(loop, {.observer = &figures});
    strand.execute([] {});
    loop.poll();
    strand.execute([] {});
    strand.execute([] {});  // the drain is already queued
  }
  const auto totals = figures.totals();
  EXPECT_EQ(totals.submitted, 3U);
  EXPECT_EQ(totals.finished, 1U);
  EXPECT_EQ(totals.cancelled, 2U);
}

// A program may have thousands of strands.
TEST(serial_executor, an_idle_one_keeps_little_memory) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  takt::task_statistics figures;
  for (takt::task_observer* const observer :
       {static_cast<takt::task_observer*>(nullptr), static_cast<takt::task_observer*>(&figures)}) {
    manual_executor loop;
    serial_executor strand(loop, {.observer = observer});
    const auto run = [&](int tasks) {
      for (int i = 0; i < tasks; ++i) strand.execute([] {});
      loop.poll();
      return takt::allocations() - takt::deallocations();
    };
    run(1);
    const std::size_t few = run(1);
    EXPECT_LE(run(1000), few) << "blocks that are not freed";
    EXPECT_LE(run(1), few);
  }
}

TEST(serial_executor, bad_options_are_told) {
  manual_executor loop;
  EXPECT_THROW(serial_executor(loop, {.batch = 0}), std::invalid_argument);
  EXPECT_THROW(serial_executor(loop, {.time = nullptr}), std::invalid_argument);
  EXPECT_THROW(serial_executor(loop, {.unhandled = nullptr}), std::invalid_argument);
  serial_executor strand(loop);
  EXPECT_THROW(strand.execute(takt::task()), std::invalid_argument);
}

}  // namespace

// The rows of the table of docs/shutdown.md: what executors and schedulers do with queued, running
// and later work. The tests of services and of rx cover their rows.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/exec/tracking_executor.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::rejection;
using takt::task_outcome;
using takt::sync::stop_token;
using takt_test::gate;
using takt_test::rejection_of;

// A serial_executor on a pool of its own.
class strand_and_pool {
 public:
  strand_and_pool() : strand_(std::make_unique<takt::serial_executor>(pool_)) {}
  takt::serial_executor& get() { return *strand_; }
  void destroy() { strand_.reset(); }

 private:
  takt::thread_pool pool_{{.core_threads = 1}};
  std::unique_ptr<takt::serial_executor> strand_;
};

template <class Pool>
class pool_alone {
 public:
  pool_alone() {
    if constexpr (std::is_same_v<Pool, takt::thread_pool>) {
      pool_ = std::make_unique<Pool>(takt::thread_pool_options{.core_threads = 1});
    } else {
      pool_ = std::make_unique<Pool>(typename Pool::options_type{.threads = 1});
    }
  }
  Pool& get() { return *pool_; }
  void destroy() { pool_.reset(); }

 private:
  std::unique_ptr<Pool> pool_;
};

// One task runs until stop is requested or it is released; another one is queued behind it.
template <class Owner>
class stopping : public testing::Test {
 protected:
  stopping() {
    running = owner.get().submit([this](const stop_token& stop) {
      const takt::sync::stop_callback on_stop(stop, [this] {
        asked = true;
        go_on.open();
      });
      begun.open();
      go_on.wait();
      return 1;
    });
    queued = owner.get().submit([] { return 2; });
    begun.wait();
  }
  std::optional<rejection> later() {
    return rejection_of([&] { owner.get().execute([] {}); });
  }

  gate begun;
  gate go_on;
  takt::sync::atomic<bool> asked{false};
  takt::future<int> running;
  takt::future<int> queued;
  Owner owner;
};
using owners = testing::Types<pool_alone<takt::thread_pool>, pool_alone<takt::stealing_pool>,
                              pool_alone<takt::scheduled_pool>, strand_and_pool>;
TYPED_TEST_SUITE(stopping, owners, );

TYPED_TEST(stopping, shutdown_lets_queued_and_running_work_go_on) {
  this->owner.get().shutdown();
  EXPECT_EQ(this->later(), rejection::shut_down);
  EXPECT_FALSE(this->asked);
  this->go_on.open();
  EXPECT_EQ(this->queued.get(), 2);
  EXPECT_EQ(this->running.get(), 1);
  this->owner.get().await_termination();
}

TYPED_TEST(stopping, shutdown_now_gives_back_what_is_queued_and_asks_what_runs) {
  takt::task_list rest = this->owner.get().shutdown_now();
  EXPECT_EQ(this->later(), rejection::shut_down);
  this->owner.get().await_termination();
  EXPECT_TRUE(this->asked);
  EXPECT_EQ(this->running.get(), 1) << "it gets what the task returns";
  EXPECT_FALSE(this->queued.is_ready());
  for (takt::task& t : rest) t.run();
  EXPECT_EQ(this->queued.get(), 2);
}

TYPED_TEST(stopping, shutdown_now_and_dropping_abandons_what_is_queued) {
  static_cast<void>(this->owner.get().shutdown_now());
  EXPECT_THROW(this->queued.get(), takt::broken_promise);
}

TYPED_TEST(stopping, shutdown_and_cancel_cancels_what_is_queued_and_asks_what_runs) {
  this->owner.get().shutdown_and_cancel();
  EXPECT_EQ(this->later(), rejection::shut_down);
  EXPECT_EQ(this->queued.outcome(), task_outcome::cancelled);
  this->owner.get().await_termination();
  EXPECT_TRUE(this->asked);
  EXPECT_EQ(this->running.get(), 1);
}

TYPED_TEST(stopping, the_destructor_cancels_what_is_queued_asks_what_runs_and_waits) {
  this->owner.destroy();
  EXPECT_TRUE(this->asked);
  ASSERT_TRUE(this->running.is_ready());
  EXPECT_EQ(this->queued.outcome(), task_outcome::cancelled);
}

TYPED_TEST(stopping, close_for_some_time_cancels_the_rest) {
  EXPECT_FALSE(this->owner.get().close(takt::drain_for(0s)));
  EXPECT_TRUE(this->asked);
  EXPECT_EQ(this->queued.outcome(), task_outcome::cancelled);
}

// --- tasks with a due time

template <class Timers>
struct waiting_work {
  explicit waiting_work(Timers& timers)
      : once(timers.schedule(10s, [] { return 1; })),
        series(timers.schedule_at_fixed_rate(10s, 10s, [] {})) {}
  takt::scheduled_future<int> once;
  takt::periodic_future series;
};

TEST(stopping_timers, a_scheduled_pool_runs_what_is_delayed_at_its_time_and_cancels_series) {
  takt::manual_clock time;
  takt::scheduled_pool pool({.threads = 1, .time = &time});
  waiting_work work(pool);
  pool.shutdown();
  EXPECT_EQ(work.series.outcome(), task_outcome::cancelled);
  EXPECT_FALSE(work.once.is_ready());
  time.wait_for_waiters(1);
  time.advance(10s);
  EXPECT_EQ(work.once.get(), 1);
  pool.await_termination();
}

TEST(stopping_timers, a_scheduled_pool_gives_back_or_cancels_all) {
  takt::manual_clock time;
  takt::scheduled_pool first({.threads = 1, .time = &time});
  waiting_work given(first);
  takt::task_list rest = first.shutdown_now();
  EXPECT_EQ(rest.size(), 2u);
  EXPECT_FALSE(given.once.is_ready());
  first.await_termination();

  takt::scheduled_pool second({.threads = 1, .time = &time});
  waiting_work cancelled(second);
  second.shutdown_and_cancel();
  EXPECT_EQ(cancelled.once.outcome(), task_outcome::cancelled);
  EXPECT_EQ(cancelled.series.outcome(), task_outcome::cancelled);
  EXPECT_EQ(rejection_of([&] { second.execute(1s, [] {}); }), rejection::shut_down);
}

TEST(stopping_timers, an_event_loop_runs_what_is_posted_and_delayed_and_cancels_the_rest) {
  takt::manual_clock time;
  takt::event_loop loop({.time = &time});
  waiting_work work(loop);
  auto posted = loop.submit([] { return 2; });
  auto frame = loop.frames().submit([] { return 3; });
  loop.shutdown();
  EXPECT_EQ(rejection_of([&] { loop.execute([] {}); }), rejection::shut_down);
  EXPECT_EQ(work.series.outcome(), task_outcome::cancelled);
  EXPECT_EQ(frame.outcome(), task_outcome::cancelled);
  while (loop.poll() != 0) {
  }
  EXPECT_EQ(posted.get(), 2);
  EXPECT_FALSE(work.once.is_ready());
  time.advance(10s);
  while (loop.poll() != 0) {
  }
  EXPECT_EQ(work.once.get(), 1);
}

TEST(stopping_timers, an_event_loop_gives_back_or_cancels_all) {
  takt::manual_clock time;
  takt::event_loop first({.time = &time});
  waiting_work given(first);
  auto posted = first.submit([] { return 2; });
  takt::task_list rest = first.shutdown_now();
  EXPECT_EQ(rest.size(), 3u);
  EXPECT_FALSE(posted.is_ready());

  std::optional<takt::event_loop> second(std::in_place, takt::event_loop_options{.time = &time});
  waiting_work cancelled(*second);
  auto other = second->submit([] { return 2; });
  second.reset();
  EXPECT_EQ(cancelled.once.outcome(), task_outcome::cancelled);
  EXPECT_EQ(cancelled.series.outcome(), task_outcome::cancelled);
  EXPECT_EQ(other.outcome(), task_outcome::cancelled);
}

TEST(stopping_timers, a_wheel_hands_over_what_runs_once_and_cancels_series) {
  takt::manual_clock time;
  takt::wheel_scheduler wheel({.time = &time});
  auto timers = wheel.on(takt::inline_executor());
  waiting_work work(timers);
  wheel.shutdown();
  EXPECT_EQ(work.series.outcome(), task_outcome::cancelled);
  EXPECT_EQ(rejection_of([&] { timers.execute(0s, [] {}); }), rejection::shut_down);
  EXPECT_FALSE(work.once.is_ready());
  time.wait_for_waiters(1);
  time.advance(11s);
  EXPECT_EQ(work.once.get(), 1);
  wheel.await_termination();
}

TEST(stopping_timers, a_wheel_gives_back_cancels_or_runs_what_waits) {
  takt::manual_clock time;
  const auto with_wheel = [&](auto end) {
    takt::wheel_scheduler wheel({.time = &time});
    auto timers = wheel.on(takt::inline_executor());
    waiting_work work(timers);
    end(wheel);
    return work.once.is_ready() ? std::optional(work.once.outcome()) : std::nullopt;
  };
  EXPECT_EQ(with_wheel([](auto& w) { w.shutdown_and_cancel(); }), task_outcome::cancelled);
  EXPECT_EQ(with_wheel([](auto& w) { w.close(takt::at_close::cancel); }), task_outcome::cancelled);
  EXPECT_EQ(with_wheel([](auto& w) { w.close(takt::at_close::run_all); }), task_outcome::finished);
  takt::task_list rest;
  EXPECT_EQ(with_wheel([&](auto& w) { rest = w.shutdown_now(); }), std::nullopt);
  EXPECT_EQ(rest.size(), 2u);
}

// --- wrappers of other executors

TEST(stopping_tracker, gives_back_callables_as_they_were_and_tells_what_was_cut_off) {
  struct job {
    std::string name;
    gate* begun = nullptr;
    void operator()(const stop_token& stop) const {
      begun->open();
      takt_test::until_stopped(stop);
      throw takt::cancelled();
    }
  };
  takt::thread_pool pool({.core_threads = 1});
  takt::tracking_executor tracker{pool};
  gate begun;
  tracker.execute(job{"runs", &begun});
  tracker.execute(job{"waits", &begun});
  begun.wait();
  EXPECT_THROW(static_cast<void>(tracker.cut_off()), std::logic_error) << "it is too early to tell";
  takt::task_list rest = tracker.shutdown_now();
  EXPECT_EQ(rejection_of([&] { tracker.execute(job{"late", &begun}); }), rejection::shut_down);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].target<job>()->name, "waits");
  pool.await_termination();
  std::vector<takt::task> cut_off = tracker.cut_off();
  ASSERT_EQ(cut_off.size(), 1u);
  EXPECT_EQ(cut_off[0].target<job>()->name, "runs");
}

}  // namespace

#include <takt/sched/timeout.hpp>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::future;
using takt::manual_clock;
using takt::promise;
using takt::scheduled_pool;
using takt::with_timeout;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::rejection_of;

struct with_timeout_test : testing::Test {
  manual_clock time;
  recording_hook unhandled;
  scheduled_pool pool{{.threads = 1, .time = &time, .unhandled = &unhandled}};
  promise<int> source{{.time = &time, .unhandled = &unhandled}};

  future<int> limited(takt::due_time due = 10ms) {
    return with_timeout(due, pool, source.get_future());
  }
  [[nodiscard]] std::size_t waiting() const { return pool.statistics().delayed; }
  void TearDown() override {
    pool.close(takt::drain);
    expect_balance(pool);
    EXPECT_TRUE(unhandled.unobserved().empty());
    EXPECT_TRUE(unhandled.uncaught().empty());
  }
};

TEST_F(with_timeout_test, a_value_in_time) {
  auto f = limited();
  EXPECT_EQ(waiting(), 1u);
  source.set_value(7);
  EXPECT_EQ(waiting(), 0u);  // at once
  EXPECT_EQ(f.get(), 7);
}

TEST_F(with_timeout_test, too_late) {
  auto f = limited();
  time.advance(9ms);
  EXPECT_FALSE(f.is_ready());
  time.advance(1ms);
  EXPECT_THROW(f.get(), takt::timeout_error);
  EXPECT_TRUE(source.is_cancelled());
  source.set_value(7);  // too late: dropped
}

TEST_F(with_timeout_test, a_time_instead_of_a_duration) {
  auto f = limited(time.now() + 5ms);
  time.advance(5ms);
  EXPECT_THROW(f.get(), takt::timeout_error);
}

TEST_F(with_timeout_test, never_is_no_limit) {
  auto f = limited(takt::never);
  time.advance(24h * 365);
  source.set_value(7);
  EXPECT_EQ(f.get(), 7);
}

TEST_F(with_timeout_test, an_error_in_time) {
  auto f = limited();
  source.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_EQ(waiting(), 0u);
  EXPECT_THROW(f.get(), std::runtime_error);
}

TEST_F(with_timeout_test, a_cancellation_in_time) {
  auto f = limited();
  source.set_cancelled();
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_EQ(waiting(), 0u);
}

// The broken promise is not reported as unobserved, as with the source itself.
TEST_F(with_timeout_test, an_abandoned_source) {
  {
    auto f = limited();
    source = promise<int>();
    EXPECT_TRUE(f.is_ready());
  }
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(with_timeout_test, an_error_that_nobody_sees_is_unobserved_once) {
  {
    auto f = limited();
    source.set_exception(std::make_exception_ptr(std::runtime_error("no")));
    EXPECT_TRUE(unhandled.unobserved().empty());
  }
  source = promise<int>();
  EXPECT_EQ(unhandled.take_unobserved(), std::vector<std::string>{"no"});
}

TEST_F(with_timeout_test, cancelling_cancels_the_source_and_the_timer) {
  auto f = limited();
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  EXPECT_TRUE(source.is_cancelled());
  EXPECT_EQ(waiting(), 0u);
  EXPECT_THROW(f.get(), takt::cancelled);
}

TEST_F(with_timeout_test, a_dropped_future_still_limits_the_source) {
  static_cast<void>(limited());
  EXPECT_FALSE(source.is_cancelled());
  time.advance(10ms);
  pool.submit([] {}).get();  // runs after the timer
  EXPECT_TRUE(source.is_cancelled());
  pool.close(takt::drain);
  EXPECT_EQ(unhandled.take_unobserved(), std::vector<std::string>{takt::timeout_error().what()});
}

TEST_F(with_timeout_test, a_body_is_asked_to_stop) {
  scheduled_pool other({.threads = 1, .time = &time});
  gate begun;
  auto f = with_timeout(10ms, pool, other.submit([&](const takt::sync::stop_token& stop) {
    begun.open();
    takt_test::until_stopped(stop);
    return 7;
  }));
  begun.wait();
  time.advance(10ms);
  EXPECT_THROW(f.get(), takt::timeout_error);
  other.close(takt::drain);
  EXPECT_EQ(other.totals().cancelled, 1u);
}

TEST_F(with_timeout_test, what_waits_in_a_queue_leaves_it) {
  auto f = with_timeout(10ms, pool, pool.schedule(1h, [] { return 7; }));
  EXPECT_EQ(waiting(), 2u);
  time.advance(10ms);
  EXPECT_THROW(f.get(), takt::timeout_error);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(with_timeout_test, a_ready_source_is_passed_on) {
  source.set_value(7);
  auto f = limited(-1ms);
  EXPECT_TRUE(f.is_ready());
  EXPECT_EQ(pool.totals().submitted, 0u);
  EXPECT_EQ(f.get(), 7);
}

TEST_F(with_timeout_test, in_the_past_it_polls) {
  auto f = limited(-1ms);
  EXPECT_THROW(f.get(), takt::timeout_error);
}

TEST_F(with_timeout_test, a_rejected_one_leaves_the_source_as_it_was) {
  pool.close(takt::drain);
  auto f = source.get_future();
  EXPECT_EQ(rejection_of([&] { static_cast<void>(with_timeout(10ms, pool, std::move(f))); }),
            takt::rejection::shut_down);
  ASSERT_TRUE(f.valid());
  EXPECT_FALSE(source.is_cancelled());
  auto g = std::move(f).then([](int n) { return n + 1; });  // no timer is added
  source.set_value(7);
  EXPECT_EQ(g.get(), 8);
}

TEST_F(with_timeout_test, an_empty_future) {
  EXPECT_THROW(static_cast<void>(with_timeout(10ms, pool, future<int>())), std::future_error);
  EXPECT_EQ(pool.totals().submitted, 0u);
}

TEST_F(with_timeout_test, shutdown_waits_for_it) {
  auto f = limited();
  pool.shutdown();
  EXPECT_FALSE(f.is_ready());
  time.advance(10ms);
  EXPECT_THROW(f.get(), takt::timeout_error);
  pool.await_termination();
}

TEST_F(with_timeout_test, a_result_ends_a_pool_that_waits_for_its_time_out) {
  auto f = limited();
  pool.shutdown();
  source.set_value(7);
  pool.await_termination();
  EXPECT_EQ(f.get(), 7);
}

TEST_F(with_timeout_test, a_pool_that_drops_it_cancels) {
  auto f = limited();
  pool.shutdown_and_cancel();
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_TRUE(source.is_cancelled());
  pool.await_termination();
}

TEST_F(with_timeout_test, given_back) {
  auto f = limited();
  auto tasks = pool.shutdown_now();
  pool.await_termination();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].name(), "takt::with_timeout");
  EXPECT_FALSE(f.is_ready());
  tasks[0].run();
  EXPECT_THROW(f.get(), takt::timeout_error);
}

TEST_F(with_timeout_test, given_back_and_dropped) {
  auto f = limited();
  static_cast<void>(pool.shutdown_now());
  pool.await_termination();
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_TRUE(source.is_cancelled());
}

TEST_F(with_timeout_test, results_of_any_type) {
  promise<void> nothing;
  promise<int&> reference;
  promise<std::unique_ptr<int>> owner;
  int n = 0;
  auto a = with_timeout(1s, pool, nothing.get_future());
  auto b = with_timeout(1s, pool, reference.get_future());
  auto c = with_timeout(1s, pool, owner.get_future());
  nothing.set_value();
  reference.set_value(n);
  owner.set_value(std::make_unique<int>(3));
  a.get();
  EXPECT_EQ(&b.get(), &n);
  EXPECT_EQ(*c.get(), 3);
}

TEST_F(with_timeout_test, a_value_that_cannot_be_moved_is_an_error) {
  struct stubborn {
    stubborn() = default;
    // NOLINTNEXTLINE(performance-noexcept-move-constructor): that is what it is about
    stubborn(stubborn&& other) : moves(other.moves + 1) {
      if (moves == 2) throw std::length_error("moved twice");
    }
    int moves = 0;
  };
  promise<stubborn> p;
  auto f = with_timeout(1s, pool, p.get_future());
  p.set_value(stubborn());
  EXPECT_THROW(f.get(), std::length_error);
}

TEST_F(with_timeout_test, continues) {
  std::optional<int> seen;
  auto f = limited().then([&](future<int> g) {
    try {
      seen = g.get();
    } catch (const takt::timeout_error&) {
      seen = -1;
    }
  });
  time.advance(10ms);
  f.get();
  EXPECT_EQ(seen, -1);
}

// Results, time-outs and cancellations of many futures, concurrently.
TEST_F(with_timeout_test, many_at_once) {
  constexpr int count = 300;
  std::vector<promise<int>> promises;
  std::vector<future<int>> futures;
  for (int i = 0; i < count; ++i) {
    promises.emplace_back();
    futures.push_back(with_timeout(10ms, pool, promises.back().get_future()));
  }
  takt::sync::thread setter([&] {
    for (int i = 0; i < count; ++i) promises[static_cast<std::size_t>(i)].set_value(i);
  });
  takt::sync::thread canceller([&] {
    for (int i = count; i-- > 0;) {
      if (i % 3 == 0) futures[static_cast<std::size_t>(i)].cancel();
    }
  });
  time.advance(10ms);
  setter.join();
  canceller.join();
  int ends = 0;
  for (int i = 0; i < count; ++i) {
    try {
      EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i);
      ++ends;
    } catch (const takt::timeout_error&) {
      ++ends;
    } catch (const takt::cancelled&) {
      EXPECT_EQ(i % 3, 0);
      ++ends;
    }
  }
  EXPECT_EQ(ends, count);
  EXPECT_EQ(waiting(), 0u);
}

}  // namespace

#include <takt/sched/retry.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::backoff;
using takt::cancel_result;
using takt::manual_clock;
using takt::retry;
using takt::scheduled_pool;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::recording_hook;
using takt_test::tally;

TEST(backoff, grows_up_to_its_limit) {
  const backoff b{.initial = 10ms, .factor = 3, .limit = 100ms};
  EXPECT_EQ(b.delay_after(1), 10ms);
  EXPECT_EQ(b.delay_after(2), 30ms);
  EXPECT_EQ(b.delay_after(3), 90ms);
  EXPECT_EQ(b.delay_after(4), 100ms);
  EXPECT_EQ(b.delay_after(std::numeric_limits<std::size_t>::max()), 100ms);
}

TEST(backoff, at_its_limits) {
  EXPECT_EQ(backoff({.initial = 0ms}).delay_after(1'000'000), 0ms);
  EXPECT_EQ(backoff({.initial = 1ms, .factor = 1}).delay_after(1'000'000), 1ms);
  EXPECT_EQ(backoff({.initial = 1ms, .limit = takt::never}).delay_after(1'000'000), takt::never);
  EXPECT_EQ(backoff({.initial = 1min, .limit = 1s}).delay_after(1), 1s);
  EXPECT_EQ(backoff({.initial = 1min, .limit = 0s}).delay_after(1), 0s);
}

struct retry_test : testing::Test {
  manual_clock time;
  recording_hook unhandled;
  scheduled_pool pool{{.threads = 1, .time = &time, .unhandled = &unhandled}};
  tally attempts;

  // A function that fails the first `times` attempts.
  auto failing(std::size_t times) {
    return [this, times] {
      attempts.add();
      if (attempts.count() <= times) {
        throw std::runtime_error("attempt " + std::to_string(attempts.count()));
      }
      return 7;
    };
  }
  // Waits for that attempt, and lets the delay after it pass.
  void pass(std::size_t attempt, std::chrono::nanoseconds delay) {
    attempts.wait_for(attempt);
    time.wait_for_waiters(1);
    time.advance(delay - 1ns);
    EXPECT_EQ(attempts.count(), attempt);
    time.advance(1ns);
  }
  [[nodiscard]] std::size_t waiting() const { return pool.statistics().delayed; }
  void TearDown() override {
    pool.close(takt::drain);
    expect_balance(pool);
    EXPECT_TRUE(unhandled.unobserved().empty());
    EXPECT_TRUE(unhandled.uncaught().empty());
  }
};

TEST_F(retry_test, what_succeeds_is_tried_once) {
  EXPECT_EQ(retry(pool, failing(0)).get(), 7);
  EXPECT_EQ(attempts.count(), 1u);
}

TEST_F(retry_test, waits_longer_each_time) {
  auto f = retry(pool, failing(3), {.initial = 10ms, .factor = 2, .limit = 30ms});
  pass(1, 10ms);
  pass(2, 20ms);
  pass(3, 30ms);
  EXPECT_EQ(f.get(), 7);
  pool.close(takt::drain);
  const takt::task_totals tasks = pool.totals();
  EXPECT_EQ(tasks.submitted, 1u);
  EXPECT_EQ(tasks.ran, 3u);
  EXPECT_EQ(tasks.finished, 1u);
}

TEST_F(retry_test, the_last_error_is_the_result) {
  auto f = retry(pool, failing(9), {.initial = 1ms, .attempts = 2});
  pass(1, 1ms);
  f.wait();
  pool.close(takt::drain);  // the thread has released the error
  try {
    f.get();
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "attempt 2");
  }
  EXPECT_EQ(attempts.count(), 2u);
}

TEST_F(retry_test, without_delays) {
  EXPECT_EQ(retry(pool, failing(50), {.initial = 0ms, .attempts = 51}).get(), 7);
}

TEST_F(retry_test, jitter_is_what_you_say) {
  std::vector<std::chrono::nanoseconds> seen;
  auto f = retry(pool, failing(3), {.initial = 10ms, .jitter = [&](auto delay) {
                                      seen.push_back(delay);
                                      return seen.size() == 1 ? -1h : delay / 2;
                                    }});
  attempts.wait_for(2);  // a negative delay means at once
  pass(2, 10ms);
  pass(3, 20ms);
  EXPECT_EQ(f.get(), 7);
  EXPECT_THAT(seen, testing::ElementsAre(10ms, 20ms, 40ms));
}

TEST_F(retry_test, jitter_that_throws_is_the_result) {
  auto f = retry(pool, failing(3), {.jitter = [](auto) -> std::chrono::nanoseconds {
                   throw std::length_error("jitter");
                 }});
  EXPECT_THROW(f.get(), std::length_error);
  EXPECT_EQ(attempts.count(), 1u);
}

TEST_F(retry_test, cancelled_is_not_tried_again) {
  auto f = retry(pool, [this] {
    attempts.add();
    throw takt::cancelled();
  });
  EXPECT_THROW(f.get(), takt::cancelled);
  EXPECT_EQ(attempts.count(), 1u);
}

TEST_F(retry_test, cancelling_a_delay_takes_it_out) {
  auto alive = std::make_shared<int>(0);
  auto f = retry(pool, [call = failing(9), alive]() mutable { return call(); });
  attempts.wait_for(1);
  time.wait_for_waiters(1);
  EXPECT_EQ(waiting(), 1u);
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  EXPECT_EQ(waiting(), 0u);
  EXPECT_EQ(alive.use_count(), 1);  // the closure is destroyed
  EXPECT_THROW(f.get(), takt::cancelled);
}

TEST_F(retry_test, cancelling_an_attempt_asks_it_to_stop) {
  gate begun;
  auto f = retry(pool, [&](const takt::sync::stop_token& stop) {
    begun.open();
    takt_test::until_stopped(stop);
    throw std::runtime_error("stopped");
  });
  begun.wait();
  EXPECT_EQ(f.cancel(), cancel_result::running);
  EXPECT_EQ(f.cancel_and_join(), cancel_result::done);
  EXPECT_TRUE(f.is_cancelled());
  pool.close(takt::drain);
  EXPECT_EQ(pool.totals().started, 1u);
}

// An error whose destruction uses objects of the caller.
class error_with_end : public std::runtime_error {
 public:
  explicit error_with_end(std::shared_ptr<void> end)
      : std::runtime_error("stopped"), end_(std::move(end)) {}

 private:
  std::shared_ptr<void> end_;
};

TEST_F(retry_test, the_error_of_an_attempt_is_gone_when_it_has_been_joined) {
  gate begun;
  std::atomic<bool> gone{false};
  auto f = retry(pool, [&](const takt::sync::stop_token& stop) {
    begun.open();
    takt_test::until_stopped(stop);
    throw error_with_end({nullptr, [&](void*) {
                            for (int i = 0; i < 1000; ++i) takt::sync::yield();
                            gone = true;
                          }});
  });
  begun.wait();
  EXPECT_EQ(f.cancel(), cancel_result::running);
  EXPECT_EQ(f.cancel_and_join(), cancel_result::done);
  EXPECT_TRUE(gone);
  pool.close(takt::drain);
}

TEST_F(retry_test, shutdown_cancels_the_delay) {
  auto f = retry(pool, failing(9));
  attempts.wait_for(1);
  time.wait_for_waiters(1);
  pool.shutdown();
  EXPECT_TRUE(f.is_cancelled());
  pool.await_termination();
}

TEST_F(retry_test, shutdown_lets_an_attempt_succeed) {
  gate begun;
  gate go_on;
  auto f = retry(pool, [&] {
    begun.open();
    go_on.wait();
    return 7;
  });
  begun.wait();
  pool.shutdown();
  go_on.open();
  EXPECT_EQ(f.get(), 7);
  pool.await_termination();
}

TEST_F(retry_test, kept_after_shutdown) {
  pool.keep_after_shutdown({.periodic = true});
  auto f = retry(pool, failing(1), {.initial = 5ms});
  attempts.wait_for(1);
  pool.shutdown();
  time.wait_for_waiters(1);
  time.advance(5ms);
  EXPECT_EQ(f.get(), 7);
  pool.await_termination();
}

TEST_F(retry_test, given_back_it_tries_once_more) {
  for (const bool succeeds : {true, false}) {
    manual_clock other_time;
    scheduled_pool other({.threads = 1, .time = &other_time});
    tally before;
    auto f = retry(other, [&] {
      before.add();
      if (before.count() == 1 || !succeeds) throw std::runtime_error("no");
      return 7;
    });
    before.wait_for(1);
    other_time.wait_for_waiters(1);
    auto tasks = other.shutdown_now();
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].deadline(), other_time.now() + 100ms);
    tasks[0].run();
    if (succeeds) {
      EXPECT_EQ(f.get(), 7);
    } else {
      EXPECT_THROW(f.get(), std::runtime_error);
    }
    other.await_termination();
  }
}

TEST_F(retry_test, given_back_and_dropped) {
  auto f = retry(pool, failing(9));
  attempts.wait_for(1);
  time.wait_for_waiters(1);
  static_cast<void>(pool.shutdown_now());
  EXPECT_THROW(f.get(), takt::broken_promise);
  pool.await_termination();
}

TEST_F(retry_test, a_pool_that_is_shut_down_rejects) {
  pool.close(takt::drain);
  EXPECT_THROW(static_cast<void>(retry(pool, failing(0))), takt::rejected);
  EXPECT_EQ(attempts.count(), 0u);
}

TEST_F(retry_test, results_of_any_type) {
  int n = 0;
  retry(pool, [] {}).get();
  EXPECT_EQ(&retry(pool, [&]() -> int& { return n; }).get(), &n);
  EXPECT_EQ(*retry(pool, [] { return std::make_unique<int>(3); }).get(), 3);
}

// The error names the wrong option and its limit; no task is queued.
TEST_F(retry_test, bad_policies) {
  const auto message = [this](backoff policy) -> std::string {
    try {
      static_cast<void>(retry(pool, [] {}, std::move(policy)));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message({.attempts = 0}), HasSubstr("attempts is 0; it has to be at least 1"));
  EXPECT_THAT(message({.initial = -5ns}), HasSubstr("initial is -5 ns; it has to be at least 0"));
  EXPECT_THAT(message({.limit = -7ns}), HasSubstr("limit is -7 ns; it has to be at least 0"));
  EXPECT_THAT(message({.factor = 0.5}), HasSubstr("factor is 0.5"));
  EXPECT_THAT(message({.factor = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("at least 1"));
  EXPECT_THROW(static_cast<void>(retry(pool, std::function<int()>())), std::invalid_argument);
  EXPECT_EQ(pool.totals().submitted, 0u);
}

}  // namespace

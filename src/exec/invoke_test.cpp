#include <takt/exec/invoke.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/unhandled.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::sync::stop_source;
using takt::sync::stop_token;
using takt_test::finds_deadlock;
using takt_test::until_stopped;
using calls = std::vector<std::function<int()>>;
using stoppable_calls = std::vector<std::function<int(stop_token)>>;

// Runs up to a limit of tasks at once, on the test's clock.
class limited_executor {
 public:
  explicit limited_executor(const takt::clock& time, std::size_t limit = 1000)
      : time_(time), left_(limit) {}
  void execute(takt::task t) {
    if (left_-- == 0) throw takt::rejected(takt::rejection::saturated);
    t.run();
  }
  [[nodiscard]] takt::future_options future_options() const { return {.time = &time_}; }

 private:
  const takt::clock& time_;
  std::size_t left_;
};

class counting_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override { ++told; }
  mutable takt::sync::atomic<int> told{0};
};

TEST(invoke_all, gives_all_results_in_the_order_of_the_callables) {
  takt::thread_pool pool{{.core_threads = 3}};
  calls work;
  for (int i = 0; i < 50; ++i) work.emplace_back([i] { return i; });
  std::vector<future<int>> all = takt::invoke_all(pool, work);
  ASSERT_EQ(all.size(), 50u);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(all[static_cast<std::size_t>(i)].is_ready());
    EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i);
  }
  EXPECT_EQ(work.front()(), 0);  // copied, not moved
}

TEST(invoke_all, takes_all_kinds_of_ranges) {
  const takt::inline_executor e;
  std::vector<takt::move_only_function<int() &&>> owned;
  owned.emplace_back([p = std::make_unique<int>(1)] { return *p; });
  EXPECT_EQ(takt::invoke_all(e, std::move(owned)).front().get(), 1);

  const auto shared = std::make_shared<int>(2);
  std::array copied{[shared] { return *shared; }};
  EXPECT_EQ(takt::invoke_all(e, std::span(copied)).front().get(), 2);  // a view owns nothing
  EXPECT_EQ(copied[0](), 2);
  EXPECT_EQ(takt::invoke_all(e, std::as_const(copied)).front().get(), 2);

  auto made =
      std::views::iota(3, 5) | std::views::transform([](int i) { return [i] { return i; }; });
  EXPECT_EQ(takt::invoke_all(e, made).back().get(), 4);

  std::vector<void (*)()> nothing{[] {}};
  takt::invoke_all(e, nothing).front().get();
}

TEST(invoke_all, leaves_errors_in_the_futures) {
  takt::thread_pool pool{{.core_threads = 1}};
  auto all = takt::invoke_all(
      pool, calls{[]() -> int { throw std::out_of_range("x"); }, [] { return 1; }});
  EXPECT_THROW(all[0].get(), std::out_of_range);
  EXPECT_EQ(all[1].get(), 1);
}

TEST(invoke_all, cancels_what_was_submitted_if_a_submission_fails) {
  takt::thread_pool pool{{.core_threads = 1, .queue_capacity = 1}};
  bool ran = false;
  takt::sync::atomic<bool> ended{true};
  const stoppable_calls work{[&](const stop_token& stop) {
                               ended = false;
                               until_stopped(stop);
                               for (int i = 0; i < 100; ++i) takt::sync::yield();
                               ended = true;
                               return 1;
                             },
                             [&](const stop_token&) { return (ran = true) ? 2 : 0; },
                             [](const stop_token&) { return 3; }};
  EXPECT_THROW(static_cast<void>(takt::invoke_all(pool, work)), takt::rejected);
  EXPECT_TRUE(ended);       // or did not begin: nothing refers to local variables any more
  pool.close(takt::drain);  // would hang if stop of the first one were not requested
  EXPECT_FALSE(ran);
  EXPECT_EQ(pool.totals().cancelled, 2u);

  EXPECT_THROW(static_cast<void>(takt::invoke_all(takt::inline_executor(), calls{nullptr})),
               std::invalid_argument);
}

TEST(invoke_all, cancels_what_is_unfinished_at_the_deadline) {
  takt::manual_clock time;
  takt::thread_pool pool{{.core_threads = 1, .time = &time}};
  bool ran = false;
  const stoppable_calls work{[](const stop_token&) { return 1; },
                             [&](const stop_token& stop) {
                               time.advance(1s);
                               until_stopped(stop);
                               return 2;
                             },
                             [&](const stop_token&) { return (ran = true) ? 3 : 0; }};
  auto all = takt::invoke_all_for(1s, pool, work);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].get(), 1);
  EXPECT_TRUE(all[1].is_cancelled());
  EXPECT_TRUE(all[2].is_cancelled());
  EXPECT_EQ(all[1].cancel_and_join(), takt::cancel_result::done);
  pool.close(takt::drain);
  EXPECT_FALSE(ran);
}

TEST(invoke_all, submits_nothing_after_the_deadline) {
  takt::manual_clock time;
  limited_executor e(time);
  int ran = 0;
  const calls work{[&] { return ++ran; },
                   [&] {
                     time.advance(1s);
                     return ++ran;
                   },
                   [&] { return ++ran; }};
  auto all = takt::invoke_all_until(time.now() + 1s, e, work);
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(all[0].get(), 1);
  EXPECT_EQ(all[1].get(), 2);
  EXPECT_THROW(all[2].get(), takt::cancelled);

  for (auto& f : takt::invoke_all_for(-1s, e, work)) EXPECT_TRUE(f.is_cancelled());
  stop_source stop;
  stop.request_stop();
  for (auto& f : takt::invoke_all(e, work, stop.get_token())) EXPECT_TRUE(f.is_cancelled());
  EXPECT_EQ(ran, 2);
}

TEST(invoke_all, cancels_what_is_unfinished_when_stop_is_requested) {
  takt::thread_pool pool{{.core_threads = 1}};
  stop_source stop;
  const stoppable_calls work{[&](const stop_token& own) {
                               stop.request_stop();
                               until_stopped(own);
                               return 1;
                             },
                             [](const stop_token&) { return 2; }};
  auto all = takt::invoke_all(pool, work, stop.get_token());
  EXPECT_TRUE(all[0].is_cancelled());
  EXPECT_TRUE(all[1].is_cancelled());
}

TEST(invoke_all, finds_out_that_it_would_wait_for_ever) {
  takt::thread_pool pool{{.core_threads = 1}};
  bool ran = false;
  const calls work{[&] { return (ran = true) ? 1 : 0; }};
  EXPECT_TRUE(pool.submit([&] {
                    return finds_deadlock([&] { static_cast<void>(takt::invoke_all(pool, work)); });
                  })
                  .get());
  EXPECT_TRUE(
      pool.submit([&] { return finds_deadlock([&] { takt::invoke_any(pool, work); }); }).get());
  pool.close(takt::drain);
  EXPECT_FALSE(ran);

  takt::thread_pool two{{.core_threads = 2}};
  EXPECT_EQ(two.submit([&] { return takt::invoke_all(two, work).size(); }).get(), 1u);
  EXPECT_EQ(two.submit([&] { return takt::invoke_any(two, work); }).get(), 1);
}

TEST(invoke_any, gives_the_first_value_and_cancels_the_others) {
  takt::thread_pool pool{{.core_threads = 2}};
  const stoppable_calls work{[](const stop_token& stop) {
                               until_stopped(stop);
                               return 1;
                             },
                             [](const stop_token&) { return 2; }};
  EXPECT_EQ(takt::invoke_any(pool, work), 2);
  pool.close(takt::drain);  // would hang if stop of the first one were not requested
  EXPECT_EQ(pool.totals().cancelled, 1u);
}

TEST(invoke_any, submits_no_more_than_it_takes) {
  int ran = 0;
  const calls work{[&]() -> int {
                     ++ran;
                     throw std::runtime_error("x");
                   },
                   [&] { return ++ran; }, [&] { return ++ran; }};
  EXPECT_EQ(takt::invoke_any(takt::inline_executor(), work), 2);
  EXPECT_EQ(ran, 2);
}

TEST(invoke_any, throws_the_last_error_if_all_fail) {
  const takt::inline_executor e;
  EXPECT_THROW(takt::invoke_any(e, calls{[]() -> int { throw std::out_of_range("x"); },
                                         []() -> int { throw std::length_error("x"); }}),
               std::length_error);
  EXPECT_THROW(takt::invoke_any(e, calls{[]() -> int { throw takt::cancelled(); }}),
               takt::cancelled);
}

TEST(invoke_any, needs_callables) {
  const takt::inline_executor e;
  EXPECT_THROW(takt::invoke_any(e, calls{}), std::invalid_argument);
  EXPECT_THROW(takt::invoke_any(e, calls{nullptr}), std::invalid_argument);
}

TEST(invoke_any, gives_all_kinds_of_results) {
  const takt::inline_executor e;
  takt::invoke_any(e, std::vector<void (*)()>{[] {}});
  int n = 0;
  EXPECT_EQ(&takt::invoke_any(e, std::array{[&]() -> int& { return n; }}), &n);
  std::vector<takt::move_only_function<std::unique_ptr<int>()>> owners;
  owners.emplace_back([p = std::make_unique<int>(3)]() mutable { return std::move(p); });
  EXPECT_EQ(*takt::invoke_any(e, std::move(owners)), 3);
}

TEST(invoke_any, times_out_on_the_clock_of_the_executor) {
  takt::manual_clock time;
  takt::thread_pool pool{{.core_threads = 1, .time = &time}};
  bool ran = false;
  const stoppable_calls work{[&](const stop_token& stop) {
                               time.advance(1s);
                               until_stopped(stop);
                               return 1;
                             },
                             [&](const stop_token&) { return (ran = true) ? 1 : 0; }};
  EXPECT_THROW(takt::invoke_any_for(1s, pool, work), takt::timeout_error);
  EXPECT_THROW(takt::invoke_any_until(time.now(), pool, work), takt::timeout_error);
  pool.close(takt::drain);
  EXPECT_FALSE(ran);
  EXPECT_EQ(pool.totals().finished, 0u);
}

TEST(invoke_any, prefers_a_value_to_the_deadline) {
  takt::manual_clock time;
  limited_executor e(time);
  const calls work{[&] {
    time.advance(1s);
    return 1;
  }};
  EXPECT_EQ(takt::invoke_any_for(1s, e, work), 1);
}

TEST(invoke_any, ends_when_stop_is_requested) {
  takt::thread_pool pool{{.core_threads = 1}};
  stop_source stop;
  const stoppable_calls work{[&](const stop_token& own) {
    stop.request_stop();
    until_stopped(own);
    return 1;
  }};
  EXPECT_THROW(takt::invoke_any(pool, work, stop.get_token()), takt::wait_stopped);
}

TEST(invoke_any, passes_on_a_rejection) {
  takt::manual_clock time;
  limited_executor e(time, 1);
  const calls work{[]() -> int { throw std::runtime_error("x"); }, [] { return 1; }};
  EXPECT_THROW(takt::invoke_any(e, work), takt::rejected);
}

TEST(invoke_any, reports_errors_of_the_others_to_nobody) {
  counting_hook hook;
  takt::thread_pool pool{{.core_threads = 2, .unhandled = &hook}};
  for (int i = 0; i < 50; ++i) {
    const calls work{[]() -> int { throw std::runtime_error("x"); }, [] { return 2; },
                     []() -> int { throw std::runtime_error("y"); }};
    EXPECT_EQ(takt::invoke_any(pool, work), 2);
  }
  pool.close(takt::drain);
  EXPECT_EQ(hook.told, 0);
}

}  // namespace

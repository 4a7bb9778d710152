#include <takt/task/when_all.hpp>

#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/task/unhandled.hpp>

#include "../../tests/support/nesting.hpp"
#include "../base/counting_new.hpp"

namespace {

using takt::future;
using takt::promise;

std::vector<future<int>> futures_of(std::vector<promise<int>>& promises) {
  std::vector<future<int>> futures;
  for (auto& p : promises) futures.push_back(p.get_future());
  return futures;
}

TEST(when_all, is_ready_when_all_are) {
  std::vector<promise<int>> promises(3);
  auto all = takt::when_all(futures_of(promises));
  promises[2].set_value(2);
  promises[0].set_exception(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_FALSE(all.is_ready());
  promises[1].set_value(1);
  ASSERT_TRUE(all.is_ready());
  auto futures = all.get();
  ASSERT_EQ(futures.size(), 3U);
  EXPECT_THROW(futures[0].get(), std::runtime_error);
  EXPECT_EQ(futures[1].get(), 1);
  EXPECT_EQ(futures[2].get(), 2);
}

TEST(when_all, of_different_types_and_of_none) {
  promise<int> a;
  promise<std::string> b;
  auto both = takt::when_all(a.get_future(), b.get_future());
  a.set_value(1);
  b.set_value("two");
  auto [x, y] = both.get();
  EXPECT_EQ(x.get(), 1);
  EXPECT_EQ(y.get(), "two");
  EXPECT_TRUE(takt::when_all(std::vector<future<int>>()).is_ready());
  EXPECT_TRUE(takt::when_all().is_ready());
}

TEST(when_any, gives_the_first_and_the_others_back) {
  std::vector<promise<int>> promises(3);
  auto any = takt::when_any(futures_of(promises));
  EXPECT_FALSE(any.is_ready());
  promises[1].set_value(1);
  ASSERT_TRUE(any.is_ready());
  auto [index, futures] = any.get();
  EXPECT_EQ(index, 1U);
  EXPECT_EQ(futures[1].get(), 1);
  auto later = std::move(futures[2]).then([](int n) { return n + 1; });
  promises[2].set_value(2);
  EXPECT_EQ(later.get(), 3);
  EXPECT_EQ(futures[0].cancel(), takt::cancel_result::prevented);
}

// A future that is returned can be continued again, and its continuation is deferred like any
// other.
TEST(when_any, futures_that_come_back_wait_for_their_turn) {
  auto [index, futures] = takt::when_any(takt::make_ready_future(1)).get();
  future<void> inner;
  bool called = false;
  takt_test::fully_nested([&, first = &std::get<0>(futures)] {
    inner = std::move(*first).then([&](int) { called = true; });
    EXPECT_FALSE(called);
  });
  inner.get();
  EXPECT_TRUE(called);
}

TEST(when_any, of_what_is_ready_already_and_of_different_types) {
  promise<std::string> never;
  auto any = takt::when_any(never.get_future(), takt::make_ready_future(5));
  ASSERT_TRUE(any.is_ready());
  auto [index, futures] = any.get();
  EXPECT_EQ(index, 1U);
  EXPECT_EQ(std::get<1>(futures).get(), 5);
}

TEST(when_any, of_none_and_of_empty_futures_are_errors) {
  EXPECT_THROW(static_cast<void>(takt::when_any(std::vector<future<int>>())),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(takt::when_any(future<int>())), std::future_error);
  EXPECT_THROW(static_cast<void>(takt::when_all(future<int>())), std::future_error);
}

TEST(when_all, cancelling_it_cancels_none_of_them) {
  promise<int> p;
  auto all = takt::when_all(p.get_future());
  EXPECT_EQ(all.cancel(), takt::cancel_result::prevented);
  EXPECT_FALSE(p.is_cancelled());
  p.set_value(1);
}

// The futures are destroyed like any other: errors that were not retrieved are reported.
TEST(when_all, cancelled_one_does_not_hide_errors) {
  class counting final : public takt::unhandled_hook {
   public:
    void on_unhandled(takt::unhandled kind, const std::exception_ptr&) const noexcept override {
      if (kind == takt::unhandled::unobserved) ++unobserved;
    }
    mutable int unobserved = 0;
  } hook;
  {
    promise<int> a({.unhandled = &hook});
    promise<int> b({.unhandled = &hook});
    promise<int> c({.unhandled = &hook});
    auto all = takt::when_all(a.get_future(), b.get_future());
    auto any = takt::when_any(c.get_future());
    EXPECT_EQ(all.cancel(), takt::cancel_result::prevented);
    EXPECT_EQ(any.cancel(), takt::cancel_result::prevented);
    a.set_exception(std::make_exception_ptr(std::runtime_error("no")));
    b.set_value(1);
    c.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  }
  EXPECT_EQ(hook.unobserved, 2);
}

TEST(when_all, waits_on_the_clock_of_the_first) {
  takt::manual_clock time;
  promise<int> a({.time = &time});
  promise<int> b;
  auto all = takt::when_all(a.get_future(), b.get_future());
  EXPECT_EQ(all.state().options().time, &time);
  promise<int> c({.time = &time});
  auto any = takt::when_any(c.get_future(), takt::make_ready_future(1)).then([](const auto&) {});
  EXPECT_EQ(any.state().options().time, &time) << "and so does its continuation";
}

TEST(when_all, allocates_twice) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  promise<int> a;
  promise<int> b;
  auto fa = a.get_future();
  auto fb = b.get_future();
  const std::size_t before = takt::allocations();
  auto all = takt::when_all(std::move(fa), std::move(fb));
  EXPECT_EQ(takt::allocations() - before, 2U);
}

TEST(when_all, from_many_threads) {
  for (int round = 0; round < 50; ++round) {
    std::vector<promise<int>> promises(4);
    auto all = takt::when_all(futures_of(promises));
    std::vector<takt::sync::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&promises, i] { promises[static_cast<std::size_t>(i)].set_value(i); });
    }
    int sum = 0;
    for (auto& f : all.get()) sum += f.get();
    EXPECT_EQ(sum, 6);
    for (auto& t : threads) t.join();
  }
}

}  // namespace

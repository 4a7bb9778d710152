// Long chains of futures, and the order of deferred continuations.
#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/when_all.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/nesting.hpp"
#include "../base/counting_new.hpp"

namespace {

using takt::future;
using takt::promise;
using takt_test::detached;

// Fewer with sanitizers, which are slow and have larger frames.
constexpr int million = takt::allocations_are_counted ? 1'000'000 : 50'000;

std::vector<future<int>> one(future<int> f) {
  std::vector<future<int>> futures;
  futures.push_back(std::move(f));
  return futures;
}

TEST(chain, of_a_million_when_all_needs_no_stack) {
  promise<int> p;
  auto f = p.get_future();
  for (int i = 0; i < million; ++i) {
    f = takt::when_all(one(std::move(f))).then([](std::vector<future<int>> all) {
      return all[0].get() + 1;
    });
  }
  p.set_value(0);
  EXPECT_EQ(f.get(), million);
}

TEST(chain, of_a_million_when_any_needs_no_stack) {
  using any_of = takt::when_any_result<std::vector<future<int>>>;
  promise<int> p;
  auto f = p.get_future();
  for (int i = 0; i < million; ++i) {
    f = takt::when_any(one(std::move(f))).then([](any_of any) {
      return any.futures[any.index].get() + 1;
    });
  }
  p.set_value(0);
  EXPECT_EQ(f.get(), million);
}

// Each coroutine, when resumed, resumes the next.
TEST(chain, of_a_million_coroutines_needs_no_stack) {
  promise<int> first;
  future<int> last = first.get_future();
  for (int i = 0; i < million; ++i) {
    promise<int> next;
    auto f = next.get_future();
    [](future<int> in, promise<int> out) -> detached { out.set_value(co_await std::move(in) + 1); }(
                                             std::move(last), std::move(next));
    last = std::move(f);
  }
  first.set_value(0);
  EXPECT_EQ(last.get(), million);
}

// One coroutine that waits a million times: for ready futures, and for futures that become ready
// later.
TEST(chain, of_a_million_waits_of_one_coroutine_needs_no_stack) {
  promise<int> p;
  int sum = 0;
  [](future<int> start, int& out) -> detached {
    int n = co_await std::move(start);
    for (int i = 0; i < million; ++i) n = co_await takt::make_ready_future(n + 1);
    for (int i = 0; i < million; ++i) {
      n = co_await takt::make_ready_future(n).then([](int m) { return m + 1; });
    }
    out = n;
  }(p.get_future(), sum);
  p.set_value(0);
  EXPECT_EQ(sum, 2 * million);
}

// The closure of each task holds the promise of the next one.
TEST(chain, of_a_million_promises_in_closures_needs_no_stack) {
  for (const bool cancels : {true, false}) {
    promise<int> first;
    future<int> last = first.get_future();
    future<void> second;
    for (int i = 0; i < million; ++i) {
      promise<int> next;
      auto f = next.get_future();
      auto link =
          std::move(last).then([p = std::move(next)](int n) mutable { p.set_value(n + 1); });
      if (i == 0) second = std::move(link);
      last = std::move(f);
    }
    if (cancels) {
      EXPECT_EQ(second.cancel(), takt::cancel_result::prevented);
      EXPECT_THROW(last.get(), takt::broken_promise);
    } else {
      first.set_value(0);
      EXPECT_EQ(last.get(), million);
    }
  }
}

// Continuations nest up to a limit.
TEST(chain, nests_no_deeper_than_the_limit) {
  constexpr int count = 100;
  int depth = 0;
  int deepest = 0;
  std::vector<int> order;
  std::vector<promise<void>> steps(count);
  std::vector<future<void>> ends;
  for (int i = 0; i < count; ++i) {
    ends.push_back(steps[static_cast<std::size_t>(i)].get_future().then([&, i] {
      deepest = std::max(deepest, ++depth);
      order.push_back(i);
      if (i + 1 < count) steps[static_cast<std::size_t>(i + 1)].set_value();
      --depth;
    }));
  }
  steps[0].set_value();
  EXPECT_EQ(deepest, static_cast<int>(takt::max_nested_continuations));
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(order.size(), static_cast<std::size_t>(count));
}

// Deferred continuations are called in order when the innermost continuation returns.
TEST(chain, beyond_the_limit_continuations_wait_for_the_innermost_one) {
  promise<void> a;
  promise<void> b;
  std::string said;
  auto f = a.get_future().then([&] { said += "a"; });
  auto g = b.get_future().then([&] { said += "b"; });
  std::string before;
  takt_test::nested(takt::max_nested_continuations - 1, [&] {
    takt::make_ready_future()
        .then([&] {
          a.set_value();
          b.set_value();
          before = said;
        })
        .get();
    EXPECT_EQ(said, "ab");
  });
  EXPECT_EQ(before, "");
}

// This thread has deferred futures whose continuations a when_any() removes, which another thread
// completes. New continuations of these futures are deferred like all others.
TEST(chain, futures_that_come_back_deferred_wait_for_their_turn) {
  promise<int> a;
  promise<int> b;
  auto any = takt::when_any(a.get_future(), b.get_future());
  bool called = false;
  future<void> inner;
  takt_test::fully_nested([&] {
    a.set_value(1);  // deferred
    takt::sync::thread([&] { b.set_value(2); }).join();
    ASSERT_TRUE(any.is_ready());
    inner = std::move(std::get<0>(any.get().futures)).then([&](int) { called = true; });
    EXPECT_FALSE(called) << "it was called within another continuation";
  });
  EXPECT_TRUE(called);
  inner.get();
}

// A stop callback may set a continuation of the future that is being cancelled: it is not deferred
// yet.
TEST(chain, stop_callback_may_continue_what_is_being_cancelled) {
  takt::parker begun;
  takt::parker go_on;
  promise<void> b;
  future<takt::when_any_result<std::tuple<future<void>, future<void>>>> any;
  int continued = 0;
  takt::future_task<void> task([&](const takt::sync::stop_token& stop) {
    const takt::sync::stop_callback callback(stop, [&] {
      b.set_value();  // so that `any` takes its continuations back
      auto first = std::move(std::get<0>(any.get().futures));
      std::move(first).then([&](const future<void>&) { ++continued; }).get();
    });
    begun.unpark();
    go_on.park();
  });
  any = takt::when_any(task.get_future(), b.get_future());
  takt::sync::thread runner([&] { task.run(); });
  begun.park();
  EXPECT_EQ(task.cancel(), takt::cancel_result::running);
  EXPECT_EQ(continued, 1);
  go_on.unpark();
  runner.join();
}

}  // namespace

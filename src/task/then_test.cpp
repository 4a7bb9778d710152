// Continuations of one future.
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <takt/task/future.hpp>
#include <takt/task/when_all.hpp>

namespace {

using takt::future;
using takt::promise;

TEST(then, continues_with_the_value) {
  promise<int> p;
  auto f = p.get_future().then([](int n) { return std::to_string(n); }).then([](const auto& text) {
    return text + "!";
  });
  EXPECT_FALSE(f.is_ready());
  p.set_value(4);
  EXPECT_EQ(f.get(), "4!");
  EXPECT_EQ(takt::make_ready_future(2).then([](int n) { return 2 * n; }).get(), 4);
  int calls = 0;
  takt::make_ready_future().then([&] { ++calls; }).get();
  EXPECT_EQ(calls, 1);
}

TEST(then, errors_and_cancellation_pass_by) {
  int calls = 0;
  promise<int> p;
  auto f = p.get_future().then([&](int) { ++calls; });
  p.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_THROW(f.get(), std::runtime_error);

  promise<int> q;
  auto source = q.get_future();
  auto g = std::move(source).then([&](int) { ++calls; });
  q = promise<int>();
  EXPECT_THROW(g.get(), takt::broken_promise);

  promise<int> r;
  auto h =
      r.get_future().then([](int) -> int { throw takt::cancelled(); }).then([&](int) { ++calls; });
  r.set_value(1);
  EXPECT_TRUE(h.is_cancelled());
  EXPECT_THROW(h.get(), takt::cancelled);
  EXPECT_EQ(calls, 0);
}

TEST(then, may_take_the_future_itself) {
  promise<int> p;
  auto f = p.get_future().then([](future<int> ready) {
    try {
      return ready.get();
    } catch (const std::runtime_error&) {
      return -1;
    }
  });
  p.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_EQ(f.get(), -1);
}

TEST(then, cancelling_prevents_the_continuation_and_nothing_else) {
  promise<int> p;
  auto captured = std::make_shared<int>(0);
  auto f = p.get_future().then([captured](int n) { *captured = n; });
  EXPECT_EQ(captured.use_count(), 2);
  EXPECT_EQ(f.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(captured.use_count(), 1) << "the closure is destroyed at once";
  EXPECT_FALSE(p.is_cancelled());
  p.set_value(1);
  EXPECT_EQ(*captured, 0);
}

TEST(then, empty_callable_is_an_error) {
  promise<int> p;
  auto f = p.get_future();
  EXPECT_THROW(static_cast<void>(std::move(f).then(std::function<void(int)>())),
               std::invalid_argument);
  // NOLINTNEXTLINE(bugprone-use-after-move): the point
  EXPECT_TRUE(f.valid()) << "nothing has happened";
}

TEST(then, chain_of_a_million_needs_no_stack) {
  promise<int> p;
  auto f = p.get_future();
  for (int i = 0; i < 1'000'000; ++i) f = std::move(f).then([](int n) { return n + 1; });
  p.set_value(0);
  EXPECT_EQ(f.get(), 1'000'000);

  promise<int> q;
  f = q.get_future();
  for (int i = 0; i < 1'000'000; ++i) f = std::move(f).then([](int n) { return n + 1; });
  q = promise<int>();
  EXPECT_THROW(f.get(), takt::broken_promise);
}

// Each continuation makes a ready future and calls then() on it.
TEST(then, nested_chain_needs_no_stack) {
  struct stepper {
    int left;
    promise<void> done;
    static void step(const std::shared_ptr<stepper>& s) {
      if (s->left-- == 0) {
        s->done.set_value();
        return;
      }
      auto next = takt::make_ready_future().then([s] { step(s); });
      static_cast<void>(next);
    }
  };
  auto s = std::make_shared<stepper>(stepper{1'000'000, promise<void>()});
  auto done = s->done.get_future();
  stepper::step(s);
  done.get();
}

// A continuation may wait for a future that it has made ready itself.
TEST(then, may_wait_within_a_continuation) {
  auto nested = takt::make_ready_future(1).then(
      [](int n) { return takt::make_ready_future(n).then([](int m) { return m + 1; }).get(); });
  EXPECT_EQ(nested.get(), 2);
  auto all = takt::make_ready_future(1).then([](int n) {
    auto [f] = takt::when_all(takt::make_ready_future(n)).get();
    return f.get();
  });
  EXPECT_EQ(all.get(), 1);
}

TEST(then, callable_that_cannot_be_copied_leaves_the_future_alone) {
  struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(const throws_when_copied&) { throw std::runtime_error("copy"); }
    throws_when_copied& operator=(const throws_when_copied&) = delete;
    ~throws_when_copied() = default;
    void operator()(int) const {}
  };
  promise<int> p;
  auto f = p.get_future();
  const throws_when_copied callable;
  EXPECT_THROW(static_cast<void>(std::move(f).then(callable)), std::runtime_error);
  // NOLINTNEXTLINE(bugprone-use-after-move): the point
  EXPECT_TRUE(f.valid());
}

TEST(then, member_of_the_value_is_kept_by_value) {
  struct point {
    std::string name;
  };
  auto f = takt::make_ready_future(point{"origin"}).then(&point::name);
  static_assert(std::is_same_v<decltype(f), future<std::string>>);
  EXPECT_EQ(f.get(), "origin");
}

}  // namespace

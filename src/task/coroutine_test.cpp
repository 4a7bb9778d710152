// Futures in coroutines of other libraries' types.
#include <coroutine>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/task/future.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/nesting.hpp"

namespace {

using takt::future;
using takt::promise;
using takt_test::detached;
using takt_test::owned;

owned store(future<int> f, int& out) { out = co_await std::move(f); }

TEST(co_await_future, resumes_with_the_value) {
  promise<int> p;
  int out = 0;
  const owned c = store(p.get_future(), out);
  EXPECT_FALSE(c.done());
  p.set_value(7);
  EXPECT_TRUE(c.done());
  EXPECT_EQ(out, 7);
}

TEST(co_await_future, does_not_suspend_if_ready) {
  int out = 0;
  const owned c = store(takt::make_ready_future(8), out);
  EXPECT_TRUE(c.done());
  EXPECT_EQ(out, 8);
}

TEST(co_await_future, throws_the_error_and_cancelled_and_abandoned) {
  int out = 0;
  promise<int> p;
  const owned failed = store(p.get_future(), out);
  p.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_THROW(std::rethrow_exception(failed.error()), std::runtime_error);

  std::optional<promise<int>> q(std::in_place);
  const owned dropped = store(q->get_future(), out);
  q.reset();
  EXPECT_THROW(std::rethrow_exception(dropped.error()), takt::broken_promise);

  promise<int> r;
  auto f = r.get_future();
  f.cancel();
  const owned stopped = store(std::move(f), out);
  EXPECT_THROW(std::rethrow_exception(stopped.error()), takt::cancelled);
}

TEST(co_await_future, exception_that_leaves_resume_ends_the_program) {
  struct rethrows {
    struct promise_type {
      rethrows get_return_object() {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { throw; }
    };
    std::coroutine_handle<> frame;
  };
  promise<int> p;
  const rethrows c = [](future<int> f) -> rethrows {
    co_await std::move(f);
    throw std::runtime_error("left resume");
  }(p.get_future());
  EXPECT_DEATH(p.set_value(1), "left resume");
  c.frame.destroy();
}

TEST(co_await_future, destroyed_frame_is_not_resumed) {
  promise<int> p;
  int out = 0;
  {
    const owned c = store(p.get_future(), out);
  }
  p.set_value(1);
  EXPECT_EQ(out, 0);
}

// The result is ready and the resumption deferred: the frame may still be destroyed.
TEST(co_await_future, frame_destroyed_between_result_and_resumption_is_not_resumed) {
  promise<int> p;
  int out = 0;
  std::optional<owned> c(store(p.get_future(), out));
  takt_test::fully_nested([&] {
    p.set_value(1);  // deferred
    EXPECT_FALSE(c->done());
    c.reset();
  });
  EXPECT_EQ(out, 0);
}

TEST(co_await_future, resumes_on_the_thread_that_delivers) {
  promise<int> p;
  takt::sync::thread::id resumed_on;
  const owned c = [](future<int> f, takt::sync::thread::id& id) -> owned {
    co_await std::move(f);
    id = takt::sync::this_thread_id();
  }(p.get_future(), resumed_on);
  takt::sync::thread deliverer([&] { p.set_value(1); });
  const auto id = deliverer.get_id();
  deliverer.join();
  EXPECT_EQ(resumed_on, id);
}

// Sets the value 1 and returns true if that has called the continuation.
bool delivers_at_once() {
  promise<int> p;
  int got = 0;
  auto f = p.get_future().then([&](int n) { got = n; });
  p.set_value(1);
  return got == 1;
}

// Coroutines are user code: a coroutine that a continuation has resumed defers nothing.
TEST(co_await_future, results_of_a_resumed_coroutine_are_delivered_at_once) {
  promise<void> p;
  bool at_once = false;
  const owned c = [](future<void> start, bool& result) -> owned {
    co_await std::move(start);
    result = delivers_at_once();
  }(p.get_future(), at_once);
  p.set_value();
  EXPECT_TRUE(at_once);
}

// A coroutine may wait with the standard library for the result of a continuation.
TEST(co_await_future, resumed_coroutine_may_wait_without_takt_for_a_continuation) {
  promise<void> p;
  bool delivered = false;
  const owned c = [](future<void> start, bool& result) -> owned {
    co_await std::move(start);
    std::promise<int> out;
    auto got = out.get_future();
    auto f = takt::make_ready_future(1).then([&](int n) { out.set_value(n); });
    result = got.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }(p.get_future(), delivered);
  p.set_value();
  EXPECT_TRUE(delivered);
}

// A consumer gets the value before the producer continues.
TEST(co_await_future, a_coroutine_resumes_another_one_at_once) {
  promise<void> start;
  promise<int> p;
  std::string order;
  const owned consumer = [](future<int> in, std::string& said) -> owned {
    co_await std::move(in);
    said += "consumer ";
  }(p.get_future(), order);
  const owned producer = [](future<void> begin, promise<int> out, std::string& said) -> owned {
    co_await std::move(begin);
    out.set_value(1);
    said += "producer";
  }(start.get_future(), std::move(p), order);
  start.set_value();
  EXPECT_EQ(order, "consumer producer");
}

// Each coroutine, when resumed, resumes the next.
TEST(co_await_future, long_chain_needs_no_stack) {
  constexpr int count = 100'000;
  promise<int> first;
  future<int> last = first.get_future();
  for (int i = 0; i < count; ++i) {
    promise<int> next;
    auto f = next.get_future();
    [](future<int> in, promise<int> out) -> detached { out.set_value(co_await std::move(in) + 1); }(
                                             std::move(last), std::move(next));
    last = std::move(f);
  }
  first.set_value(0);
  EXPECT_EQ(last.get(), count);
}

}  // namespace

// Counts allocations of the task module, and makes them fail.
#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/when_all.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::future;
using takt::future_task;
using takt::promise;
using takt::sync::stop_token;

// Returns the number of allocations of `f`.
template <class F>
std::size_t allocations_of(F&& f) {
  const std::size_t before = takt::allocations();
  std::forward<F>(f)();
  return takt::allocations() - before;
}

TEST(task_allocations, of_when_any_and_when_all_do_not_depend_on_the_number_of_futures) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const std::size_t count : {1U, 2U, 100U}) {
    std::vector<promise<int>> promises(2 * count);
    std::vector<future<int>> some;
    std::vector<future<int>> others;
    for (std::size_t i = 0; i < count; ++i) {
      some.push_back(promises[i].get_future());
      others.push_back(promises[count + i].get_future());
    }
    future<takt::when_any_result<std::vector<future<int>>>> any;
    future<std::vector<future<int>>> all;
    EXPECT_EQ(allocations_of([&] { any = takt::when_any(std::move(some)); }), 2U);
    EXPECT_EQ(allocations_of([&] { all = takt::when_all(std::move(others)); }), 2U);
    EXPECT_EQ(allocations_of([&] {
                for (auto& p : promises) p.set_value(1);
                static_cast<void>(any.get());
                static_cast<void>(all.get());
              }),
              0U);
  }
}

TEST(task_allocations, waiting_cancelling_and_running_need_none) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  promise<int> p;
  auto f = p.get_future();
  const takt::sync::stop_source stop;
  EXPECT_EQ(allocations_of([&] {
              f.wait_for(0s);
              f.wait_for(0s, stop.get_token());
              f.cancel_and_join_for(1h);
            }),
            0U);
  future_task periodic([] {});
  EXPECT_EQ(allocations_of([&] {
              EXPECT_TRUE(periodic.run_and_reset());
              EXPECT_TRUE(periodic.run_and_reset());
              periodic.cancel_and_join();
            }),
            0U);
  future_task<void>* self = nullptr;
  future_task<void> running([&](const stop_token&) {
    EXPECT_EQ(allocations_of([&] { EXPECT_EQ(self->cancel(), cancel_result::running); }), 0U);
  });
  self = &running;
  EXPECT_EQ(allocations_of([&] { running.run(); }), 0U);
}

TEST(task_allocations, co_await_needs_none) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  promise<int> p;
  std::size_t first = 0;
  std::size_t last = 0;
  [](future<int> ready, future<int> pending, std::size_t& before,
     std::size_t& after) -> takt_test::detached {
    before = takt::allocations();  // after the allocation of the frame
    co_await std::move(ready);
    co_await std::move(pending);
    after = takt::allocations();
  }(takt::make_ready_future(1), p.get_future(), first, last);
  p.set_value(1);
  EXPECT_EQ(last, first);
}

// Completing a future does not fail.
TEST(task_without_memory, futures_still_end) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  promise<int> value;
  std::optional<promise<int>> dropped(std::in_place);
  promise<int> stopped;
  future_task<int> run([] { return 2; });
  std::optional<future_task<int>> forgotten(std::in_place, [] { return 3; });
  auto a = value.get_future().then([](int n) { return n; });
  auto b = dropped->get_future().then([](int n) { return n; });
  auto c = stopped.get_future();
  auto d = run.get_future();
  auto e = forgotten->get_future();
  {
    const takt::no_memory here;
    value.set_value(1);
    dropped.reset();
    c.cancel();
    run.run();
    forgotten.reset();
  }
  EXPECT_EQ(a.get(), 1);
  EXPECT_THROW(b.get(), takt::broken_promise);
  EXPECT_THROW(c.get(), takt::cancelled);
  EXPECT_EQ(d.get(), 2);
  EXPECT_THROW(e.get(), takt::broken_promise);
}

TEST(task_without_memory, then_leaves_the_future_alone) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  promise<int> p;
  auto f = p.get_future();
  auto captured = std::make_shared<int>(0);
  auto callable = [captured](int n) { return n; };
  {
    const takt::no_memory here;
    EXPECT_THROW(static_cast<void>(std::move(f).then(std::move(callable))), std::bad_alloc);
  }
  EXPECT_EQ(captured.use_count(), 2) << "the callable has not been destroyed";
  p.set_value(1);
  EXPECT_EQ(f.get(), 1);  // NOLINT(bugprone-use-after-move): the point
}

TEST(task_without_memory, when_all_and_when_any_drop_the_futures_and_disturb_nobody) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const std::size_t after : {0U, 1U}) {
    promise<int> p;
    promise<int> q;
    auto f = p.get_future();
    auto g = q.get_future();
    {
      const takt::no_memory here(after);
      EXPECT_THROW(static_cast<void>(takt::when_all(std::move(f))), std::bad_alloc);
    }
    {
      const takt::no_memory here(after);
      EXPECT_THROW(static_cast<void>(takt::when_any(std::move(g))), std::bad_alloc);
    }
    EXPECT_FALSE(p.is_cancelled() || q.is_cancelled());
    p.set_value(1);
    q.set_value(1);
  }
}

// For each of the allocations.
TEST(task_without_memory, future_task_leaves_the_callable_alone) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  auto captured = std::make_shared<int>(0);
  auto plain = [captured] {};
  auto with_token = [captured](const stop_token&) {};
  {
    const takt::no_memory here;
    EXPECT_THROW(future_task<void>(std::move(plain)), std::bad_alloc);
  }
  for (const std::size_t after : {0U, 1U}) {
    const takt::no_memory here(after);
    // NOLINTNEXTLINE(bugprone-use-after-move): the point
    EXPECT_THROW(future_task<void>(std::move(with_token)), std::bad_alloc) << after;
  }
  EXPECT_EQ(captured.use_count(), 3) << "they can be tried again";
}

}  // namespace

#include <takt/task/task.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>

#include "../base/counting_new.hpp"

// The analyzer does not follow the reference count of the state that a task shares with its future.
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDeleteLeaks)

namespace {

using takt::future_task;
using takt::rejection;
using takt::task;
using takt::task_outcome;
using takt::sync::stop_token;

static_assert(!std::copy_constructible<task>);
static_assert(std::is_nothrow_move_constructible_v<task>);
static_assert(std::is_nothrow_move_assignable_v<task>);
static_assert(!std::is_constructible_v<task, int>);
static_assert(!std::is_constructible_v<task, void (*)(int)>);
static_assert(!std::is_constructible_v<takt::task_name, std::string>);

TEST(task, is_empty_by_default_and_after_a_move) {
  task none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.name(), "");
  EXPECT_EQ(none.state(), nullptr);
  EXPECT_EQ(none.target<void (*)()>(), nullptr);
  none.cancel();
  none.reject(rejection::dropped);
  task some([] {});
  EXPECT_TRUE(some);
  const task moved(std::move(some));
  EXPECT_TRUE(moved);
  EXPECT_FALSE(some);  // NOLINT(bugprone-use-after-move): specified
}

TEST(task, runs_once_and_drops_the_callable) {
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = owner;
  int runs = 0;
  task t([owner = std::move(owner), &runs] { ++runs; });
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(t.run(), task_outcome::finished);
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(t);
  EXPECT_TRUE(alive.expired());
}

TEST(task, holds_small_callables_inside) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::array<char, 32> fits{};
  const std::array<char, 33> does_not{};
  const std::size_t before = takt::allocations();
  {
    task t([fits] { static_cast<void>(fits); });
    task moved(std::move(t));
    moved.run();
  }
  EXPECT_EQ(takt::allocations(), before);
  {
    task t([does_not] { static_cast<void>(does_not); });
    EXPECT_EQ(takt::allocations(), before + 1);
    task moved(std::move(t));
    moved.run();
  }
  EXPECT_EQ(takt::allocations(), before + 1);
  const task with_token([](const stop_token&) {});
  EXPECT_GT(takt::allocations(), before + 1);
}

TEST(task, holds_large_callables) {
  std::array<int, 100> numbers{};
  numbers[99] = 7;
  int seen = 0;
  task t([numbers, &seen] { seen = numbers[99]; });
  task moved;
  moved = std::move(t);
  EXPECT_EQ(moved.run(), task_outcome::finished);
  EXPECT_EQ(seen, 7);
}

TEST(task, holds_what_can_only_be_moved) {
  int seen = 0;
  task t([number = std::make_unique<int>(5), &seen] { seen = *number; });
  std::deque<task> queue;
  queue.push_back(std::move(t));
  queue.front().run();
  EXPECT_EQ(seen, 5);
}

// Counts its instances.
template <bool ThrowsOnMove>
struct counted {
  explicit counted(int& n) : alive(&n) { ++*alive; }
  counted(const counted& other) : alive(other.alive) { ++*alive; }
  counted(counted&& other) noexcept(!ThrowsOnMove) : alive(other.alive) { ++*alive; }
  counted& operator=(const counted&) = delete;
  counted& operator=(counted&&) = delete;
  ~counted() { --*alive; }
  void operator()() const {}
  int* alive;
};

template <class Callable>
void expect_each_is_destroyed_once() {
  int alive = 0;
  {
    task run{Callable(alive)};
    task moved(std::move(run));
    moved.run();
    EXPECT_EQ(alive, 0);
    const task dropped{Callable(alive)};
    task replaced{Callable(alive)};
    replaced = task{Callable(alive)};
    task& same = replaced;
    replaced = std::move(same);
    EXPECT_TRUE(replaced);
    task cancelled{Callable(alive)};
    cancelled.cancel();
    task refused{Callable(alive)};
    refused.reject(rejection::saturated);
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST(task, destroys_each_callable_once) {
  expect_each_is_destroyed_once<counted<false>>();
  expect_each_is_destroyed_once<counted<true>>();  // not held inside
}

TEST(task, passes_on_what_a_callable_throws) {
  task t([] { throw std::out_of_range("x"); });
  EXPECT_THROW(t.run(), std::out_of_range);
  EXPECT_FALSE(t);
  task with_token([](const stop_token&) { throw std::out_of_range("x"); });
  EXPECT_THROW(with_token.run(), std::out_of_range);
}

TEST(task, that_throws_cancelled_is_cancelled) {
  task t([] { throw takt::cancelled(); });
  EXPECT_EQ(t.run(), task_outcome::cancelled);
  task with_token([](const stop_token&) { throw takt::cancelled(); });
  EXPECT_EQ(with_token.run(), task_outcome::cancelled);
  future_task<void> work([] { throw takt::cancelled(); });
  auto f = work.get_future();
  task with_future(std::move(work));
  EXPECT_EQ(with_future.run(), task_outcome::cancelled);
  EXPECT_TRUE(f.is_cancelled());
}

struct by_rvalue {
  int& seen;
  void operator()() && { seen = 1; }
  void operator()() & { seen = 2; }
};
struct by_lvalue {
  int& seen;
  void operator()() & { seen = 2; }
  void operator()() && = delete;
};

TEST(task, calls_as_an_rvalue_if_it_can) {
  int seen = 0;
  task{by_rvalue{seen}}.run();
  EXPECT_EQ(seen, 1);
  task{by_lvalue{seen}}.run();
  EXPECT_EQ(seen, 2);
}

TEST(task, prefers_to_give_a_token) {
  struct either {
    bool* got_token;
    void operator()() const { *got_token = false; }
    void operator()(const stop_token& stop) const { *got_token = stop.stop_possible(); }
  };
  bool got_token = false;
  task t{either{&got_token}};
  EXPECT_NE(t.state(), nullptr);
  EXPECT_FALSE(t.has_future());
  EXPECT_EQ(t.run(), task_outcome::finished);
  EXPECT_TRUE(got_token);
}

TEST(task, can_be_asked_to_stop) {
  bool stopped = false;
  task t([&](const stop_token& stop) { stopped = stop.stop_requested(); });
  t.state()->request_stop();
  EXPECT_EQ(t.run(), task_outcome::finished);
  EXPECT_TRUE(stopped);
}

TEST(task, refuses_empty_callables) {
  EXPECT_THROW(task(std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(task(std::function<void(stop_token)>()), std::invalid_argument);
  EXPECT_THROW(task(static_cast<void (*)()>(nullptr)), std::invalid_argument);
}

void plain() {}

TEST(task, takes_functions) {
  EXPECT_EQ(task(plain).run(), task_outcome::finished);
  EXPECT_EQ(task(&plain).run(), task_outcome::finished);
  EXPECT_EQ(task(std::function<void()>(plain)).run(), task_outcome::finished);
}

TEST(task, has_a_name_that_is_a_literal_and_a_priority) {
  constexpr takt::task_name name = "report";
  static_assert(name.view() == "report");
  task t([] {}, {.name = "report", .priority = -3});
  t.set_id(9);
  t.set_deadline(takt::clock::time_point(std::chrono::seconds(5)));
  const task moved(std::move(t));
  EXPECT_EQ(moved.name(), "report");
  EXPECT_EQ(moved.priority(), -3);
  EXPECT_EQ(moved.id(), 9u);
  EXPECT_EQ(moved.deadline().time_since_epoch(), std::chrono::seconds(5));
}

TEST(task, keeps_all_priorities_and_48_bits_of_the_id) {
  task t([] {}, {.priority = 32767});
  EXPECT_EQ(t.priority(), 32767);
  t = task([] {}, {.priority = -32768});
  EXPECT_EQ(t.priority(), -32768);
  t.set_id((std::uint64_t{1} << 48) - 1);
  EXPECT_EQ(t.id(), (std::uint64_t{1} << 48) - 1);
  EXPECT_EQ(t.priority(), -32768);
}

TEST(task, shows_its_callable) {
  struct job {
    int number;
    int operator()() const { return number; }
  };
  task t{job{7}};
  ASSERT_NE(t.target<job>(), nullptr);
  EXPECT_EQ(t.target<job>()->number, 7);
  EXPECT_EQ(t.target<by_rvalue>(), nullptr);
  future_task<int> work(job{8});
  auto f = work.get_future();
  task with_future(std::move(work));
  ASSERT_NE(with_future.target<job>(), nullptr);
  with_future.target<job>()->number = 9;
  with_future.run();
  EXPECT_EQ(f.get(), 9);
  EXPECT_EQ(with_future.target<job>(), nullptr);  // destroyed by the run
}

// --- with a future

struct filled {
  filled() : f(work.get_future()), t(std::move(work), {.name = "filled"}) {}
  future_task<int> work{[] { return 1; }};
  takt::future<int> f;
  task t;
};

TEST(task, fills_its_future) {
  filled x;
  EXPECT_TRUE(x.t.has_future());
  EXPECT_EQ(x.t.name(), "filled");
  EXPECT_EQ(x.t.run(), task_outcome::finished);
  EXPECT_EQ(x.f.get(), 1);
}

TEST(task, fills_its_future_with_what_was_thrown) {
  future_task<int> work([]() -> int { throw std::out_of_range("x"); });
  auto f = work.get_future();
  task t(std::move(work));
  EXPECT_EQ(t.run(), task_outcome::failed);
  EXPECT_THROW(f.get(), std::out_of_range);
}

TEST(task, dropped_abandons_its_future) {
  filled x;
  x.t = task();
  EXPECT_THROW(x.f.get(), takt::broken_promise);
}

TEST(task, cancelled_cancels_its_future) {
  filled x;
  EXPECT_FALSE(x.t.is_cancelled());
  x.t.cancel();
  EXPECT_FALSE(x.t);
  EXPECT_TRUE(x.f.is_cancelled());
}

TEST(task, rejected_rejects_its_future) {
  filled x;
  x.t.reject(rejection::timed_out);
  try {
    x.f.get();
    ADD_FAILURE();
  } catch (const takt::rejected& r) {
    EXPECT_EQ(r.reason(), rejection::timed_out);
  }
}

// Channels and services reject, too: the message has the reason and no component.
TEST(rejected, tells_why) {
  const auto text = [](rejection why) { return std::string(takt::rejected(why).what()); };
  EXPECT_EQ(text(rejection::shut_down), "takt: rejected: shut down");
  EXPECT_EQ(text(rejection::saturated), "takt: rejected: the queue is full");
  EXPECT_EQ(text(rejection::no_thread), "takt: rejected: no thread could be started");
  EXPECT_EQ(text(rejection::dropped), "takt: rejected: dropped");
  EXPECT_EQ(text(rejection::timed_out), "takt: rejected: the queue stayed full until the time-out");
}

TEST(task, knows_that_its_future_was_cancelled) {
  filled x;
  EXPECT_EQ(x.f.cancel(), takt::cancel_result::prevented);
  EXPECT_TRUE(x.t.is_cancelled());
  EXPECT_EQ(x.t.run(), task_outcome::cancelled);
  EXPECT_TRUE(x.f.is_cancelled());
}

TEST(task, run_while_it_is_being_cancelled_is_cancelled) {
  // The closure is destroyed on the canceller's thread, before the future is cancelled.
  task t;
  task_outcome outcome = task_outcome::finished;
  struct runs_the_task {
    runs_the_task(task& which, task_outcome& result) : t(&which), outcome(&result) {}
    runs_the_task(runs_the_task&& other) noexcept
        : t(std::exchange(other.t, nullptr)), outcome(other.outcome) {}
    runs_the_task& operator=(runs_the_task&&) = delete;
    ~runs_the_task() {
      if (t != nullptr) *outcome = t->run();
    }
    void operator()() const {}
    task* t;
    task_outcome* outcome;
  };
  future_task<void> work(runs_the_task(t, outcome));
  auto f = work.get_future();
  t = task(std::move(work));
  EXPECT_EQ(f.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(outcome, task_outcome::cancelled);
  EXPECT_TRUE(f.is_cancelled());
}

}  // namespace
// NOLINTEND(clang-analyzer-cplusplus.NewDeleteLeaks)

#include <takt/exec/tracking_executor.hpp>

#include <array>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/move_only_function.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/task_list.hpp>

#include "../base/counting_new.hpp"

namespace {

using takt::manual_executor;
using takt::thread_pool;
using takt::tracking_executor;

// A callable that can be called only once cannot be tracked, and does not compile.
template <class F>
concept can_be_tracked =
    requires(tracking_executor<thread_pool> t, F f) { t.execute(std::move(f)); };
static_assert(can_be_tracked<takt::move_only_function<void()>>);
static_assert(!can_be_tracked<takt::move_only_function<void() &&>>);
static_assert(can_be_tracked<takt::task>);

static_assert(takt::executor<tracking_executor<thread_pool>>);

// A user's type: waits for a stop request, or does not wait at all.
struct fetch {
  std::string url;
  takt::promise<void>* begun = nullptr;

  void operator()(const std::stop_token& stop) {
    if (begun == nullptr) return;
    begun->set_value();
    takt::promise<void> never;
    never.get_future().wait(stop);
    throw takt::cancelled();
  }
};

TEST(tracking_executor, tells_what_was_cut_off_and_what_had_not_begun) {
  thread_pool pool{{.core_threads = 1}};
  tracking_executor tracker{pool};
  takt::promise<void> begun;
  auto is_running = begun.get_future();
  tracker.execute(fetch{"first"});
  tracker.execute(fetch{"second", &begun}, {.name = "second"});
  tracker.execute(fetch{"third"});
  is_running.wait();
  EXPECT_THROW(static_cast<void>(tracker.cut_off()), std::logic_error);  // too early

  auto unstarted = tracker.shutdown_now();
  ASSERT_EQ(unstarted.size(), 1U);
  ASSERT_NE(unstarted[0].target<fetch>(), nullptr);
  EXPECT_EQ(unstarted[0].target<fetch>()->url, "third");

  tracker.executor().await_termination();
  auto cut_off = tracker.cut_off();
  ASSERT_EQ(cut_off.size(), 1U);
  ASSERT_NE(cut_off[0].target<fetch>(), nullptr);
  EXPECT_EQ(cut_off[0].target<fetch>()->url, "second");
  EXPECT_EQ(cut_off[0].name(), "second");
  EXPECT_TRUE(tracker.cut_off().empty());
}

// A stop request stays set: a task that finishes after the request was not cut off.
TEST(tracking_executor, a_task_that_finishes_after_the_stop_request_was_not_cut_off) {
  thread_pool pool{{.core_threads = 1}};
  tracking_executor tracker{pool};
  takt::promise<void> begun;
  auto is_running = begun.get_future();
  bool asked = false;
  tracker.execute([&](const std::stop_token& stop) {
    begun.set_value();
    takt::promise<void> never;
    never.get_future().wait(stop);
    asked = stop.stop_requested();
  });
  is_running.wait();
  static_cast<void>(tracker.shutdown_now());
  pool.await_termination();
  EXPECT_TRUE(asked);
  EXPECT_TRUE(tracker.cut_off().empty());
}

TEST(tracking_executor, a_task_that_throws_was_cut_off_and_can_be_run_again) {
  manual_executor loop;
  tracking_executor tracker{loop};
  int attempts = 0;
  tracker.execute([&] {
    if (++attempts == 1) throw std::runtime_error("x");
  });
  EXPECT_THROW(loop.poll(), std::runtime_error);
  auto cut_off = tracker.cut_off();
  ASSERT_EQ(cut_off.size(), 1U);
  cut_off[0].run();
  EXPECT_EQ(attempts, 2);
}

TEST(tracking_executor, asking_while_a_task_runs_is_an_error) {
  manual_executor loop;  // does not report termination
  tracking_executor tracker{loop};
  tracker.execute([&] { EXPECT_THROW(static_cast<void>(tracker.cut_off()), std::logic_error); });
  EXPECT_EQ(loop.poll(), 1U);
}

// A closure may own what the next one needs.
TEST(tracking_executor, a_task_runs_until_its_closure_is_gone) {
  manual_executor loop;
  tracking_executor tracker{loop};
  int asked = 0;
  const auto ask = [&](const int*) {
    EXPECT_THROW(static_cast<void>(tracker.cut_off()), std::logic_error);
    ++asked;
  };
  tracker.execute([owned = std::shared_ptr<int>(&asked, ask)] {});
  loop.poll();
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(tracker.cut_off().empty());
}

TEST(tracking_executor, tells_in_the_order_in_which_they_were_cut_off) {
  manual_executor loop;
  tracking_executor tracker{loop};
  struct gives_up {
    int number;
    void operator()() const { throw takt::cancelled(); }
  };
  for (int i = 0; i < 3; ++i) tracker.execute(gives_up{i});
  loop.poll();
  std::vector<int> numbers;
  for (takt::task& t : tracker.cut_off()) numbers.push_back(t.target<gives_up>()->number);
  EXPECT_EQ(numbers, (std::vector{0, 1, 2}));
}

// Callables larger than a task's inline storage, without a token and with one.
struct large {
  std::array<char, 100> load{};
  int* left;
  void operator()() const {
    if (--*left > 0) throw takt::cancelled();
  }
};
struct with_token : large {
  void operator()(const std::stop_token& /*stop*/) const { large::operator()(); }
};

TEST(tracking_executor, gives_back_what_had_not_begun_without_memory) {
  struct list_executor {
    takt::task_list tasks;
    void execute(takt::task t) { tasks.push_back(std::move(t)); }
    takt::task_list shutdown_now() { return std::move(tasks); }
  } where;
  tracking_executor tracker{where};
  int left = 0;
  tracker.execute(large{{}, &left}, {.name = "large"});
  tracker.execute(with_token{{{}, &left}}, {.name = "with_token"});
  where.tasks[0].set_id(7);
  takt::task_list unstarted;
  {
    const takt::no_memory here;
    unstarted = tracker.shutdown_now();
  }
  ASSERT_EQ(unstarted.size(), 2U);
  EXPECT_NE(unstarted[0].target<large>(), nullptr);
  EXPECT_EQ(unstarted[0].name(), "large");
  EXPECT_EQ(unstarted[0].id(), 7U);
  EXPECT_NE(unstarted[1].target<with_token>(), nullptr);
  EXPECT_EQ(unstarted[1].name(), "with_token");
  for (takt::task& t : unstarted) t.run();
  EXPECT_EQ(left, -2);
}

TEST(tracking_executor, what_was_cut_off_is_not_lost_if_there_is_no_memory_to_tell) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (std::size_t after = 0;; ++after) {
    manual_executor loop;
    tracking_executor tracker{loop};
    int left = 4;
    tracker.execute(with_token{{{}, &left}});
    tracker.execute(large{{}, &left});
    tracker.execute(large{{}, &left});
    loop.poll();
    std::vector<takt::task> cut_off;
    bool failed = false;
    try {
      const takt::no_memory here(after);
      cut_off = tracker.cut_off();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (failed) cut_off = tracker.cut_off();
    ASSERT_EQ(cut_off.size(), 3U) << "after " << after;
    EXPECT_NE(cut_off[0].target<with_token>(), nullptr);
    for (takt::task& t : cut_off) t.run();
    EXPECT_EQ(left, -2);
    if (!failed) break;
  }
}

TEST(tracking_executor, what_has_a_future_is_passed_on) {
  manual_executor loop;
  tracking_executor tracker{loop};
  auto f = tracker.submit([]() -> int { throw std::runtime_error("x"); });
  loop.poll();
  EXPECT_THROW(f.get(), std::runtime_error);
  EXPECT_TRUE(tracker.cut_off().empty());
}

TEST(tracking_executor, what_fills_a_future_is_passed_on_and_given_back) {
  manual_executor loop;
  tracking_executor tracker{loop};
  takt::future_task<int> work([] { return 1; });
  auto f = work.get_future();
  tracker.execute(std::move(work), {.name = "work"});
  auto unstarted = tracker.shutdown_now();
  ASSERT_EQ(unstarted.size(), 1U);
  EXPECT_EQ(unstarted[0].name(), "work");
  unstarted[0].run();
  EXPECT_EQ(f.get(), 1);
}

TEST(tracking_executor, tasks_may_outlive_it) {
  manual_executor loop;
  bool ran = false;
  {
    tracking_executor tracker{loop};
    tracker.execute([&] { ran = true; });
    tracker.execute([] { throw takt::cancelled(); });
  }
  loop.poll();
  EXPECT_TRUE(ran);
}

TEST(tracking_executor, an_empty_callable_is_an_error) {
  manual_executor loop;
  tracking_executor tracker{loop};
  EXPECT_THROW(tracker.execute(std::function<void()>()), std::invalid_argument);
  EXPECT_EQ(loop.queued(), 0U);
}

}  // namespace

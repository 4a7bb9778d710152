#include <takt/exec/any_executor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>

namespace {

using takt::any_executor;

// The executor in five lines that the documentation shows.
class five_lines {
 public:
  void execute(takt::task t) { last = std::move(t); }
  takt::task last;
};

static_assert(takt::executor<five_lines>);
static_assert(takt::executor<any_executor>);
static_assert(!takt::executor<int>);
static_assert(!takt::is_serial_executor<five_lines>);
static_assert(!takt::is_fifo_executor<five_lines>);
static_assert(takt::may_run_inline<five_lines>);
static_assert(std::is_trivially_copyable_v<any_executor>);
static_assert(sizeof(any_executor) == 2 * sizeof(void*));
static_assert(std::is_constructible_v<any_executor, five_lines&>);
static_assert(!std::is_constructible_v<any_executor, five_lines>, "a reference to a temporary");
static_assert(std::is_constructible_v<any_executor, takt::inline_executor>);

TEST(executor, anything_with_execute_can_submit) {
  five_lines e;
  auto f = takt::submit(e, [] { return 7; }, {.name = "seven", .priority = 3});
  EXPECT_EQ(e.last.name(), "seven");
  EXPECT_EQ(e.last.priority(), 3);
  EXPECT_FALSE(f.is_ready());
  e.last.run();
  EXPECT_EQ(f.get(), 7);
}

TEST(executor, dropping_a_task_abandons_its_future) {
  five_lines e;
  auto f = takt::submit(e, [] { return 7; });
  e.last = takt::task();
  EXPECT_THROW(f.get(), takt::broken_promise);
}

TEST(any_executor, refers_to_the_executor) {
  five_lines e;
  any_executor any = e;
  const any_executor copy = any;
  EXPECT_TRUE(copy == any);
  auto f = any.submit([] { return 8; });
  e.last.run();
  EXPECT_EQ(f.get(), 8);
  five_lines other;
  EXPECT_FALSE(any == any_executor(other));
}

TEST(any_executor, holds_small_ones) {
  any_executor here = takt::inline_executor();
  EXPECT_EQ(here.submit([] { return 9; }).get(), 9);

  struct through {
    five_lines* to;
    void execute(takt::task t) const { to->execute(std::move(t)); }
  };
  five_lines e;
  any_executor held = through{&e};
  held.execute([] {});
  EXPECT_TRUE(e.last);
}

TEST(any_executor, passes_on_options_of_futures) {
  takt::manual_clock time;
  takt::thread_pool pool{{.core_threads = 1, .time = &time, .unhandled = &takt::log_unhandled}};
  const any_executor any = pool;
  EXPECT_EQ(any.future_options().time, &time);
  EXPECT_EQ(any.future_options().unhandled, &takt::log_unhandled);
  five_lines e;
  EXPECT_EQ(any_executor(e).future_options().time, &takt::steady);
}

TEST(any_executor, passes_on_several_tasks_to_those_that_take_them) {
  struct takes_two : five_lines {
    std::size_t try_execute(std::span<takt::task> tasks) noexcept {
      const std::size_t count = std::min<std::size_t>(2, tasks.size());
      for (takt::task& t : tasks.first(count)) last = std::move(t);
      return count;
    }
  };
  std::array<takt::task, 3> some{takt::task([] {}), takt::task([] {}), takt::task([] {})};
  takes_two two;
  any_executor any = two;
  EXPECT_TRUE(any.takes_many());
  EXPECT_EQ(any.try_execute(some), 2u);
  EXPECT_FALSE(some[1]);
  EXPECT_TRUE(some[2]);
  five_lines one;
  any = one;
  EXPECT_FALSE(any.takes_many());
  EXPECT_EQ(any.try_execute(some), 0u);
  EXPECT_TRUE(some[2]);
}

TEST(inline_executor, runs_within_execute) {
  const takt::inline_executor here;
  bool ran = false;
  here.execute([&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_THROW(here.execute([] { throw std::runtime_error("x"); }), std::runtime_error);
}

}  // namespace

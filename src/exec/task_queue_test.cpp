#include "task_queue.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../base/counting_new.hpp"

namespace {

using takt::queue_order;
using takt::task;
using takt::task_list;
using takt::task_queue;
using testing::ElementsAre;

// The number of tasks added.
std::uint64_t submitted(const task_queue& queue) {
  takt::task_totals totals;
  queue.add_counts_to(totals);
  return totals.submitted;
}

// Adds a task as executors do. Returns its number.
std::uint64_t submit(task_queue& queue, std::int16_t priority = 0) {
  task t([] {}, {.priority = priority});
  if (!queue.add(t)) queue.push(std::move(t));
  return submitted(queue);
}

std::uint64_t pop(task_queue& queue) {
  task t;
  queue.pop(t);
  return t.id();
}

std::vector<std::uint64_t> ids_of(task_list tasks) {
  std::vector<std::uint64_t> ids;
  for (const task& t : tasks) ids.push_back(t.id());
  return ids;
}

std::vector<std::uint64_t> pop_all(task_queue& queue) {
  std::vector<std::uint64_t> ids;
  while (queue.find()) ids.push_back(pop(queue));
  return ids;
}

TEST(task_queue, is_closed_at_first) {
  task_queue queue;
  EXPECT_FALSE(queue.is_open());
  EXPECT_FALSE(queue.find());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(submitted(queue), 0U);
}

TEST(task_queue, counts_and_numbers_but_does_not_take_while_it_is_closed) {
  task_queue queue;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    task t([] {});
    EXPECT_FALSE(queue.add(t));
    EXPECT_TRUE(static_cast<bool>(t));
    EXPECT_EQ(t.id(), i);
    EXPECT_EQ(submitted(queue), i);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(task_queue, takes_while_it_is_open) {
  task_queue queue;
  queue.set_open(true);
  EXPECT_TRUE(queue.is_open());
  task t([] {});
  EXPECT_TRUE(queue.add(t));
  EXPECT_FALSE(static_cast<bool>(t));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.found(), 0U);
  EXPECT_TRUE(queue.find());
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.found(), 1U);
  EXPECT_EQ(pop(queue), 1U);
  EXPECT_TRUE(queue.empty());
}

TEST(task_queue, is_open_until_nothing_is_found) {
  task_queue queue;
  queue.set_open(true);
  submit(queue);
  EXPECT_TRUE(queue.find());
  pop(queue);
  EXPECT_TRUE(queue.is_open());
  task t([] {});
  EXPECT_TRUE(queue.add(t)) << "no find() has found it empty";
  EXPECT_TRUE(queue.find());
  EXPECT_TRUE(queue.is_open());
  pop(queue);
  EXPECT_FALSE(queue.find());
  EXPECT_FALSE(queue.is_open());
  t = task([] {});
  EXPECT_FALSE(queue.add(t));
  queue.set_open(true);
  EXPECT_TRUE(queue.add(t));
}

// push() and add() keep one order, however the queue is opened and closed between them.
TEST(task_queue, keeps_the_order_of_those_pushed_and_those_added) {
  for (unsigned openings = 0; openings < 64; ++openings) {
    task_queue queue;
    for (unsigned i = 0; i < 6; ++i) {
      queue.set_open((openings >> i & 1) != 0);
      submit(queue);
    }
    EXPECT_EQ(queue.size(), 6U);
    EXPECT_THAT(pop_all(queue), ElementsAre(1, 2, 3, 4, 5, 6)) << openings;
    EXPECT_TRUE(queue.empty());
  }
}

TEST(task_queue, pushes_behind_what_was_added_while_it_is_open) {
  task_queue queue;
  queue.set_open(true);
  task late([] {});
  late.set_id(100);
  submit(queue);
  queue.push(std::move(late));
  submit(queue);
  EXPECT_THAT(pop_all(queue), ElementsAre(1, 100, 2));
}

TEST(task_queue, gives_all_in_front_and_behind) {
  for (const bool found : {false, true}) {
    task_queue queue;
    submit(queue);
    queue.set_open(true);
    submit(queue);
    submit(queue);
    if (found) {
      EXPECT_TRUE(queue.find());
      EXPECT_EQ(pop(queue), 1U);
    }
    queue.set_open(false);
    submit(queue);
    std::vector<std::uint64_t> all = ids_of(queue.take_front());
    for (const std::uint64_t id : ids_of(queue.take_back())) all.push_back(id);
    if (found) {
      EXPECT_THAT(all, ElementsAre(2, 3, 4));
    } else {
      EXPECT_THAT(all, ElementsAre(1, 2, 3, 4));
    }
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.find());
    EXPECT_FALSE(queue.is_open());
    submit(queue);
    EXPECT_THAT(pop_all(queue), ElementsAre(5));
  }
}

TEST(task_queue, takes_out_what_is_wanted_in_front_and_behind) {
  for (const bool open : {false, true}) {
    task_queue queue;
    submit(queue);
    submit(queue);
    queue.set_open(true);
    submit(queue);
    submit(queue);
    queue.set_open(open);
    task_list taken;
    queue.take_if([](const task& t) { return t.id() % 2 == 0; }, taken);
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_EQ(queue.is_open(), open);
    submit(queue);
    EXPECT_THAT(ids_of(std::move(taken)), ElementsAre(2, 4));
    EXPECT_THAT(pop_all(queue), ElementsAre(1, 3, 5));
  }
}

// All tasks of the back are taken out, and then another one is added.
TEST(task_queue, goes_on_after_all_was_taken_out) {
  for (const bool open : {false, true}) {
    task_queue queue;
    queue.set_open(true);
    submit(queue);
    queue.set_open(open);
    task_list taken;
    queue.take_if([](const task&) { return true; }, taken);
    EXPECT_EQ(taken.size(), 1U);
    EXPECT_TRUE(queue.empty());
    submit(queue);
    submit(queue);
    EXPECT_THAT(pop_all(queue), ElementsAre(2, 3));
  }
}

TEST(task_queue, stays_closed_if_by_priority) {
  task_queue queue(queue_order::priority);
  queue.set_open(true);
  EXPECT_FALSE(queue.is_open());
  submit(queue, 0);
  submit(queue, 5);
  submit(queue, -5);
  submit(queue, 5);
  EXPECT_EQ(submitted(queue), 4U);
  EXPECT_TRUE(queue.find());
  EXPECT_EQ(queue.found(), 4U);
  task_list taken;
  queue.take_if([](const task& t) { return t.id() == 2; }, taken);
  EXPECT_EQ(taken.size(), 1U);
  EXPECT_THAT(pop_all(queue), ElementsAre(4, 1, 3));
}

TEST(task_queue, takes_several_at_once_while_it_is_open) {
  task_queue queue;
  std::array<task, 3> some{task([] {}), task([] {}), task([] {})};
  EXPECT_EQ(queue.add_all(some), 0U);
  EXPECT_EQ(submitted(queue), 0U);
  EXPECT_TRUE(std::ranges::all_of(some, [](const task& t) { return static_cast<bool>(t); }));
  queue.set_open(true);
  submit(queue);
  EXPECT_EQ(queue.add_all(some), 3U);
  EXPECT_TRUE(std::ranges::none_of(some, [](const task& t) { return static_cast<bool>(t); }));
  submit(queue);
  EXPECT_EQ(submitted(queue), 5U);
  EXPECT_THAT(pop_all(queue), ElementsAre(1, 2, 3, 4, 5));
}

TEST(task_queue, takes_as_many_at_once_as_there_is_memory_for) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  task_queue queue;
  queue.set_open(true);
  std::vector<task> some(300);
  for (task& t : some) t = task([] {});
  std::size_t taken = 0;
  {
    const takt::no_memory none(4);
    taken = queue.add_all(some);
  }
  EXPECT_GT(taken, 0U);
  EXPECT_LT(taken, 300U);
  EXPECT_EQ(submitted(queue), taken);
  EXPECT_TRUE(static_cast<bool>(some[taken]));
  EXPECT_EQ(queue.add_all(std::span(some).subspan(taken)), 300U - taken);
  const std::vector<std::uint64_t> ids = pop_all(queue);
  EXPECT_EQ(ids.size(), 300U);
  EXPECT_TRUE(std::ranges::is_sorted(ids));
}

TEST(task_queue, a_steady_flow_allocates_nothing) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  task_queue queue;
  const auto flow = [&](std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) {
      queue.set_open(true);
      submit(queue);
    }
    for (int i = 0; i < 5000; ++i) {
      queue.set_open(true);
      submit(queue);
      EXPECT_TRUE(queue.find());
      pop(queue);
    }
    while (queue.find()) pop(queue);
  };
  for (int i = 0; i < 4; ++i) flow(500);
  const std::size_t before = takt::allocations();
  for (const std::size_t length : {0U, 1U, 64U, 100U, 500U}) flow(length);
  EXPECT_EQ(takt::allocations(), before);
}

// Compared with a deque of numbers.
TEST(task_queue, does_what_a_queue_does) {
  std::mt19937 random(1);
  task_queue queue;
  std::deque<std::uint64_t> expected;
  bool open = false;
  for (int step = 0; step < 200'000; ++step) {
    const bool growing = step / 1000 % 2 == 0;
    const unsigned what = random() % 16;
    if (what < (growing ? 8U : 3U)) {
      task t([] {});
      ASSERT_EQ(queue.add(t), open);
      if (!open) queue.push(std::move(t));
      expected.push_back(submitted(queue));
    } else if (what < 12) {
      const bool found = queue.find();
      ASSERT_EQ(found, !expected.empty());
      if (!found) {
        open = false;
      } else {
        ASSERT_EQ(pop(queue), expected.front());
        expected.pop_front();
      }
    } else if (what < 14) {
      open = random() % 2 == 0;
      queue.set_open(open);
    } else if (what == 14 && random() % 16 == 0) {
      const std::uint64_t rest = random() % 3;
      const auto wanted = [&](std::uint64_t id) { return id % 3 == rest; };
      task_list taken;
      queue.take_if([&](const task& t) { return wanted(t.id()); }, taken);
      std::vector<std::uint64_t> ids;
      std::copy_if(expected.begin(), expected.end(), std::back_inserter(ids), wanted);
      std::erase_if(expected, wanted);
      ASSERT_EQ(ids_of(std::move(taken)), ids);
    } else if (what == 15 && random() % 256 == 0) {
      queue.set_open(open = false);
      std::vector<std::uint64_t> all = ids_of(queue.take_front());
      for (const std::uint64_t id : ids_of(queue.take_back())) all.push_back(id);
      ASSERT_EQ(all, std::vector<std::uint64_t>(expected.begin(), expected.end()));
      expected.clear();
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_LE(queue.found(), expected.size());
    ASSERT_EQ(queue.is_open(), open);
  }
}

}  // namespace

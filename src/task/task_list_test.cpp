#include <takt/task/task_list.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

#include "../base/counting_new.hpp"

namespace {

using takt::task;
using takt::task_list;

TEST(task_list, owns_what_is_in_it) {
  takt::future_task<int> work([] { return 1; });
  takt::future<int> filled = work.get_future();
  {
    task_list list;
    list.push_back(task(std::move(work), {.name = "filled"}));
    list.push_back(task([] {}));
    EXPECT_EQ(list.size(), 2u);
    EXPECT_FALSE(list.empty());
    EXPECT_EQ(list[0].name(), "filled");
    std::size_t seen = 0;
    for (const task& t : list) seen += static_cast<bool>(t);
    EXPECT_EQ(seen, 2u);
    EXPECT_FALSE(filled.is_ready());
  }
  EXPECT_THROW(filled.get(), takt::broken_promise);
  task_list none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.begin(), none.end());
}

// Compares the list with a deque of numbers, through many blocks and back to an empty list.
TEST(task_list, keeps_its_order_whatever_comes_and_goes) {
  std::mt19937 random(1);
  task_list list;
  std::deque<std::uint64_t> expected;
  std::uint64_t next = 0;
  task taken;
  const auto add_to = [&](task_list& to) {
    task added([] {});
    added.set_id(++next);
    to.push_back(std::move(added));
    expected.push_back(next);
  };
  for (int step = 0; step < 200'000; ++step) {
    const bool growing = step / 2000 % 2 == 0;
    const unsigned what = random() % 8;
    if (what == 7 && random() % 200 == 0) {
      task_list more;
      for (std::size_t left = random() % 1000; left > 0; --left) add_to(more);
      if (random() % 2 == 0) {
        for (std::size_t left = more.size() / 2; left > 0; --left) {
          more.pop_back(taken);
          expected.pop_back();
        }
      }
      list.append(std::move(more));
    } else if (expected.empty() || what < (growing ? 6U : 2U)) {
      add_to(list);
    } else if (what == 7 && random() % 50 == 0) {
      for (task& t : list) {
        if (t.id() % 3 == 0) t = task();
      }
      list.remove_empty();
      std::erase_if(expected, [](std::uint64_t id) { return id % 3 == 0; });
    } else if (what == 6) {
      list.pop_back(taken);
      ASSERT_EQ(taken.id(), expected.back());
      expected.pop_back();
    } else {
      list.pop_front(taken);
      ASSERT_EQ(taken.id(), expected.front());
      expected.pop_front();
    }
    ASSERT_EQ(list.size(), expected.size());
  }
  task_list moved = std::move(list);
  EXPECT_TRUE(list.empty());  // NOLINT(bugprone-use-after-move): as it says
  std::size_t i = 0;
  for (const task& t : moved) EXPECT_EQ(t.id(), expected[i++]);
  EXPECT_EQ(i, expected.size());
}

// As in task_list.hpp: tasks per block, and empty blocks that are kept.
constexpr std::size_t few = 8;
constexpr std::size_t per_block = 256;
constexpr std::size_t most_spare = 64;

void add(task_list& list, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) list.push_back(task([] {}));
}
void take_first(task_list& list, std::size_t count) {
  for (task t; count != 0; --count) list.pop_front(t);
}
void take_last(task_list& list, std::size_t count) {
  for (task t; count != 0; --count) list.pop_back(t);
}

TEST(task_list, a_steady_flow_allocates_nothing) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const std::size_t length : {0U, 1U, 255U, 256U, 257U, 1000U, 16'384U, 20'000U}) {
    task_list list;
    add(list, length);
    const auto flow = [&](std::size_t count, std::size_t at_once) {
      for (; count != 0; --count) {
        add(list, at_once);
        take_first(list, at_once);
      }
    };
    flow(20'000, 1);
    flow(100, per_block);
    const std::size_t before = takt::allocations();
    flow(20'000, 1);
    flow(100, per_block);
    EXPECT_EQ(takt::allocations(), before) << length;
  }
}

// However the list becomes empty, it keeps `most_spare` blocks and no more.
TEST(task_list, gives_back_what_a_burst_has_needed) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  constexpr std::size_t burst = 5 * most_spare * per_block;
  constexpr std::size_t kept = most_spare * per_block;
  const auto from_the_front = [](task_list& list) { take_first(list, list.size()); };
  const auto from_the_end = [](task_list& list) { take_last(list, list.size()); };
  const auto all_at_once = [](task_list& list) {
    for (task& t : list) t = task();
    list.remove_empty();
  };
  const auto expect_kept = [](task_list& list) {
    const std::size_t full = takt::allocations();
    add(list, kept);
    EXPECT_EQ(takt::allocations(), full) << "these are kept";
    const std::size_t more = takt::allocations();
    add(list, 1);
    EXPECT_EQ(takt::allocations(), more + 1) << "but no more than these";
  };
  for (const auto& empty : {std::function<void(task_list&)>(from_the_front),
                            std::function<void(task_list&)>(from_the_end),
                            std::function<void(task_list&)>(all_at_once)}) {
    task_list list;
    add(list, burst);
    empty(list);
    expect_kept(list);
  }
}

// A shrinking list releases blocks: some empty blocks are at the front, others at the end.
TEST(task_list, gives_back_as_it_becomes_shorter) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  task_list list;
  constexpr std::size_t all = 12 * most_spare;
  add(list, all * per_block);
  const std::size_t before = takt::deallocations();
  for (std::size_t blocks = 1; blocks < all; ++blocks) {
    take_first(list, per_block);
    const std::size_t freed = takt::deallocations() - before;
    ASSERT_LE(blocks, freed + 2 * most_spare);
    if (blocks <= all / 2) {
      ASSERT_EQ(freed, blocks > most_spare ? blocks - most_spare : 0);
    }
  }
}

// There may be thousands of short lists.
TEST(task_list, a_short_one_has_a_small_block_and_a_longer_one_a_large_one) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  task_list list;
  const auto allocated = [before = takt::allocations()] { return takt::allocations() - before; };
  add(list, few);
  EXPECT_EQ(allocated(), 2u) << "the block, and the table of blocks";
  take_first(list, few - 1);
  int ran = 0;
  list.push_back(task([&ran] { ++ran; }));
  EXPECT_EQ(allocated(), 3u) << "the end of the small one";
  EXPECT_EQ(list.size(), 2u);
  list.back().run();
  EXPECT_EQ(ran, 1) << "they have moved";
  add(list, per_block - 2);
  EXPECT_EQ(allocated(), 3u);
  add(list, 1);
  EXPECT_EQ(allocated(), 5u);
  list.trim();
  EXPECT_EQ(list.size(), per_block + 1) << "it is not empty";
  take_first(list, list.size());
  const std::size_t freed = takt::deallocations();
  list.trim();
  EXPECT_EQ(takt::deallocations() - freed, 2u);
  add(list, few);
  EXPECT_EQ(allocated(), 6u) << "a small one again";
  take_first(list, few);
  list.trim();
  add(list, few);
  EXPECT_EQ(allocated(), 6u) << "which stays";
}

TEST(task_list, without_memory_for_a_large_block_the_small_one_stays) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  task_list list;
  add(list, few);
  {
    task one([] {});
    const takt::no_memory now;
    EXPECT_THROW(list.push_back(std::move(one)), std::bad_alloc);
    EXPECT_TRUE(one);  // NOLINT(bugprone-use-after-move): it is as it was
  }
  EXPECT_EQ(list.size(), few);
  add(list, 1);
  for (task& t : list) EXPECT_TRUE(t);
}

TEST(task_list, lists_become_one_without_memory) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::array<std::size_t, 6> sizes{few, per_block, 1, 0, 3 * per_block + 1, few - 1};
  std::size_t all = 0;
  task_list list;
  for (const std::size_t size : sizes) {
    task_list more;
    add(more, size);
    if (size > few) take_first(more, 3);
    all += more.size();
    const takt::no_memory now;
    list.append(std::move(more));
    EXPECT_TRUE(more.empty());  // NOLINT(bugprone-use-after-move): as it says
  }
  EXPECT_EQ(list.size(), all);
  std::size_t seen = 0;
  for (const task& t : list) seen += static_cast<bool>(t);
  EXPECT_EQ(seen, all);
  EXPECT_EQ(&list.back(), &list[all - 1]);
  for (std::size_t i = 0; i < all; i += 2) list[i] = task();
  list.remove_empty();
  EXPECT_EQ(list.size(), all / 2);
  take_last(list, 3 * per_block / 2);
  add(list, 2 * per_block);
  take_first(list, list.size());
  EXPECT_TRUE(list.empty());
}

TEST(task_list, what_was_appended_stays_if_there_is_no_memory_for_more) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  task_list list;
  add(list, few / 2);
  task_list more;
  add(more, few);
  list.append(std::move(more));
  task one([] {});
  {
    const takt::no_memory now;
    EXPECT_THROW(list.push_back(std::move(one)), std::bad_alloc);
  }
  EXPECT_TRUE(one);  // NOLINT(bugprone-use-after-move): it is as it was
  EXPECT_EQ(list.size(), few + few / 2);
  for (task& t : list) EXPECT_TRUE(t);
}

TEST(task_list, what_it_has_room_for_is_added_without_memory) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const std::size_t room : {few, few + 1, per_block, 3 * per_block + 1}) {
    task_list list;
    list.reserve(room);
    const takt::no_memory now;
    add(list, room);
    EXPECT_EQ(list.size(), room);
  }
}

TEST(task_list, gives_back_all_in_the_end) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::size_t allocated = takt::allocations();
  const std::size_t freed = takt::deallocations();
  {
    task_list list;
    add(list, 3 * most_spare * per_block);
    take_first(list, 2 * most_spare * per_block + 7);
    add(list, 10 * per_block);
    take_last(list, 12 * per_block);
    task_list more;
    add(more, 3 * per_block);
    list.append(std::move(more));
  }
  EXPECT_EQ(takt::deallocations() - freed, takt::allocations() - allocated);
}

}  // namespace

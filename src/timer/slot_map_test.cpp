#include <takt/timer/detail/slot_map.hpp>

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "../base/counting_new.hpp"

namespace {

using takt::timer_id;
using table = takt::detail::slot_map<std::unique_ptr<int>>;

timer_id add(table& t, int value) {
  if (t.full()) t.grow();
  return t.add(std::make_unique<int>(value));
}

TEST(slot_map, a_handle_is_of_one_value_only) {
  table t;
  EXPECT_EQ(t.find({}), nullptr);
  const timer_id first = add(t, 1);
  EXPECT_EQ(**t.find(first), 1);
  EXPECT_EQ(t.find({}), nullptr);
  EXPECT_EQ(t.find({first.generation, 1}), nullptr);
  EXPECT_EQ(t.find({first.generation, 1'000'000}), nullptr);
  EXPECT_EQ(**t.take(first.index), 1);
  EXPECT_EQ(t.find(first), nullptr);
  EXPECT_EQ(t.find({first.generation + 1, first.index}), nullptr) << "a place that is free";
  const timer_id second = add(t, 2);
  EXPECT_EQ(second.index, first.index) << "places are used again";
  EXPECT_NE(second, first);
  EXPECT_EQ(t.find(first), nullptr);
  EXPECT_EQ(**t.find(second), 2);
  EXPECT_TRUE(t.check_invariants());
}

TEST(slot_map, values_do_not_move) {
  table t;
  const timer_id first = add(t, 0);
  const auto* const where = t.find(first);
  for (int i = 1; i < 10'000; ++i) add(t, i);
  EXPECT_EQ(t.find(first), where);
  EXPECT_EQ(t.size(), 10'000U);
  EXPECT_TRUE(t.check_invariants());
}

TEST(slot_map, destroys_what_it_holds) {
  const auto counted = std::make_shared<int>(0);
  {
    takt::detail::slot_map<std::shared_ptr<int>> t;
    std::vector<timer_id> ids;
    for (int i = 0; i < 100; ++i) {
      if (t.full()) t.grow();
      ids.push_back(t.add(std::shared_ptr<int>(counted)));
    }
    for (std::size_t i = 0; i < 50; ++i) t.take(ids[2 * i].index);
    EXPECT_EQ(counted.use_count(), 51);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(slot_map, takes_without_memory) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  table t;
  std::vector<timer_id> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(add(t, i));
  const takt::no_memory here;
  for (const timer_id id : ids) t.take(id.index);
  EXPECT_EQ(t.size(), 0U);
}

TEST(slot_map, grow_has_the_strong_guarantee) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  table t;
  {
    const takt::no_memory here;
    EXPECT_THROW(t.grow(), std::bad_alloc);
  }
  EXPECT_TRUE(t.full());
  EXPECT_TRUE(t.check_invariants());
}

}  // namespace

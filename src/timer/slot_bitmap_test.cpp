#include <takt/timer/detail/slot_bitmap.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../base/counting_new.hpp"

namespace {

using takt::detail::slot_bitmap;

TEST(slot_bitmap, are_used_again_in_the_order_of_memory) {
  slot_bitmap places;
  for (int i = 0; i < 3; ++i) places.grow();
  for (std::uint32_t i = 0; i < 192; ++i) EXPECT_EQ(places.take(), i);
  EXPECT_TRUE(places.empty());
  for (const std::uint32_t place : {150U, 70U, 3U, 100U, 2U}) places.put(place);
  for (const std::uint32_t place : {150U, 2U, 3U, 70U, 100U}) EXPECT_EQ(places.take(), place);
  EXPECT_TRUE(places.check_invariants());
}

TEST(slot_bitmap, come_in_turn) {
  slot_bitmap places(slot_bitmap::reuse::in_turn);
  constexpr std::uint32_t blocks = 64 * 64 + 2;
  for (std::uint32_t i = 0; i < blocks; ++i) places.grow();
  for (std::uint32_t i = 0; i < blocks * 64; ++i) EXPECT_EQ(places.take(), i);
  for (const std::uint32_t place : {150U, 70U, 3U, 64U * 64 * 64 + 70, 64U * 65, 2U}) {
    places.put(place);
  }
  // It was in the last block.
  for (const std::uint32_t place : {64U * 64 * 64 + 70, 2U, 3U, 70U, 150U}) {
    EXPECT_EQ(places.next(), place);
    EXPECT_EQ(places.take(), place);
  }
  places.put(1);
  for (const std::uint32_t place : {64U * 65, 1U}) EXPECT_EQ(places.take(), place);
  EXPECT_TRUE(places.empty());
  EXPECT_TRUE(places.check_invariants());
}

class slot_bitmap_by : public testing::TestWithParam<slot_bitmap::reuse> {};

INSTANTIATE_TEST_SUITE_P(all, slot_bitmap_by,
                         testing::Values(slot_bitmap::reuse::lowest, slot_bitmap::reuse::in_turn));

TEST_P(slot_bitmap_by, are_those_of_a_set) {
  slot_bitmap places(GetParam());
  std::mt19937_64 random{1};
  std::set<std::uint32_t> free;
  std::vector<std::uint32_t> taken;
  for (int phase = 0; phase < 8; ++phase) {  // by turns more is taken and more is given back
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 8 < (phase % 2 == 0 ? 6U : 2U)) {
        if (places.empty()) {
          const auto first = static_cast<std::uint32_t>(places.places());
          places.grow();
          for (std::uint32_t added = 0; added < slot_bitmap::step; ++added)
            free.insert(first + added);
        }
        taken.push_back(places.take());
        ASSERT_EQ(free.erase(taken.back()), 1U);
      } else if (!taken.empty()) {
        std::swap(taken[random() % taken.size()], taken.back());
        places.put(taken.back());
        free.insert(taken.back());
        taken.pop_back();
      }
      ASSERT_EQ(places.size(), free.size());
    }
    ASSERT_TRUE(places.check_invariants());
  }
  for (std::uint32_t i = 0; i < places.places(); ++i)
    EXPECT_EQ(places.is_free(i), free.contains(i));
}

TEST(slot_bitmap, grow_has_the_strong_guarantee) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  slot_bitmap places;
  int failures = 0;
  for (std::size_t blocks = 1; blocks < 200; ++blocks) {
    try {
      const takt::no_memory here;
      places.grow();
    } catch (const std::bad_alloc&) {
      ++failures;
      ASSERT_EQ(places.places(), (blocks - 1) * slot_bitmap::step);
      ASSERT_TRUE(places.check_invariants());
      places.grow();
    }
    while (!places.empty()) places.take();
  }
  EXPECT_GT(failures, 0);
  EXPECT_TRUE(places.check_invariants());
}

}  // namespace

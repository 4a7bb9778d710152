// Random operations, against a sorted map.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "timer_kinds.hpp"

namespace {

using takt::timer_id;
using time_point = takt::delay_heap<int>::time_point;
using std::chrono::nanoseconds;

// A timer set, and a map that says what it should do.
template <class Kind>
class compared {
 public:
  explicit compared(std::uint64_t seed, std::int64_t begin, int largest_scale)
      : random_(seed), now_(begin), largest_scale_(largest_scale) {}

  void run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      step();
      if (i % 4096 == 0) check();
    }
    check();
    drain();
  }

 private:
  struct model_timer {
    timer_id id;
    std::pair<std::int64_t, std::uint64_t> place;  // in the map, if it is pending
    bool pending = false;
    std::uint64_t value = 0;
  };
  using key = std::pair<std::int64_t, std::uint64_t>;

  // Of any scale, so that each level of a wheel has its share; at times in the past, far away, or
  // equal to one that was there.
  std::int64_t deadline() {
    const std::uint64_t kind = random_() % 16;
    if (kind == 0) return recent_[random_() % recent_.size()];
    if (kind == 1)
      return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(random_() % 3);
    const auto distance = static_cast<std::int64_t>(
        random_() >> (64 - 1 - random_() % static_cast<std::uint64_t>(largest_scale_)));
    const std::int64_t chosen = kind == 2 ? earlier(distance) : later(distance);
    recent_[random_() % recent_.size()] = chosen;
    return chosen;
  }

  [[nodiscard]] std::int64_t earlier(std::int64_t distance) const {
    return now_ < lowest + distance ? lowest : now_ - distance;
  }
  [[nodiscard]] std::int64_t later(std::int64_t distance) const {
    return now_ > highest - distance ? highest : now_ + distance;
  }

  static time_point at(std::int64_t t) { return time_point(nanoseconds(t)); }

  void step() {
    const std::uint64_t operation = random_() % 16;
    if (timers_.empty() || (operation < 6 && timers_.size() < 3000)) {
      insert();
    } else if (operation < 9) {
      remove(random_() % timers_.size());
    } else if (operation < 13) {
      reschedule(random_() % timers_.size());
    } else if (operation < 15) {
      advance();
    } else {
      stale();
    }
  }

  void insert() {
    const std::int64_t t = deadline();
    const std::uint64_t value = sequence_++;
    const timer_id id = set_.insert(at(t), value);
    ASSERT_TRUE(position_.emplace(std::pair(id.generation, id.index), timers_.size()).second);
    timers_.push_back({id, {t, value}, true, value});
    order_.emplace(key{t, value}, id);
  }

  void remove(std::size_t i) {
    const model_timer gone = timers_[i];
    const auto value = set_.remove(gone.id);
    ASSERT_TRUE(value.has_value());
    ASSERT_EQ(*value, gone.value);
    if (gone.pending) order_.erase(gone.place);
    position_.erase({gone.id.generation, gone.id.index});
    gone_ = gone.id;
    timers_[i] = timers_.back();
    timers_.pop_back();
    if (i < timers_.size()) position_[{timers_[i].id.generation, timers_[i].id.index}] = i;
  }

  void reschedule(std::size_t i) {
    const std::int64_t t = deadline();
    model_timer& moved = timers_[i];
    if (moved.pending) order_.erase(moved.place);
    moved.place = {t, moved.place.second};
    if constexpr (requires { set_.requeue(moved.id, at(t)); }) {
      if (random_() % 2 == 0) {
        ASSERT_TRUE(set_.requeue(moved.id, at(t)));
      } else {
        ASSERT_TRUE(set_.reschedule(moved.id, at(t)));
        moved.place.second = sequence_++;
      }
    } else {
      ASSERT_TRUE(set_.reschedule(moved.id, at(t)));
      moved.place.second = sequence_++;
    }
    moved.pending = true;
    order_.emplace(moved.place, moved.id);
  }

  void stale() {
    ASSERT_FALSE(set_.remove(gone_).has_value());
    ASSERT_FALSE(set_.reschedule(gone_, at(now_)));
    ASSERT_EQ(set_.find(gone_), nullptr);
  }

  void advance() {
    ASSERT_EQ(set_.size(), order_.size());
    const time_point next = set_.next_deadline();
    if (order_.empty()) {
      ASSERT_EQ(next, time_point::max());
    } else {
      ASSERT_LE(next, at(order_.begin()->first.first));
      if constexpr (requires { set_.requeue(gone_, next); }) {
        ASSERT_EQ(next, at(order_.begin()->first.first)) << "a heap is exact";
      }
    }
    const std::uint64_t kind = random_() % 8;
    if (kind == 0) {  // back
      ASSERT_EQ(set_.advance_to(at(now_ == lowest ? lowest : now_ - 1), {}), 0U);
      return;
    }
    if (kind < 4) {  // to the next one, or shortly before
      const auto t = next.time_since_epoch().count();
      if (t != highest) now_ = std::max(now_, kind == 1 && t != lowest ? t - 1 : t);
    } else {
      const auto scale = random_() % static_cast<std::uint64_t>(largest_scale_ - 4);
      now_ = later(static_cast<std::int64_t>(random_() >> (63 - scale)));
    }
    std::array<timer_id, 40> expired;
    const std::size_t budget = random_() % (expired.size() + 1);
    const std::size_t count = set_.advance_to(at(now_), std::span(expired).first(budget));
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_FALSE(order_.empty());
      ASSERT_EQ(order_.begin()->second, expired[i]);
      ASSERT_LE(order_.begin()->first.first, now_) << "early";
      order_.erase(order_.begin());
      const std::size_t which = position_.at({expired[i].generation, expired[i].index});
      timers_[which].pending = false;
      if (random_() % 2 == 0) remove(which);
    }
    if (count < budget && !order_.empty()) {
      ASSERT_GT(std::min(order_.begin()->first.first, highest), std::min(now_, highest - 1));
    }
  }

  void check() {
    ASSERT_TRUE(set_.check_invariants());
    ASSERT_EQ(set_.size(), order_.size());
  }

  void drain() {
    std::vector<timer_id> expired(order_.size() + 1);
    const std::size_t count = set_.advance_to(time_point::max(), expired);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(order_.begin()->second, expired[i]);
      order_.erase(order_.begin());
    }
    for (const auto& [place, id] : order_) ASSERT_EQ(place.first, highest) << "never";
    ASSERT_EQ(set_.size(), order_.size());
    ASSERT_TRUE(set_.check_invariants());
  }

  static constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

  std::mt19937_64 random_;
  std::int64_t now_;
  int largest_scale_;
  typename Kind::template set<std::uint64_t> set_;
  std::vector<model_timer> timers_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> position_;
  std::map<key, timer_id> order_;
  std::array<std::int64_t, 8> recent_{};
  timer_id gone_;
  std::uint64_t sequence_ = 0;
};

template <class Kind>
class timer_property : public testing::Test {};

TYPED_TEST_SUITE(timer_property, kinds::all, kinds::names);

// Delays up to 2^scale ns.
TYPED_TEST(timer_property, microseconds) { compared<TypeParam>(1, 1'000'000, 16).run(70'000); }

TYPED_TEST(timer_property, seconds) { compared<TypeParam>(2, 3'600'000'000'000, 34).run(70'000); }

TYPED_TEST(timer_property, years) {
  compared<TypeParam>(3, std::numeric_limits<std::int64_t>::min(), 60).run(70'000);
}

TYPED_TEST(timer_property, the_end_of_time) {
  for (std::uint64_t seed = 10; seed < 20; ++seed) {
    compared<TypeParam>(seed, std::numeric_limits<std::int64_t>::max() - (1 << 30), 32).run(3'000);
  }
}

TYPED_TEST(timer_property, small_sets_of_all_scales) {
  for (int scale = 8; scale < 63; scale += 6) {
    compared<TypeParam>(static_cast<std::uint64_t>(scale), -1000, scale).run(1'000);
  }
}

}  // namespace

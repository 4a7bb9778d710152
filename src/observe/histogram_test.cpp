#include <takt/observe/histogram.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using takt::histogram;
using takt::histogram_snapshot;

constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();

static_assert(!std::is_copy_constructible_v<histogram>);
static_assert(std::is_trivially_copyable_v<histogram_snapshot>);
static_assert(sizeof(histogram) == 15'104 && sizeof(histogram_snapshot) == 15'104, "as documented");

histogram_snapshot of(const std::vector<std::int64_t>& values) {
  histogram recorded;
  for (const std::int64_t v : values) recorded.record(nanoseconds(v));
  return recorded.snapshot();
}

// The value reported for a single recorded duration.
std::int64_t back(std::int64_t value) { return of({value}).max().count(); }

// The documented bound: off by less than 1/64, and so exact below 64.
::testing::AssertionResult within_bound(std::int64_t got, std::int64_t exact) {
  const std::int64_t off = got > exact ? got - exact : exact - got;
  if (off == 0 || off < (exact / 64) + (exact % 64 == 0 ? 0 : 1)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << got << " for " << exact << " is off by " << off;
}

TEST(histogram, empty_snapshot_is_all_zero) {
  for (const histogram_snapshot& s : {histogram_snapshot(), of({})}) {
    EXPECT_EQ(s.count(), 0U);
    EXPECT_EQ(s.min(), 0ns);
    EXPECT_EQ(s.max(), 0ns);
    EXPECT_EQ(s.mean(), 0ns);
    for (const double p : {0.0, 50.0, 100.0}) EXPECT_EQ(s.percentile(p), 0ns);
  }
}

TEST(histogram, short_durations_are_exact) {
  for (std::int64_t v = 0; v < 64; ++v) EXPECT_EQ(back(v), v);
}

TEST(histogram, negative_counts_as_zero) {
  const auto s = of({-1, std::numeric_limits<std::int64_t>::min(), 5});
  EXPECT_EQ(s.count(), 3U);
  EXPECT_EQ(s.min(), 0ns);
  EXPECT_EQ(s.percentile(50), 0ns);
  EXPECT_EQ(s.max(), 5ns);
}

TEST(histogram, every_bucket_keeps_the_bound_at_both_of_its_ends) {
  // A bucket ends where the leading six bits change.
  std::int64_t before = 63;
  for (int shift = 1; shift <= 57; ++shift) {
    for (std::int64_t leading = 32; leading < 64; ++leading) {
      const std::int64_t low = leading << shift;
      const std::int64_t high = low + ((std::int64_t{1} << shift) - 1);
      const std::int64_t middle = back(low);
      ASSERT_TRUE(within_bound(middle, low));
      ASSERT_TRUE(within_bound(middle, high));
      ASSERT_EQ(back(high), middle) << "one bucket from " << low << " to " << high;
      ASSERT_LT(before, middle) << "buckets are in order";
      before = middle;
    }
  }
  EXPECT_EQ(back(longest), before) << "the last bucket ends with the longest duration";
}

TEST(histogram, records_durations_of_other_units) {
  histogram h;
  h.record(1h);
  h.record(2ms);
  EXPECT_TRUE(within_bound(h.snapshot().max().count(), nanoseconds(1h).count()));
  EXPECT_TRUE(within_bound(h.snapshot().min().count(), nanoseconds(2ms).count()));
}

TEST(histogram, percentile_is_the_nearest_rank) {
  const auto s = of({10, 20, 30, 40});
  EXPECT_EQ(s.percentile(0), 10ns);
  EXPECT_EQ(s.percentile(0.0001), 10ns);
  EXPECT_EQ(s.percentile(25), 10ns);
  EXPECT_EQ(s.percentile(25.1), 20ns);
  EXPECT_EQ(s.percentile(50), 20ns);
  EXPECT_EQ(s.percentile(75), 30ns);
  EXPECT_EQ(s.percentile(75.1), 40ns);
  EXPECT_EQ(s.percentile(100), 40ns);
  EXPECT_EQ(s.mean(), 25ns);
}

// The rank equals that of exact arithmetic, although tenths of a percent are not exact in double.
// The values are 0 below the rank and 1 from it on, so the percentile shows whether the rank is
// right.
TEST(histogram, percentile_does_not_slip_by_rounding) {
  for (int size : {1, 2, 3, 7, 10, 100, 999, 1000, 1001, 3000}) {
    for (int tenths = 1; tenths <= 1000; ++tenths) {
      const int rank = (tenths * size + 999) / 1000;
      histogram h;
      for (int i = 1; i <= size; ++i) h.record(i < rank ? 0ns : 1ns + nanoseconds(i > rank));
      ASSERT_EQ(h.snapshot().percentile(tenths / 10.0), 1ns) << tenths << "/10 of " << size;
    }
  }
}

TEST(histogram, percentile_out_of_range_is_an_error_that_names_it) {
  const auto s = of({1});
  const auto message_of = [&](double p) -> std::string {
    try {
      static_cast<void>(s.percentile(p));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(message_of(-1), HasSubstr("-1 is not between 0 and 100"));
  EXPECT_THAT(message_of(100.0000001), HasSubstr("100.0000001 is not between 0 and 100"));
  EXPECT_THAT(message_of(std::nan("")), HasSubstr("nan is not between 0 and 100"));
  EXPECT_THAT(message_of(HUGE_VAL), HasSubstr("inf is not between 0 and 100"));
  EXPECT_THAT(message_of(-5e-324), HasSubstr("-5e-324 is not between 0 and 100"));
  EXPECT_EQ(message_of(-0.0), "none");
  EXPECT_THROW(static_cast<void>(histogram_snapshot().percentile(101)), std::invalid_argument);
}

TEST(histogram, mean_of_the_longest_does_not_overflow) {
  const auto s = of({longest, longest, longest});
  EXPECT_TRUE(within_bound(s.mean().count(), longest));
}

// Compares percentiles with the sorted values.
struct distribution {
  const char* name;
  std::function<std::int64_t(std::mt19937_64&)> draw;
  friend std::ostream& operator<<(std::ostream& out, const distribution& d) {
    return out << d.name;
  }
};

class histogram_property : public ::testing::TestWithParam<distribution> {};

TEST_P(histogram_property, every_percentile_keeps_the_bound) {
  constexpr std::size_t amount = 500'000;
  std::mt19937_64 random(20);  // NOLINT(bugprone-random-generator-seed): the same test every time
  std::vector<std::int64_t> values(amount);
  for (std::int64_t& v : values) v = GetParam().draw(random);
  const histogram_snapshot s = of(values);
  std::sort(values.begin(), values.end());

  ASSERT_EQ(s.count(), amount);
  EXPECT_TRUE(within_bound(s.min().count(), values.front()));
  EXPECT_TRUE(within_bound(s.max().count(), values.back()));
  EXPECT_EQ(s.percentile(0), s.min());
  EXPECT_EQ(s.percentile(100), s.max());

  nanoseconds before = s.min();
  for (std::size_t hundredths = 1; hundredths <= 10'000; hundredths += 3) {
    const std::size_t rank = (hundredths * amount + 9'999) / 10'000;
    const double p = static_cast<double>(hundredths) / 100;
    const nanoseconds got = s.percentile(p);
    ASSERT_TRUE(within_bound(got.count(), values[rank - 1])) << "percentile " << p;
    ASSERT_GE(got, before) << "percentiles do not decrease";
    before = got;
  }

  long double sum = 0;
  for (const std::int64_t v : values) sum += static_cast<long double>(v);
  const auto mean = static_cast<double>(sum / amount);
  EXPECT_NEAR(static_cast<double>(s.mean().count()), mean, mean / 64 + 0.5);
}

INSTANTIATE_TEST_SUITE_P(
    all, histogram_property,
    ::testing::Values(distribution{"any_scale",
                                   [](auto& r) { return std::int64_t(r() >> (1 + r() % 63)); }},
                      distribution{"full_range", [](auto& r) { return std::int64_t(r() >> 1); }},
                      distribution{"below_100", [](auto& r) { return std::int64_t(r() % 100); }},
                      distribution{"constant", [](auto&) { return std::int64_t{123'456'789}; }},
                      distribution{"two_far_apart",
                                   [](auto& r) {
                                     return r() % 1000 == 0 ? std::int64_t{3'600'000'000'000} : 70;
                                   }},
                      distribution{"service_times",
                                   [](auto& r) {
                                     return std::int64_t(std::lognormal_distribution<>(11, 2)(r));
                                   }}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(histogram, merging_is_like_recording_everything_in_one) {
  std::mt19937_64 random(7);  // NOLINT(bugprone-random-generator-seed): the same test every time
  for (int round = 0; round < 200; ++round) {
    std::array<std::vector<std::int64_t>, 3> values;
    std::vector<std::int64_t> all;
    for (auto& some : values) {
      some.resize(random() % 50);
      for (std::int64_t& v : some) v = static_cast<std::int64_t>(random() >> (1 + random() % 63));
      all.insert(all.end(), some.begin(), some.end());
    }
    const histogram_snapshot a = of(values[0]);
    const histogram_snapshot b = of(values[1]);
    const histogram_snapshot c = of(values[2]);
    const auto plus = [](histogram_snapshot x, const histogram_snapshot& y) { return x += y; };
    EXPECT_EQ(plus(plus(a, b), c), of(all));
    EXPECT_EQ(plus(plus(a, b), c), plus(a, plus(b, c))) << "associative";
    EXPECT_EQ(plus(a, b), plus(b, a)) << "commutative";
    EXPECT_EQ(plus(a, histogram_snapshot()), a) << "empty is neutral";
  }
}

TEST(histogram, merging_with_itself_doubles) {
  auto s = of({1, 2, 3});
  s += s;
  EXPECT_EQ(s, of({1, 1, 2, 2, 3, 3}));
}

TEST(histogram, never_allocates) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::size_t before = takt::allocations();
  histogram h;
  for (std::int64_t v = 1; v > 0 && v < longest / 3; v *= 3) h.record(nanoseconds(v));
  histogram_snapshot s = h.snapshot();
  s += h.snapshot();
  static_cast<void>(s.percentile(99).count() + s.mean().count());
  EXPECT_EQ(takt::allocations(), before);
}

TEST(histogram, loses_nothing_between_threads) {
  constexpr std::int64_t threads = 4;
  constexpr std::int64_t each =
      500'000;  // long enough for the threads to overlap on a busy machine
  const auto h = std::make_unique<histogram>();
  std::latch together(threads);
  std::latch done(threads);
  std::vector<std::jthread> recording;
  for (std::int64_t t = 0; t < threads; ++t) {
    recording.emplace_back([&h, &together, &done, t] {
      together.arrive_and_wait();
      // Half of the records go to a shared bucket, half to a bucket of the thread's own.
      for (std::int64_t i = 0; i < each; ++i) h->record(nanoseconds(i % 2 == 0 ? 1000 : t));
      done.count_down();
    });
  }
  std::uint64_t before = 0;
  while (!done.try_wait()) {
    const histogram_snapshot s = h->snapshot();
    ASSERT_GE(s.count(), before);
    ASSERT_LE(s.count(), threads * each);
    before = s.count();
    std::this_thread::yield();
  }
  recording.clear();

  std::vector<std::int64_t> expected(threads * each / 2, 1000);
  for (std::int64_t t = 0; t < threads; ++t) expected.insert(expected.end(), each / 2, t);
  EXPECT_EQ(h->snapshot(), of(expected));
}

}  // namespace

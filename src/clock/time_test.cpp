#include <takt/clock/time.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <stdexcept>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using std::chrono::duration;
using std::chrono::nanoseconds;
using takt::deadline_after;
using takt::never;
using takt::to_nanoseconds;
using time_point = std::chrono::time_point<std::chrono::steady_clock, nanoseconds>;

TEST(to_nanoseconds, counts_exactly) {
  EXPECT_EQ(to_nanoseconds(1s), nanoseconds(1'000'000'000));
  EXPECT_EQ(to_nanoseconds(-3ms), nanoseconds(-3'000'000));
  EXPECT_EQ(to_nanoseconds(7ns), nanoseconds(7));
  EXPECT_EQ(to_nanoseconds(0h), nanoseconds(0));
  static_assert(to_nanoseconds(2us) == nanoseconds(2000));
}

TEST(to_nanoseconds, rounds_up) {
  using picoseconds = duration<std::int64_t, std::pico>;
  using thirds = duration<int, std::ratio<1, 3'000'000'000>>;
  EXPECT_EQ(to_nanoseconds(picoseconds(1)), 1ns);
  EXPECT_EQ(to_nanoseconds(picoseconds(1000)), 1ns);
  EXPECT_EQ(to_nanoseconds(picoseconds(1001)), 2ns);
  EXPECT_EQ(to_nanoseconds(picoseconds(-1)), 0ns);
  EXPECT_EQ(to_nanoseconds(picoseconds(-1000)), -1ns);
  EXPECT_EQ(to_nanoseconds(picoseconds(-1999)), -1ns);
  EXPECT_EQ(to_nanoseconds(thirds(4)), 2ns);
  EXPECT_EQ(to_nanoseconds(duration<double, std::milli>(1.5)), 1'500'000ns);
  EXPECT_EQ(to_nanoseconds(duration<double, std::nano>(0.25)), 1ns);
  EXPECT_EQ(to_nanoseconds(duration<double, std::nano>(-0.25)), 0ns);
  EXPECT_EQ(to_nanoseconds(duration<float>(0.5F)), 500ms);
}

TEST(to_nanoseconds, too_long_is_never) {
  EXPECT_EQ(to_nanoseconds(std::chrono::hours::max()), never);
  EXPECT_EQ(to_nanoseconds(std::chrono::seconds::max()), never);
  EXPECT_EQ(to_nanoseconds(nanoseconds::max()), never);
  EXPECT_EQ(to_nanoseconds(duration<std::uint64_t>(~std::uint64_t{0})), never);
  EXPECT_EQ(to_nanoseconds(duration<double>(1e300)), never);
  EXPECT_EQ(to_nanoseconds(duration<double>(std::numeric_limits<double>::infinity())), never);
  EXPECT_EQ(to_nanoseconds(duration<std::int64_t, std::giga>(INT64_MAX)), never);
}

TEST(to_nanoseconds, too_negative_is_the_lowest) {
  EXPECT_EQ(to_nanoseconds(std::chrono::hours::min()), nanoseconds::min());
  EXPECT_EQ(to_nanoseconds(duration<double>(-1e300)), nanoseconds::min());
}

TEST(to_nanoseconds, not_a_number_is_an_error) {
  const duration<double> nan(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(static_cast<void>(to_nanoseconds(nan)), std::invalid_argument);
}

TEST(time_between, subtracts_and_saturates) {
  using takt::time_between;
  EXPECT_EQ(time_between(time_point(5ns), time_point(12ns)), 7ns);
  EXPECT_EQ(time_between(time_point(12ns), time_point(5ns)), -7ns);
  EXPECT_EQ(time_between(time_point(-5ns), time_point(12ns)), 17ns);
  EXPECT_EQ(time_between(time_point(5ns), time_point::max()), takt::never);
  EXPECT_EQ(time_between(time_point::max(), time_point::max()), takt::never);
  EXPECT_EQ(time_between(time_point(-5ns), time_point::max() - 5ns), takt::never);
  EXPECT_EQ(time_between(time_point(-5ns), time_point::max() - 6ns), takt::never - 1ns);
  EXPECT_EQ(time_between(time_point::min(), time_point::max() - 1ns), takt::never);
  EXPECT_EQ(time_between(time_point(5ns), time_point::min()), std::chrono::nanoseconds::min());
  EXPECT_EQ(time_between(time_point(5ns), time_point::min() + 6ns),
            std::chrono::nanoseconds::min() + 1ns);
  EXPECT_EQ(time_between(time_point::min(), time_point::min()), 0ns);
}

TEST(deadline_after, adds) {
  EXPECT_EQ(deadline_after(time_point(5ns), 7ns), time_point(12ns));
  EXPECT_EQ(deadline_after(time_point(5ns), -7ns), time_point(-2ns));
  EXPECT_EQ(deadline_after(time_point(5ns), 1s), time_point(1'000'000'005ns));
  EXPECT_EQ(deadline_after(time_point(5ns), duration<double, std::nano>(0.25)), time_point(6ns));
  static_assert(deadline_after(time_point(5ns), 7ns) == time_point(12ns));
}

TEST(deadline_after, not_a_number_is_an_error) {
  const duration<double> nan(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(static_cast<void>(deadline_after(time_point(5ns), nan)), std::invalid_argument);
}

TEST(deadline_after, never_wraps_around) {
  EXPECT_EQ(deadline_after(time_point(-5ns), never), time_point::max());
  EXPECT_EQ(deadline_after(time_point(5ns), never), time_point::max());
  EXPECT_EQ(deadline_after(time_point(5ns), std::chrono::hours::max()), time_point::max());
  EXPECT_EQ(deadline_after(time_point(5ns), std::chrono::hours::min()), time_point::min() + 5ns);
  EXPECT_EQ(deadline_after(time_point(5ns), duration<double>(1e300)), time_point::max());
  EXPECT_EQ(deadline_after(time_point::max() - 3ns, 4ns), time_point::max());
  EXPECT_EQ(deadline_after(time_point::max() - 3ns, 2ns), time_point::max() - 1ns);
  EXPECT_EQ(deadline_after(time_point::max(), 0ns), time_point::max());
  EXPECT_EQ(deadline_after(time_point::min() + 3ns, -4ns), time_point::min());
  EXPECT_EQ(deadline_after(time_point(-1ns), nanoseconds::min()), time_point::min());
}

}  // namespace

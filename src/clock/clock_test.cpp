#include <takt/clock/clock.hpp>

#include <chrono>
#include <concepts>
#include <type_traits>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>

namespace {

using namespace std::chrono_literals;
using takt::parker;
using takt::sync::thread;

// Tests of every clock, real or manual.
template <class Clock>
class any_clock : public testing::Test {
 protected:
  Clock time_{};
};
using clocks = testing::Types<takt::steady_clock, takt::system_clock, takt::manual_clock,
                              takt::manual_wall_clock>;
TYPED_TEST_SUITE(any_clock, clocks);

// Takes the token and returns whether there was one.
bool had_token(parker& p) { return p.park_until(takt::sync::clock::time_point{}); }

TYPED_TEST(any_clock, deadline_that_has_come_polls) {
  parker p;
  this->time_.park_until(p, this->time_.now());
  this->time_.park_until(p, TypeParam::time_point::min());
  EXPECT_FALSE(had_token(p)) << "a deadline sets no token";
  p.unpark();
  this->time_.park_until(p, this->time_.now());
  EXPECT_FALSE(had_token(p)) << "it was taken";
}

TYPED_TEST(any_clock, unpark_ends_the_wait) {
  parker p;
  for (const auto deadline : {TypeParam::time_point::max(), this->time_.now() + 1h}) {
    thread waker([&p] { p.unpark(); });
    this->time_.park_until(p, deadline);
    EXPECT_LT(this->time_.now(), deadline);
    waker.join();
    EXPECT_FALSE(had_token(p)) << "it was taken";
  }
}

TYPED_TEST(any_clock, now_does_not_go_back_by_itself) {
  const auto first = this->time_.now();
  if constexpr (std::derived_from<TypeParam, takt::clock>) {
    EXPECT_LE(first, this->time_.now());
  }
}

template <class Clock>
void never_early(const Clock& time) {
  parker p;
  for (int i = 0; i < 20; ++i) {
    const auto deadline = time.now() + std::chrono::microseconds(50 * i);
    time.park_until(p, deadline);  // no thread unparks
    EXPECT_GE(time.now(), deadline);
  }
}

TEST(steady_clock, is_never_early) { never_early(takt::steady); }
TEST(system_clock, is_never_early) { never_early(takt::wall); }

// A deadline of one kind of time does not convert to the other.
template <class Clock, class TimePoint>
concept parks_until = requires(const Clock& c, parker& p, TimePoint t) { c.park_until(p, t); };
static_assert(parks_until<takt::clock, takt::clock::time_point>);
static_assert(parks_until<takt::clock, std::chrono::steady_clock::time_point>);
static_assert(!parks_until<takt::clock, takt::wall_clock::time_point>);
static_assert(!parks_until<takt::wall_clock, takt::clock::time_point>);
static_assert(std::is_empty_v<takt::steady_clock> || sizeof(takt::steady_clock) == sizeof(void*),
              "no state");

}  // namespace

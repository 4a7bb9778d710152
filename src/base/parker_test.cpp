#include <takt/base/parker.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>

#include "futex.hpp"

namespace {

using takt::parker;
using takt::sync::clock;
using takt::sync::thread;

constexpr clock::time_point past{};
constexpr clock::time_point never = clock::time_point::max();

TEST(parker, unpark_before_park_returns_at_once) {
  parker p;
  p.unpark();
  p.park();
  EXPECT_FALSE(p.park_until(past)) << "the token was taken";
}

TEST(parker, holds_at_most_one_token) {
  parker p;
  p.unpark();
  p.unpark();
  p.unpark();
  EXPECT_TRUE(p.park_until(past));
  EXPECT_FALSE(p.park_until(past));
}

TEST(parker, park_until_the_past_polls) {
  parker p;
  EXPECT_FALSE(p.park_until(past));
  EXPECT_FALSE(p.park_until(clock::time_point::min()));
  EXPECT_FALSE(p.park_until(clock::now()));
  p.unpark();
  EXPECT_TRUE(p.park_until(clock::time_point::min())) << "the token wins over the deadline";
}

TEST(parker, a_passed_deadline_leaves_no_trace) {
  parker p;
  EXPECT_FALSE(p.park_until(past));
  p.unpark();
  p.park();
  EXPECT_FALSE(p.park_until(past));
}

TEST(parker, never_returns_before_the_deadline) {
  parker p;
  for (int i = 0; i < 20; ++i) {
    const clock::time_point deadline = clock::now() + std::chrono::microseconds(50 * i);
    EXPECT_FALSE(p.park_until(deadline));
    EXPECT_GE(clock::now(), deadline);
  }
}

TEST(parker, takes_a_token_before_a_far_deadline) {
  for (const clock::time_point deadline :
       {never, never - clock::duration(1), clock::now() + std::chrono::hours(1)}) {
    parker p;
    thread waker([&p] { p.unpark(); });
    EXPECT_TRUE(p.park_until(deadline));
    waker.join();
  }
}

// A plain int passes to and fro: only unpark() and park() order the accesses of the two sides.
TEST(parker, hands_over_between_two_threads) {
  constexpr int rounds = 10'000;
  parker ping;
  parker pong;
  int ball = 0;
  thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.park();
      EXPECT_EQ(ball, 2 * i + 1);
      ++ball;
      pong.unpark();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ++ball;
    ping.unpark();
    pong.park();
    ASSERT_EQ(ball, 2 * i + 2);
  }
  other.join();
}

// Every unpark() is followed by another look, also if several come together.
TEST(parker, many_wakers_lose_no_wake_up) {
  constexpr int wakers = 4;
  constexpr int each = 5'000;
  parker p;
  takt::sync::atomic<int> posted{0};
  std::vector<thread> threads;
  for (int w = 0; w < wakers; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        posted.fetch_add(1, std::memory_order_relaxed);  // relaxed: unpark() publishes it
        p.unpark();
      }
    });
  }
  while (posted.load(std::memory_order_relaxed) < wakers * each) p.park();  // relaxed: as above
  for (auto& t : threads) t.join();
}

// The waiter destroys the parker as soon as park() returns, even while unpark() still runs.
TEST(parker, may_be_destroyed_after_park) {
  constexpr int rounds = 5'000;
  takt::sync::atomic<parker*> handed{nullptr};
  parker ready;
  thread waker([&] {
    for (int i = 0; i < rounds; ++i) {
      ready.park();
      handed.load()->unpark();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    auto p = std::make_unique<parker>();
    handed.store(p.get());
    ready.unpark();
    p->park();
    p.reset();
  }
  waker.join();
}

// Deadlines and tokens race; a token that loses to the deadline is taken by the next park().
TEST(parker, deadline_and_token_race_without_loss) {
  constexpr int rounds = 5'000;
  parker p;
  parker answered;
  thread waker([&] {
    for (int i = 0; i < rounds; ++i) {
      p.unpark();
      answered.park();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    while (!p.park_until(clock::now() + std::chrono::microseconds(i % 16))) {
    }
    answered.unpark();
  }
  waker.join();
  EXPECT_FALSE(p.park_until(past));
}

#if !defined(TAKT_PORTABLE_PARKING)
TEST(futex, wait_returns_if_the_word_differs) {
  takt::sync::atomic<std::uint32_t> word{1};
  EXPECT_FALSE(takt::sync::futex_wait(word, 2, never));
}

TEST(futex, wait_times_out) {
  takt::sync::atomic<std::uint32_t> word{1};
  EXPECT_TRUE(takt::sync::futex_wait(word, 1, past));
}

TEST(futex, wake_of_a_stale_address_does_nothing) {
  // Nothing is ever mapped there.
  const auto address =
      reinterpret_cast<const takt::sync::atomic<std::uint32_t>*>(std::uintptr_t{64});
  takt::sync::futex_wake_one(address);
}
#endif

}  // namespace

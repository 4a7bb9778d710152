#include <takt/clock/manual_clock.hpp>

#include <chrono>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>

namespace {

using namespace std::chrono_literals;
using takt::manual_clock;
using takt::parker;
using takt::sync::atomic;
using takt::sync::thread;
using testing::HasSubstr;
using testing::ThrowsMessage;
using time_point = manual_clock::time_point;

TEST(manual_clock, stands_still_until_told) {
  manual_clock time(time_point(5s));
  EXPECT_EQ(time.now(), time_point(5s));
  time.advance(2s);
  EXPECT_EQ(time.now(), time_point(7s));
  time.advance(0s);
  EXPECT_EQ(time.now(), time_point(7s));
  time.advance(std::chrono::duration<double>(0.5));
  EXPECT_EQ(time.now(), time_point(7500ms));
  time.advance_to(time_point(9s));
  EXPECT_EQ(time.now(), time_point(9s));
  EXPECT_FALSE(time.advance_to_next()) << "no thread waits";
  EXPECT_EQ(time.now(), time_point(9s));
}

TEST(manual_clock, going_back_is_an_error_that_names_the_times) {
  manual_clock time(time_point(5s));
  EXPECT_THAT([&] { time.advance(-1s); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("manual clock cannot go back from 5000000000 ns to 4000000000 ns")));
  EXPECT_THAT([&] { time.advance_to(time_point(4s)); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("manual clock cannot go back from 5000000000 ns to 4000000000 ns")));
  EXPECT_THAT([&] { time.advance(std::chrono::nanoseconds::min()); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("to -9223372031854775808 ns")));
  EXPECT_EQ(time.now(), time_point(5s)) << "nothing has changed";
}

TEST(manual_clock, waiters_on_their_way_out_are_not_advanced_to) {
  for (int i = 0; i < 100; ++i) {
    manual_clock time;
    parker told;
    parker late;
    thread first([&] { time.park_until(told, time_point(1s)); });
    thread second([&] { time.park_until(late, time_point(2s)); });
    time.wait_for_waiters(2);
    told.unpark();
    ASSERT_TRUE(time.advance_to_next());
    EXPECT_EQ(time.now(), time_point(2s)) << "no thread waits for the first second any more";
    time.advance_to(time_point(2s));  // so that a failure does not hang
    first.join();
    second.join();
  }
}

TEST(manual_clock, at_the_ends_of_time) {
  const manual_clock late(time_point::max());
  EXPECT_EQ(late.now(), time_point::max() - 1ns) << "time_point::max() is not reached";
  manual_clock early(time_point::min());
  EXPECT_EQ(early.now(), time_point::min());
  EXPECT_THROW(early.advance(-1ns), std::invalid_argument);
}

TEST(manual_clock, never_is_never_reached) {
  manual_clock time;
  parker p;
  atomic<bool> woken{false};
  thread waiter([&] {
    time.park_until(p, time_point::max());
    woken.store(true);
  });
  time.wait_for_waiters(1);
  time.advance(std::chrono::hours::max());
  time.advance(takt::never);
  EXPECT_LT(time.now(), time_point::max());
  EXPECT_FALSE(time.advance_to_next());
  EXPECT_EQ(time.waiters(), 1U);
  EXPECT_FALSE(woken.load());
  p.unpark();
  waiter.join();
}

TEST(manual_clock, wakes_whose_deadline_has_come_and_nobody_else) {
  manual_clock time;
  parker early;
  parker late;
  atomic<int> awake{0};
  const auto wait = [&](parker& p, time_point deadline) {
    while (time.now() < deadline) time.park_until(p, deadline);
    awake.fetch_add(1);
  };
  thread first([&] { wait(early, time_point(10ms)); });
  thread second([&] { wait(late, time_point(20ms)); });
  time.wait_for_waiters(2);
  EXPECT_TRUE(time.advance_to_next());
  EXPECT_EQ(time.now(), time_point(10ms));
  first.join();
  EXPECT_EQ(awake.load(), 1);
  time.advance(9ms);
  EXPECT_EQ(time.waiters(), 1U) << "it is a millisecond too early";
  time.advance(1ms);
  second.join();
  EXPECT_EQ(awake.load(), 2);
}

TEST(manual_clock, deadline_and_token_both_end_the_wait_and_leave_no_token) {
  manual_clock time;
  parker p;
  atomic<int> ended{0};
  thread waiter([&] {
    for (int i = 1; i <= 2; ++i) {
      time.park_until(p, time_point(i * 1s));
      ended.fetch_add(1);
    }
  });
  time.wait_for_waiters(1);
  time.advance(1s);
  time.wait_for_waiters(1);
  EXPECT_EQ(ended.load(), 1) << "by the deadline";
  p.unpark();
  waiter.join();
  EXPECT_EQ(time.now(), time_point(1s)) << "by the token";
  EXPECT_FALSE(p.park_until(time_point{})) << "no token is left";
}

// unpark() and advance() lower the count at once; it rises when the thread parks again.
TEST(manual_clock, waiters_on_their_way_out_do_not_count) {
  manual_clock time;
  parker p;
  atomic<int> rounds{0};
  atomic<bool> stop{false};
  thread worker([&] {
    while (!stop.load()) {
      time.park_until(p, time_point::max());
      rounds.fetch_add(1);
    }
  });
  for (int i = 0; i < 1000; ++i) {
    time.wait_for_waiters(1);
    ASSERT_EQ(rounds.load(), i);
    p.unpark();
  }
  time.wait_for_waiters(1);
  stop.store(true);
  p.unpark();
  worker.join();
  EXPECT_EQ(time.waiters(), 0U);
}

TEST(manual_clock, periodic_work_is_exact) {
  manual_clock time;
  parker p;
  atomic<int> beats{0};
  constexpr int count = 1000;
  thread worker([&] {
    for (time_point next(1ms); beats.load() < count; next += 1ms) {
      while (time.now() < next) time.park_until(p, next);
      beats.fetch_add(1);
    }
  });
  for (int i = 0; i < count; ++i) {
    time.wait_for_waiters(1);
    ASSERT_EQ(beats.load(), i);
    ASSERT_TRUE(time.advance_to_next());
  }
  worker.join();
  EXPECT_EQ(time.now(), time_point(count * 1ms));
}

TEST(manual_clock, many_advance_and_many_wait) {
  manual_clock time;
  std::vector<thread> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back([&time, i] {
      parker p;
      for (int n = 1; n <= 250; ++n) {
        const time_point deadline(n * i * 1us);
        while (time.now() < deadline) time.park_until(p, deadline);
      }
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&time] {
      for (int n = 0; n < 500; ++n) time.advance(1us);
    });
  }
  for (thread& t : threads) t.join();
  EXPECT_EQ(time.now(), time_point(1ms));
}

}  // namespace

#include <takt/clock/detail/timed_condition.hpp>

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>

namespace {

using namespace std::chrono_literals;
using takt::detail::mutex_lock;
using takt::sync::thread;
using time_point = takt::clock::time_point;

struct fixture {
  takt::manual_clock time;
  takt::detail::mutex mu;
  takt::detail::timed_condition changed TAKT_GUARDED_BY(mu);

  bool wait_until(time_point deadline, const takt::sync::stop_token& stop = {}) {
    mutex_lock lock(mu);
    return changed.wait_until(lock, time, deadline, stop);
  }
  void notify_one() {
    const mutex_lock lock(mu);
    changed.notify_one();
  }
  void notify_all() {
    const mutex_lock lock(mu);
    changed.notify_all();
  }
};

TEST(timed_condition, ends_with_a_notification) {
  fixture f;
  thread waiter([&] { EXPECT_TRUE(f.wait_until(time_point::max())); });
  f.time.wait_for_waiters(1);
  f.notify_one();
  waiter.join();
}

TEST(timed_condition, ends_with_the_deadline) {
  fixture f;
  EXPECT_FALSE(f.wait_until(f.time.now()));
  EXPECT_FALSE(f.wait_until(time_point::min()));
  thread waiter([&] { EXPECT_FALSE(f.wait_until(f.time.now() + 1s)); });
  f.time.wait_for_waiters(1);
  f.time.advance(1s - 1ns);
  EXPECT_EQ(f.time.waiters(), 1u);
  f.time.advance(1ns);
  waiter.join();
  f.notify_one();  // no thread waits any more
}

TEST(timed_condition, ends_with_the_stop_request) {
  fixture f;
  takt::sync::stop_source stop;
  thread waiter([&] { EXPECT_FALSE(f.wait_until(time_point::max(), stop.get_token())); });
  f.time.wait_for_waiters(1);
  stop.request_stop();
  waiter.join();
  EXPECT_FALSE(f.wait_until(time_point::max(), stop.get_token()));  // already requested
}

TEST(timed_condition, holds_the_lock_before_and_after_but_not_meanwhile) {
  fixture f;
  bool waiting = false;
  thread waiter([&] {
    mutex_lock lock(f.mu);
    waiting = true;
    f.changed.wait_until(lock, f.time, time_point::max());
    waiting = false;
  });
  f.time.wait_for_waiters(1);
  {
    const mutex_lock lock(f.mu);
    EXPECT_TRUE(waiting);
    f.changed.notify_one();
    EXPECT_TRUE(waiting);
  }
  waiter.join();
  EXPECT_FALSE(waiting);
}

TEST(timed_condition, wakes_who_has_waited_longest) {
  fixture f;
  std::vector<int> order;
  std::vector<thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&f, &order, i] {
      mutex_lock lock(f.mu);
      EXPECT_TRUE(f.changed.wait_until(lock, f.time, time_point::max()));
      order.push_back(i);
    });
    f.time.wait_for_waiters(static_cast<std::size_t>(i) + 1);
  }
  for (int i = 0; i < 3; ++i) {
    f.notify_one();
    waiters[static_cast<std::size_t>(i)].join();
  }
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(timed_condition, wakes_one_or_all) {
  fixture f;
  std::vector<thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] { EXPECT_TRUE(f.wait_until(time_point::max())); });
    f.time.wait_for_waiters(static_cast<std::size_t>(i) + 1);
  }
  f.notify_one();
  waiters[0].join();
  EXPECT_EQ(f.time.waiters(), 2u);
  f.notify_all();
  waiters[1].join();
  waiters[2].join();
}

TEST(timed_condition, a_notification_is_not_lost_to_a_deadline_of_the_same_moment) {
  fixture f;
  bool notified = false;
  thread waiter([&] { notified = f.wait_until(f.time.now() + 1s); });
  f.time.wait_for_waiters(1);
  {
    const mutex_lock lock(f.mu);  // the waiter cannot return before it is notified
    f.time.advance(1s);
    f.changed.notify_one();
  }
  waiter.join();
  EXPECT_TRUE(notified);
}

TEST(timed_condition, nor_to_a_stop_request_of_the_same_moment) {
  fixture f;
  takt::sync::stop_source stop;
  bool notified = false;
  thread waiter([&] { notified = f.wait_until(time_point::max(), stop.get_token()); });
  f.time.wait_for_waiters(1);
  {
    const mutex_lock lock(f.mu);
    stop.request_stop();
    f.changed.notify_one();
  }
  waiter.join();
  EXPECT_TRUE(notified);
}

TEST(timed_condition, a_waiter_that_has_given_up_takes_no_notification) {
  fixture f;
  thread hasty([&] { EXPECT_FALSE(f.wait_until(f.time.now() + 1s)); });
  f.time.wait_for_waiters(1);
  thread patient([&] { EXPECT_TRUE(f.wait_until(time_point::max())); });
  f.time.wait_for_waiters(2);
  f.time.advance(1s);
  hasty.join();
  f.notify_one();
  patient.join();
}

TEST(timed_condition, has_calls_made_that_its_thread_owes_before_it_waits) {
  fixture f;
  takt::sync::tls<fixture*>::get() = &f;
  const auto notify = []() noexcept { takt::sync::tls<fixture*>::get()->notify_one(); };
  takt::detail::deferred_continuations::add(notify);
  EXPECT_TRUE(f.wait_until(time_point::max())) << "without the lock, and before it is in the list";
  EXPECT_FALSE(takt::detail::deferred_continuations::any());
  EXPECT_FALSE(f.wait_until(time_point::min()));
  takt::sync::tls<fixture*>::get() = nullptr;
}

}  // namespace

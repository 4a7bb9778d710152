// The manual clock: advancing against waiting, unparking and counting. Waiting under a lock.
#include <chrono>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/clock/manual_clock.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;
using time_point = manual_clock::time_point;

void check_both_ways(const std::function<void()>& body) {
  check({.runs = 10'000}, body);
  check({.runs = 1'000'000, .how = model::strategy::exhaustive}, body);
}

TEST(clock_model, advance_is_never_missed) {
  check_both_ways([] {
    manual_clock time;
    parker p;
    sync::thread waiter([&] {
      while (time.now() < time_point(1s)) time.park_until(p, time_point(1s));
    });
    time.advance(1s);
    waiter.join();
    require(time.waiters() == 0, "nobody is listed");
  });
}

TEST(clock_model, unpark_and_advance_together) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    parker p;
    sync::atomic<bool> told{false};
    int waits = 0;
    sync::thread advancer([&] { time.advance(1s); });
    sync::thread notifier([&] {
      told.store(true);
      p.unpark();
    });
    for (;;) {
      const bool late = time.now() >= time_point(1s);
      if (late && told.load()) break;
      const time_point deadline = late ? time_point::max() : time_point(1s);
      time.park_until(p, deadline);
      require(++waits <= 2, "a wait ends by one of the two, and each of them ends one");
    }
    advancer.join();
    notifier.join();
  });
}

TEST(clock_model, waited_for_waiter_has_done_its_work) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    parker p;
    sync::var<int> rounds{0};  // the count is all the synchronisation that a test needs
    sync::thread worker([&] {
      for (int i = 1; i <= 2; ++i) {
        time.park_until(p, time_point(i * 1s));
        ++rounds.write();
      }
    });
    time.wait_for_waiters(1);
    require(rounds.read() == 0, "it waits");
    p.unpark();
    time.wait_for_waiters(1);
    require(rounds.read() == 1, "it has worked and waits again");
    time.advance(2s);
    worker.join();
    require(rounds.read() == 2, "it has ended");
  });
}

TEST(clock_model, advance_to_next_from_two_threads) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    parker a;
    parker b;
    const auto wait = [&](parker& p, time_point deadline) {
      while (time.now() < deadline) time.park_until(p, deadline);
    };
    sync::thread first([&] { wait(a, time_point(1s)); });
    sync::thread second([&] { wait(b, time_point(2s)); });
    while (time.now() < time_point(2s)) {
      if (!time.advance_to_next()) sync::yield();
    }
    first.join();
    second.join();
    require(time.now() == time_point(2s), "no further than asked for");
  });
}

TEST(clock_model, advance_to_next_leaves_out_who_is_on_its_way_out) {
  check_both_ways([] {
    manual_clock time;
    parker p;
    sync::thread waiter([&] { time.park_until(p, time_point(1s)); });
    time.wait_for_waiters(1);
    p.unpark();
    require(!time.advance_to_next(), "nobody sleeps");
    require(time.now() == time_point{}, "so time stands still");
    waiter.join();
  });
}

// The real clocks are virtual here: their deadlines race with tokens like any other.
TEST(clock_model, real_clocks_lose_no_token) {
  check({.runs = 10'000}, [] {
    parker p;
    sync::atomic<bool> told{false};
    sync::thread notifier([&] {
      told.store(true);
      p.unpark();
    });
    const auto soon = steady.now() + 1s;
    const auto date = wall.now() + 2s;
    while (!told.load() && steady.now() < soon) steady.park_until(p, soon);
    while (!told.load() && wall.now() < date) wall.park_until(p, date);
    while (!told.load()) p.park();
    notifier.join();
  });
}

struct door {
  manual_clock time;
  detail::mutex mu;
  detail::timed_condition opened TAKT_GUARDED_BY(mu);

  bool wait_until(time_point deadline, const sync::stop_token& stop = {}) {
    detail::mutex_lock lock(mu);
    return opened.wait_until(lock, time, deadline, stop);
  }
  void notify_one() {
    const detail::mutex_lock lock(mu);
    opened.notify_one();
  }
};

// Whoever gives up does not take the notification along: it has it, or the next one gets it.
TEST(clock_model, notification_reaches_somebody_whoever_gives_up) {
  check({.runs = 20'000}, [] {
    door d;
    sync::stop_source stop;
    bool hasty_notified = false;
    sync::thread hasty([&] { hasty_notified = d.wait_until(time_point(1s), stop.get_token()); });
    d.time.wait_for_waiters(1);
    sync::thread patient([&] { require(d.wait_until(time_point::max()), "notified"); });
    d.time.wait_for_waiters(2);
    sync::thread others([&] {
      d.time.advance(1s);
      stop.request_stop();
    });
    d.notify_one();
    hasty.join();
    if (hasty_notified) d.notify_one();
    patient.join();
    others.join();
  });
}

// A notification under the lock is not missed by who looked under it.
TEST(clock_model, condition_that_was_looked_at_under_the_lock_is_not_missed) {
  check_both_ways([] {
    door d;
    bool open = false;
    sync::thread opener([&] {
      const detail::mutex_lock lock(d.mu);
      open = true;
      d.opened.notify_all();
    });
    {
      detail::mutex_lock lock(d.mu);
      while (!open) d.opened.wait_until(lock, d.time, time_point::max());
    }
    opener.join();
  });
}

}  // namespace

// Delays that begin when the timer thread stamps them, under every kind of interleaving: none is
// early, none is lost, and no more is left of one than it was.
#include <array>
#include <chrono>
#include <cstddef>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "support.hpp"
#include "wheels.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

wheel_scheduler::options_type stamping(const manual_clock& time) {
  auto how = on(time);
  how.stamp = timer_stamp::timer;
  return how;
}

TEST(wheel_scheduler_model, the_timer_thread_stamps_in_time) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(stamping(time));
    auto due = wheel.schedule(1ms, inline_executor(), [] {});
    while (!due.is_ready()) {
      time.advance(1ms);
      sync::yield();
    }
  });
}

// In a place that the inbox still has for another, and while parts end.
TEST(wheel_scheduler_model, what_the_timer_thread_stamps_is_never_early) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(stamping(time));
    sync::thread other([&] {
      for (int i = 0; i < 4; ++i) {
        time.advance(1ms);
        sync::yield();
      }
    });
    for (int i = 0; i < 5; ++i) wheel.execute(1h, inline_executor(), [] {}).cancel();
    for (int i = 0; i < 2; ++i) {
      const auto due = time.now() + 2ms;
      wheel.execute(2ms, inline_executor(),
                    [&time, due] { require(time.now() >= due, "it is not early"); });
    }
    other.join();
    wheel.close(at_close::cancel);
  });
}

// In a place that another one had a moment ago, in the same part.
TEST(wheel_scheduler_model, what_follows_in_the_same_part_is_never_early) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(stamping(time));
    std::array<timer_handle, 4> first;
    for (timer_handle& each : first) each = wheel.execute(1h, inline_executor(), [] {});
    static_cast<void>(first[3].next_time());  // they are in order
    for (std::size_t i = 0; i < 3; ++i) {
      first[i].cancel();
      first[i] = {};
    }
    const auto a = wheel.execute(1h, inline_executor(), [] {});
    const auto b = wheel.execute(1h, inline_executor(), [] {});
    auto before = wheel.execute(1h, inline_executor(), [] {});
    sync::thread other([&] { static_cast<void>(a.next_time()); });  // takes them in
    before.cancel();
    before = {};
    time.advance(1ms);
    const auto due = time.now() + 1h;
    const auto after = wheel.execute(1h, inline_executor(), [] {});
    require(after.next_time() >= due, "it is not early");
    other.join();
    wheel.close(at_close::cancel);
  });
}

// One that is moved away when its time has come, and another one in its place.
TEST(wheel_scheduler_model, what_follows_one_that_was_moved_is_never_early) {
  check({.runs = 50'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(stamping(time));
    auto moved = wheel.execute(1ms, inline_executor(), [] {});
    static_cast<void>(moved.next_time());  // it is in order
    moved.reschedule(1h);
    sync::thread other([&] {
      time.advance(1ms);
      moved.cancel();
      moved = {};
      time.advance(1ms);
      for (int i = 0; i < 4; ++i) {
        const auto due = time.now() + 2ms;
        wheel.execute(2ms, inline_executor(),
                      [&time, due] { require(time.now() >= due, "it is not early"); });
      }
      for (int i = 0; i < 2; ++i) time.advance(1ms);
    });
    other.join();
    wheel.close(at_close::cancel);
  });
}

// Though the timer thread, when the tick has come, finds a gap before it, and no part free.
TEST(wheel_scheduler_model, a_delay_begins_with_the_tick_behind_a_gap_too) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(stamping(time));
    const auto first = wheel.execute(1h, inline_executor(), [] {});
    time.wait_for_waiters(1);
    const auto latest = time.now() + 1ms + 1h;
    sync::thread other([&] { wheel.execute(1h, inline_executor(), [] {}); });
    const auto a = wheel.execute(1h, inline_executor(), [] {});
    const auto b = wheel.execute(1h, inline_executor(), [] {});
    for (int i = 0; i < 2; ++i) {
      time.advance(1ms);
      if (i == 0) other.join();
      time.wait_for_waiters(1);
    }
    require(a.next_time() <= latest && b.next_time() <= latest, "they have begun in time");
    wheel.close(at_close::cancel);
  });
}

// While others take in what is there.
TEST(wheel_scheduler_model, what_the_timer_thread_stamps_is_not_lost) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(stamping(time));
    sync::thread other([&] {
      const auto guard = wheel.execute(1h, inline_executor(), [] {});
      static_cast<void>(guard.next_time());
      guard.cancel();
    });
    auto due = wheel.schedule(1ms, inline_executor(), [] {});
    other.join();
    while (!due.is_ready()) {
      time.advance(1ms);
      sync::yield();
    }
  });
}

TEST(wheel_scheduler_model, no_more_than_the_delay_is_left_when_it_is_paused) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(stamping(time));
    const auto guard = wheel.execute(2ms, inline_executor(), [] {});
    sync::thread other([&] { time.advance(1ms); });
    if (guard.pause()) {
      guard.resume();
      require(guard.next_time() <= time.now() + 2ms, "no more is left");
    }
    other.join();
    guard.cancel();
  });
}

}  // namespace

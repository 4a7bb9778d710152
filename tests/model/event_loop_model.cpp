// The event loop under every kind of interleaving: what comes from other threads wakes it, each
// task comes to one end, and the loop to its own. Time is told to pass: if the loop does not wake
// then, nothing does, and the checker finds a deadlock.
#include <chrono>
#include <cstddef>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/event_loop.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

void balanced(const event_loop& loop) {
  require(loop.totals().pending() == 0, "the ledger balances");
}

TEST(event_loop_model, a_post_wakes_it) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    sync::thread other([&] {
      loop.execute([] {});
      loop.microtasks().execute([] {});
    });
    require(loop.run_one() && loop.run_one(), "both are run");
    other.join();
    balanced(loop);
  });
}

TEST(event_loop_model, a_new_earliest_deadline_wakes_it) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    auto far = loop.execute(1h, [] {});
    sync::thread other([&] {
      loop.execute(1ms, [] {});
      time.advance(1ms);
    });
    require(loop.run_one(), "the nearer one is run");
    other.join();
    require(far.cancel() == cancel_result::prevented, "it has not begun");
    balanced(loop);
  });
}

TEST(event_loop_model, rescheduling_wakes_it) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    auto far = loop.execute(1h, [] {});
    sync::thread other([&] {
      require(far.reschedule(1ms), "it has not begun");
      time.advance(1ms);
    });
    require(loop.run_one(), "it is run");
    other.join();
    balanced(loop);
  });
}

TEST(event_loop_model, a_frame_that_is_asked_for_wakes_it) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.frame = 10ms, .time = &time});
    auto far = loop.execute(1h, [] {});
    sync::thread other([&] {
      loop.frames().execute([] {});
      time.advance(10ms);
    });
    require(loop.run_one(), "it is run");
    other.join();
    require(far.cancel() == cancel_result::prevented, "it has not begun");
    balanced(loop);
  });
}

TEST(event_loop_model, stop_ends_a_run) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    auto far = loop.execute(1h, [] {});
    sync::thread other([&] { loop.stop(); });
    require(loop.run() == 0, "nothing is due");
    other.join();
  });
}

TEST(event_loop_model, cancel_against_fire) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    runs ran{0};
    auto once = loop.execute(0ms, [&] { ran.fetch_add(1); });
    cancel_result result{};
    sync::thread other([&] { result = once.cancel(); });
    const std::size_t polled = loop.poll();
    other.join();
    require(polled == (result == cancel_result::prevented ? 0 : 1), "one of the two");
    require(static_cast<std::size_t>(ran.load()) == polled, "run or not");
    balanced(loop);
  });
}

TEST(event_loop_model, requeue_against_cancel) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    auto series = loop.schedule_at_fixed_rate(0ms, 1ms, [] {});
    sync::thread other([&] { series.cancel(); });
    loop.poll();
    other.join();
    time.advance(1ms);
    require(loop.poll() == 0, "it does not run again");
    balanced(loop);
  });
}

TEST(event_loop_model, post_and_delay_against_shutdown) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    std::size_t accepted = 0;
    sync::thread other([&] {
      try {
        loop.execute([] {});
        ++accepted;
        loop.execute(0ms, [] {});
        ++accepted;
      } catch (const rejected&) {
      }
    });
    sync::thread closer([&] { loop.shutdown(); });
    const std::size_t ran = loop.run();
    other.join();
    closer.join();
    require(ran == accepted, "what was accepted is run, and the rest was rejected");
    balanced(loop);
  });
}

TEST(event_loop_model, the_last_one_cancelled_after_shutdown_ends_a_run) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    auto far = loop.execute(1h, [] {});
    sync::thread other([&] {
      loop.shutdown();
      far.cancel();
    });
    require(loop.run() == 0, "it was cancelled");
    other.join();
    balanced(loop);
  });
}

// Who shuts it down has taken what was asked of the next frame, and has not cancelled it yet.
TEST(event_loop_model, what_shutdown_cancels_has_ended_before_a_run_ends) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    const auto frame = loop.frames().submit([] {});
    const auto series = loop.schedule_at_fixed_rate(1h, 1h, [] {});
    sync::thread other([&] { loop.shutdown(); });
    loop.run();
    require(frame.is_cancelled() && series.is_cancelled(), "they have ended before the run");
    balanced(loop);
    other.join();
  });
}

TEST(event_loop_model, post_against_shutdown_now) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    std::size_t accepted = 0;
    std::size_t returned = 0;
    sync::thread other([&] {
      try {
        loop.execute([] {});
        ++accepted;
        loop.execute(0ms, [] {});
        ++accepted;
      } catch (const rejected&) {
      }
    });
    sync::thread closer([&] { returned = loop.shutdown_now().size(); });
    const std::size_t ran = loop.run();
    other.join();
    closer.join();
    require(ran + returned == accepted, "run or given back");
    balanced(loop);
  });
}

}  // namespace

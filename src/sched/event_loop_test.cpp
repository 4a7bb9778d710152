#include <takt/sched/event_loop.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/retry.hpp>
#include <takt/sched/timeout.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::clock;
using takt::event_loop;
using takt::manual_clock;
using takt_test::recording_hook;

using log = std::vector<std::string>;

// A loop on a manual clock, and the log of its tasks.
struct event_loop_test : testing::Test {
  manual_clock time;
  event_loop loop{{.frame = 10ms, .time = &time}};
  log said;

  auto say(std::string what) {
    return [this, what = std::move(what)] { said.push_back(what); };
  }

  void expect_balance() const {
    const takt::task_totals t = loop.totals();
    EXPECT_EQ(t.submitted, t.rejected + t.finished + t.cancelled + t.returned);
    EXPECT_EQ(t.running(), 0u);
  }
};

template <class Call>
std::string complaint(Call call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

// --- order

TEST_F(event_loop_test, runs_what_is_posted_in_order) {
  loop.execute(say("a"));
  loop.execute(say("b"));
  auto c = loop.submit([&] {
    said.emplace_back("c");
    return 3;
  });
  EXPECT_EQ(loop.poll(), 3u);
  EXPECT_EQ(said, (log{"a", "b", "c"}));
  EXPECT_EQ(c.get(), 3);
  EXPECT_EQ(loop.poll(), 0u);
  expect_balance();
}

TEST_F(event_loop_test, microtasks_go_before_all_others_and_before_the_next) {
  loop.execute([&] {
    said.emplace_back("a");
    loop.execute(say("d"));
    loop.microtasks().execute([&] {
      said.emplace_back("a1");
      loop.microtasks().execute(say("a2"));
    });
  });
  loop.execute(say("b"));
  time.advance(1ns);
  loop.execute(0ms, say("c"));
  loop.microtasks().execute(say("0"));
  loop.poll();
  EXPECT_EQ(said, (log{"0", "a", "a1", "a2", "b", "c", "d"}));
}

TEST_F(event_loop_test, what_is_due_runs_by_deadline_among_what_was_posted) {
  loop.execute(2ms, say("2 ms"));
  loop.execute(1ms, say("1 ms"));
  loop.execute(say("now"));
  time.advance(1ms);
  loop.execute(say("at 1 ms"));  // after the timer that was due then
  time.advance(2ms);
  loop.execute(say("at 3 ms"));
  loop.poll();
  EXPECT_EQ(said, (log{"now", "1 ms", "at 1 ms", "2 ms", "at 3 ms"}));
}

TEST_F(event_loop_test, nothing_is_early) {
  auto f = loop.schedule(1ms, say("a"));
  time.advance(1ms - 1ns);
  EXPECT_EQ(loop.poll(), 0u);
  time.advance(1ns);
  EXPECT_EQ(loop.poll(), 1u);
  EXPECT_TRUE(f.is_ready());
}

TEST_F(event_loop_test, runs_series_and_cancels_them) {
  auto rate = loop.schedule_at_fixed_rate(0ms, 2ms, say("r"));
  auto delay = loop.schedule_with_fixed_delay(1ms, 2ms, say("d"));
  for (int i = 0; i < 5; ++i) {
    loop.poll();
    time.advance(1ms);
  }
  EXPECT_EQ(said, (log{"r", "d", "r", "d", "r"}));
  EXPECT_EQ(rate.cancel(), cancel_result::prevented);
  EXPECT_EQ(delay.cancel(), cancel_result::prevented);
  time.advance(1h);
  EXPECT_EQ(loop.poll(), 0u);
  expect_balance();
}

TEST_F(event_loop_test, handles_outlive_it) {
  takt::timer_handle once;
  takt::periodic_future series;
  {
    event_loop other({.time = &time});
    once = other.execute(1ms, [] {});
    series = other.schedule_at_fixed_rate(1ms, 1ms, [] {});
  }
  EXPECT_EQ(once.cancel(), cancel_result::done);
  EXPECT_FALSE(once.reschedule(1ms));
  EXPECT_TRUE(series.is_cancelled());
}

// --- frames

TEST_F(event_loop_test, a_frame_runs_what_was_asked_before_it_began) {
  time.advance(3ms);
  loop.frames().execute([&] {
    said.emplace_back("a");
    loop.frames().execute(say("next"));
    loop.microtasks().execute(say("micro"));
  });
  loop.frames().execute(say("b"));
  EXPECT_EQ(loop.next_deadline(), time.now() + 7ms);  // a point of the grid
  time.advance(7ms - 1ns);
  EXPECT_EQ(loop.poll(), 0u);
  time.advance(1ns);
  EXPECT_EQ(loop.poll(), 3u);
  EXPECT_EQ(said, (log{"a", "micro", "b"}));
  EXPECT_EQ(loop.next_deadline(), time.now() + 10ms);
  time.advance(10ms);
  loop.poll();
  EXPECT_EQ(said.back(), "next");
  EXPECT_EQ(loop.next_deadline(), clock::time_point::max());  // no frame is due without tasks
}

TEST_F(event_loop_test, a_late_frame_is_not_made_up_for) {
  loop.frames().execute([&] {
    said.emplace_back("a");
    loop.frames().execute(say("b"));
  });
  time.advance(35ms);
  EXPECT_EQ(loop.poll(), 1u);
  EXPECT_EQ(loop.next_deadline(), time.now() + 5ms);
}

TEST_F(event_loop_test, frames_take_their_turn_by_deadline) {
  loop.frames().execute(say("frame"));  // due at 10 ms
  loop.execute(9ms, say("9 ms"));
  loop.execute(10ms, say("10 ms"));
  loop.execute(11ms, say("11 ms"));
  time.advance(20ms);
  loop.execute(say("now"));
  loop.poll();
  EXPECT_EQ(said, (log{"9 ms", "10 ms", "frame", "11 ms", "now"}));
}

TEST_F(event_loop_test, frames_are_the_users_if_there_is_no_ticker) {
  event_loop game({.frame = takt::never, .time = &time});
  game.frames().execute([&] {
    said.emplace_back("a");
    game.frames().execute(say("b"));
    game.microtasks().execute(say("micro"));
  });
  game.execute(say("posted"));
  EXPECT_EQ(game.next_deadline(), clock::time_point::min());
  game.poll();
  EXPECT_EQ(said, (log{"posted"}));
  EXPECT_EQ(game.next_deadline(), clock::time_point::max());
  EXPECT_EQ(game.run_frame(), 2u);
  EXPECT_EQ(said, (log{"posted", "a", "micro"}));
  EXPECT_EQ(game.run_frame(), 1u);
  EXPECT_EQ(game.run_frame(), 0u);
}

// --- running

TEST_F(event_loop_test, run_ends_when_it_is_stopped_and_goes_on_after_restart) {
  loop.execute([&] {
    said.emplace_back("a");
    loop.stop();
  });
  loop.execute(say("b"));
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(loop.is_stopped());
  EXPECT_EQ(loop.run(), 0u);
  EXPECT_FALSE(loop.run_one());
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_EQ(loop.next_deadline(), clock::time_point::max());
  loop.restart();
  EXPECT_FALSE(loop.is_stopped());
  EXPECT_TRUE(loop.run_one());
  EXPECT_EQ(said, (log{"a", "b"}));
}

TEST_F(event_loop_test, run_waits_for_posts_timers_and_stop_from_other_threads) {
  std::thread other([&] {
    time.wait_for_waiters(1);
    loop.execute(say("posted"));
    time.wait_for_waiters(1);
    loop.execute(5ms, say("timer"));
    time.wait_for_waiters(1);
    time.advance(5ms);
    time.wait_for_waiters(1);
    loop.microtasks().execute(say("micro"));
    time.wait_for_waiters(1);
    loop.frames().execute(say("frame"));
    time.wait_for_waiters(1);
    time.advance(10ms);
    time.wait_for_waiters(1);
    loop.stop();
  });
  EXPECT_EQ(loop.run(), 4u);
  other.join();
  EXPECT_EQ(said, (log{"posted", "timer", "micro", "frame"}));
}

TEST_F(event_loop_test, an_earlier_deadline_wakes_it) {
  auto far = loop.execute(1h, say("far"));
  std::thread other([&] {
    time.wait_for_waiters(1);
    loop.execute(1ms, [&] { loop.stop(); });
    time.wait_for_waiters(1);
    time.advance(1ms);
  });
  EXPECT_EQ(loop.run(), 1u);
  other.join();
  EXPECT_EQ(far.cancel(), cancel_result::prevented);
}

TEST_F(event_loop_test, run_for_ends_in_time) {
  loop.execute(1ms, say("1"));
  loop.execute(5ms, say("5"));
  std::thread other([&] {
    time.wait_for_waiters(1);
    time.advance(1ms);
    time.wait_for_waiters(1);
    time.advance(1ms);
  });
  EXPECT_EQ(loop.run_for(2ms), 1u);
  other.join();
  EXPECT_EQ(loop.run_for(0ms), 0u);
  EXPECT_EQ(loop.run_for(-1ms), 0u);
  // Even if there is always a task.
  std::function<void()> again = [&] {
    time.advance(1ms);
    loop.execute([&] { again(); });
  };
  loop.execute([&] { again(); });
  EXPECT_EQ(loop.run_for(3ms), 3u);
}

TEST_F(event_loop_test, errors_leave_it_and_nothing_is_lost) {
  recording_hook hook;
  event_loop other({.frame = 10ms, .time = &time, .unhandled = &hook});
  other.execute([] { throw std::runtime_error("posted"); });
  other.microtasks().execute([] { throw std::runtime_error("micro"); });
  other.execute(0ms, [] { throw std::runtime_error("timer"); });
  other.frames().execute([] { throw std::runtime_error("frame"); });
  other.frames().execute(say("rest of the frame"));
  auto kept = other.submit([] { throw std::runtime_error("kept"); });
  time.advance(10ms);
  EXPECT_EQ(complaint([&] { other.run(); }), "micro");
  EXPECT_EQ(complaint([&] { other.poll(); }), "timer");
  EXPECT_EQ(complaint([&] { other.run_one(); }), "posted");
  EXPECT_TRUE(other.run_one());
  EXPECT_EQ(complaint([&] { kept.get(); }), "kept");
  EXPECT_EQ(complaint([&] { other.run_frame(); }), "frame");
  EXPECT_EQ(other.run_frame(), 1u);
  EXPECT_EQ(said, (log{"rest of the frame"}));
  EXPECT_TRUE(hook.uncaught().empty());
  EXPECT_EQ(other.totals().failed, 5u);
  EXPECT_EQ(other.totals().pending(), 0u);
}

TEST_F(event_loop_test, one_at_a_time_runs_it) {
  const std::string already = "takt::event_loop: the loop is already being run";
  loop.execute([&] {
    EXPECT_EQ(complaint([&] { loop.run(); }), already);
    EXPECT_EQ(complaint([&] { loop.poll(); }), already);
    std::thread([&] { EXPECT_EQ(complaint([&] { loop.run_one(); }), already); }).join();
    said.emplace_back("a");
  });
  EXPECT_EQ(loop.poll(), 1u);
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_EQ(said, (log{"a"}));
}

TEST_F(event_loop_test, a_task_that_waits_for_the_loop_is_told) {
  auto later = loop.submit([] {});
  loop.microtasks().execute([&] { EXPECT_TRUE(takt_test::finds_deadlock([&] { later.wait(); })); });
  EXPECT_EQ(loop.poll(), 2u);
}

// --- bad input

TEST_F(event_loop_test, names_what_is_wrong_and_queues_nothing) {
  EXPECT_EQ(complaint([] { event_loop({.frame = 0ns}); }),
            "takt::event_loop: frame is 0 ns; it has to be above 0");
  EXPECT_EQ(complaint([] { event_loop({.time = nullptr}); }), "takt::event_loop: time is null");
  EXPECT_EQ(complaint([] { event_loop({.unhandled = nullptr}); }),
            "takt::event_loop: unhandled is null");
  EXPECT_EQ(complaint([&] { loop.execute(takt::task()); }), "takt::event_loop: the task is empty");
  EXPECT_EQ(complaint([&] { loop.frames().execute(takt::task()); }),
            "takt::event_loop: the task is empty");
  EXPECT_EQ(complaint([&] { loop.execute(1ms, takt::task()); }),
            "takt::scheduler: the task is empty");
  EXPECT_EQ(complaint([&] { static_cast<void>(loop.schedule_at_fixed_rate(0s, 0s, [] {})); }),
            "takt: the period is 0 ns; it has to be above 0");
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_EQ(loop.totals().submitted, 0u);
}

// --- shutdown

TEST_F(event_loop_test, shutdown_runs_what_is_there_and_cancels_series_and_frames) {
  loop.execute(say("posted"));
  auto once = loop.schedule(5ms, say("5 ms"));
  auto series = loop.schedule_at_fixed_rate(1ms, 1ms, say("series"));
  auto frame = loop.frames().submit(say("frame"));
  loop.shutdown();
  EXPECT_TRUE(loop.is_shutdown());
  EXPECT_TRUE(series.is_cancelled());
  EXPECT_TRUE(frame.is_cancelled());
  EXPECT_EQ(takt_test::rejection_of([&] { loop.execute([] {}); }), takt::rejection::shut_down);
  EXPECT_EQ(takt_test::rejection_of([&] { loop.execute(1ms, [] {}); }), takt::rejection::shut_down);
  EXPECT_EQ(takt_test::rejection_of([&] { loop.frames().execute([] {}); }),
            takt::rejection::shut_down);
  std::thread other([&] {
    time.wait_for_waiters(1);
    time.advance(5ms);
  });
  EXPECT_EQ(loop.run(), 2u);  // and returns without stop()
  other.join();
  EXPECT_EQ(said, (log{"posted", "5 ms"}));
  EXPECT_EQ(loop.run(), 0u);
  expect_balance();
}

TEST_F(event_loop_test, cancelling_the_last_timer_ends_a_run_after_shutdown) {
  auto once = loop.schedule(1h, say("never"));
  loop.shutdown();
  std::thread other([&] {
    time.wait_for_waiters(1);
    once.cancel();
  });
  EXPECT_EQ(loop.run(), 0u);
  other.join();
  expect_balance();
}

TEST_F(event_loop_test, shutdown_now_gives_back_what_has_not_begun) {
  loop.execute(say("posted"));
  loop.frames().execute(say("frame"));
  loop.microtasks().execute(say("micro"));
  auto once = loop.schedule(5ms, say("5 ms"));
  auto cancelled = loop.submit(say("cancelled"));
  cancelled.cancel();
  takt::task_list left = loop.shutdown_now();
  EXPECT_EQ(left.size(), 4u);
  EXPECT_EQ(loop.run(), 0u);
  for (takt::task& t : left) t.run();
  EXPECT_EQ(said, (log{"micro", "posted", "frame", "5 ms"}));
  EXPECT_TRUE(once.is_ready());
  EXPECT_TRUE(loop.shutdown_now().empty());
  expect_balance();
}

TEST_F(event_loop_test, shutdown_now_asks_what_runs_to_stop) {
  bool asked = false;
  loop.execute([&](const std::stop_token& stop) {
    static_cast<void>(loop.shutdown_now());
    asked = stop.stop_requested();
  });
  loop.execute(say("never"));
  EXPECT_EQ(loop.run(), 1u);
  EXPECT_TRUE(asked);
  EXPECT_TRUE(said.empty());
  expect_balance();
}

TEST_F(event_loop_test, the_destructor_cancels) {
  takt::future<void> posted;
  takt::future<void> frame;
  takt::scheduled_future<void> later;
  {
    event_loop other({.time = &time});
    posted = other.submit([] {});
    frame = other.frames().submit([] {});
    later = other.schedule(1h, [] {});
  }
  EXPECT_TRUE(posted.is_cancelled());
  EXPECT_TRUE(frame.is_cancelled());
  EXPECT_TRUE(later.is_cancelled());
}

// --- with_timeout() and others on a loop

TEST_F(event_loop_test, time_outs_and_retries_live_on_it) {
  takt::promise<int> silent;
  auto answer = takt::with_timeout(5ms, loop, silent.get_future());
  int attempts = 0;
  auto tried = takt::retry(loop,
                           [&] {
                             if (++attempts < 3) throw std::runtime_error("not yet");
                             return attempts;
                           },
                           {.initial = 1ms, .factor = 2});
  for (int i = 0; i < 6; ++i) {
    loop.poll();
    time.advance(1ms);
  }
  loop.poll();
  EXPECT_EQ(tried.get(), 3);
  EXPECT_THROW(answer.get(), takt::timeout_error);
}

TEST(event_loop, must_not_be_destroyed_by_its_own_task_or_its_own_end) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const message = "takt::event_loop: destroyed by one of its own tasks";
  const auto by_task = [] {
    auto loop = std::make_unique<event_loop>();
    loop->execute([&] { loop.reset(); });
    loop->run_one();
  };
  EXPECT_DEATH(by_task(), message);
  const auto by_closure = [] {
    auto loop = std::make_shared<event_loop>();
    event_loop& alive = *loop;
    alive.execute([own = std::move(loop)] {});
    alive.shutdown_and_cancel();
  };
  EXPECT_DEATH(by_closure(), message);
}

TEST_F(event_loop_test, an_observer_hears_of_everything) {
  takt::task_statistics heard;
  event_loop other({.frame = 10ms, .time = &time, .observer = &heard});
  other.execute([] {});
  other.execute(1ms, [] {});
  other.frames().execute([] {});
  auto series = other.schedule_at_fixed_rate(0ms, 1ms, [] {});
  other.poll();
  time.advance(10ms);
  other.poll();
  series.cancel();
  other.execute([] {});
  other.shutdown_and_cancel();
  EXPECT_THROW(other.execute([] {}), takt::rejected);
  const takt::task_totals t = heard.totals();
  EXPECT_EQ(t.submitted, 6u);
  EXPECT_EQ(t.finished, 3u);
  EXPECT_EQ(t.cancelled, 2u);
  EXPECT_EQ(t.rejected, 1u);
  EXPECT_EQ(t.running(), 0u);
}

}  // namespace

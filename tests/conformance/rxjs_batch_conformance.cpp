// RxJS: AsapScheduler-spec, AnimationFrameScheduler-spec, Immediate-spec, and the specs of the
// providers. The two schedulers share most tests.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/rx/animation_frame_scheduler.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/loop_requests.hpp>

#include "../support/actions_on_loop.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;

// turn() runs one batch at a time.
template <class Scheduler>
struct batch_suite : takt_test::actions {
  // Runs one batch.
  void turn() {
    if constexpr (std::is_same_v<Scheduler, rx::asap_scheduler>) {
      loop.run_one();
    } else {
      loop.run_frame();
    }
  }
  // Returns true if a batch is requested.
  bool is_asked() {
    if constexpr (std::is_same_v<Scheduler, rx::asap_scheduler>) {
      return loop.next_deadline() == clock::time_point::min();
    } else {
      return loop.wants_frame();
    }
  }

  void acts_like_async_with_a_delay() {
    bool ran = false;
    s.schedule(50ms, [&] { ran = true; });
    EXPECT_FALSE(is_asked());
    pass(49ms);
    EXPECT_FALSE(ran);
    pass(1ms);
    EXPECT_TRUE(ran);
  }
  void cancels_with_a_delay() {
    const auto a = s.schedule(0ms, says("a"));
    const auto b = s.schedule(5ms, says("b"));
    a.unsubscribe();
    b.unsubscribe();
    EXPECT_EQ(loop.next_deadline() > time.now() + 5ms || is_asked(), true);
    pass(30ms);
    EXPECT_EQ(log, "");
  }
  void happens_later() {
    s.schedule(says("later"));
    EXPECT_EQ(log, "");
    turn();
    EXPECT_EQ(log, "later");
  }
  void recursion_takes_separate_turns() {
    s.schedule(
        0ms,
        [&](auto& self, int n) {
          log += std::to_string(n);
          if (n < 2) self.schedule(0ms, n + 1);
        },
        0);
    turn();
    EXPECT_EQ(log, "0");
    turn();
    EXPECT_EQ(log, "01");
    turn();
    EXPECT_EQ(log, "012");
  }
  void nothing_is_asked_for_if_all_are_cancelled() {
    const auto a = s.schedule(says("a"));
    const auto b = s.schedule(says("b"));
    a.unsubscribe();
    b.unsubscribe();
    const auto before = loop.totals().submitted;
    s.schedule(says("c"));
    EXPECT_EQ(loop.totals().submitted, before + 1) << "a new batch";
    pass(20ms);
    EXPECT_EQ(log, "c");
  }
  void the_rest_runs_if_the_first_is_cancelled() {
    const auto first = s.schedule(says("first"));
    s.schedule(says("second"));
    first.unsubscribe();
    turn();
    EXPECT_EQ(log, "second");
  }
  void from_a_delayed_one() {
    s.schedule(10ms,
               [&] { s.schedule([&] { log += "asked at " + std::to_string(now().count()); }); });
    pass(9ms);
    EXPECT_EQ(log, "");
    time.advance(1ms);
    EXPECT_TRUE(loop.run_one());
    EXPECT_EQ(log, "");
    turn();
    EXPECT_EQ(log, "asked at 10");
  }
  void rescheduled_ones_are_not_for_this_batch() {
    const auto a = s.schedule([&](auto& self) {
      log += 'a';
      self.schedule(0ms);
    });
    s.schedule(says("b"));
    turn();
    EXPECT_EQ(log, "ab");
    EXPECT_TRUE(is_asked());
    turn();
    EXPECT_EQ(log, "aba");
    a.unsubscribe();
  }
  void what_is_scheduled_meanwhile_is_for_the_next_batch() {
    s.schedule([&] {
      log += 'a';
      s.schedule(says("c"));
    });
    s.schedule(says("b"));
    turn();
    EXPECT_EQ(log, "ab");
    turn();
    EXPECT_EQ(log, "abc");
  }
  void and_when_some_are_unsubscribed() {
    rx::action<void> b;
    s.schedule([&] {
      log += 'a';
      b.unsubscribe();
      s.schedule(says("c"));
    });
    b = s.schedule(says("b"));
    turn();
    EXPECT_EQ(log, "a");
    turn();
    EXPECT_EQ(log, "ac");
  }
  void an_unnecessary_flush_is_cancelled() {
    rx::action<void> a;
    a = s.schedule([&] {
      log += 'a';
      a.schedule(0ms);
      a.unsubscribe();
      EXPECT_FALSE(s_is_asked_again());
    });
    turn();
    pass(30ms);
    EXPECT_EQ(log, "a");
    s.schedule(says("b"));
    turn();
    EXPECT_EQ(log, "ab");
  }
  // The cancelled request stays and does nothing; the next action makes a new request.
  bool s_is_asked_again() {
    const auto before = loop.totals().submitted;
    const auto probe = s.schedule([] {});
    const bool was_asked = loop.totals().submitted == before;
    probe.unsubscribe();
    return was_asked;
  }

  Scheduler s{loop};
};

struct AsapScheduler : batch_suite<rx::asap_scheduler> {};
struct AnimationFrameScheduler : batch_suite<rx::animation_frame_scheduler> {};
struct Immediate : takt_test::actions {};

TEST_F(AsapScheduler, should_exist) { EXPECT_EQ(s.now(), time.now()); }
TEST_F(AsapScheduler, should_act_like_the_async_scheduler_if_delay_greater_than_0) {
  acts_like_async_with_a_delay();
}
TEST_F(AsapScheduler, should_cancel_asap_actions_when_delay_greater_than_0) {
  cancels_with_a_delay();
}
TEST_F(AsapScheduler,
       should_reuse_the_interval_for_recursively_scheduled_actions_with_the_same_delay) {
  std::vector<std::chrono::milliseconds> at;
  const auto a = s.schedule(20ms, [&](auto& self) {
    at.push_back(now());
    self.schedule(20ms);
  });
  time.advance(25ms);  // late
  loop.poll();
  pass(40ms);
  EXPECT_EQ(at, (std::vector{25ms, 40ms, 60ms})) << "the interval goes on by itself";
}
TEST_F(AsapScheduler,
       should_not_reuse_the_interval_for_recursively_scheduled_actions_with_a_different_delay) {
  std::vector<std::chrono::milliseconds> at;
  const auto a = s.schedule(
      20ms,
      [&](auto& self, std::chrono::milliseconds next) {
        at.push_back(now());
        self.schedule(next, next + 1ms);
      },
      21ms);
  time.advance(25ms);
  loop.poll();
  pass(50ms);
  EXPECT_EQ(at, (std::vector{25ms, 46ms, 68ms})) << "each counts from the one before";
}
TEST_F(AsapScheduler, should_schedule_an_action_to_happen_later) { happens_later(); }
TEST_F(AsapScheduler,
       should_execute_recursively_scheduled_actions_in_separate_asynchronous_contexts) {
  recursion_takes_separate_turns();
}
TEST_F(AsapScheduler, should_schedule_asap_actions_from_a_delayed_one) { from_a_delayed_one(); }
TEST_F(AsapScheduler,
       should_cancel_the_setImmediate_if_all_scheduled_actions_unsubscribe_before_it_executes) {
  nothing_is_asked_for_if_all_are_cancelled();
}
TEST_F(AsapScheduler,
       should_execute_the_rest_of_the_scheduled_actions_if_the_first_action_is_canceled) {
  the_rest_runs_if_the_first_is_cancelled();
}
TEST_F(AsapScheduler, should_not_execute_rescheduled_actions_when_flushing) {
  rescheduled_ones_are_not_for_this_batch();
}
TEST_F(AsapScheduler, should_execute_actions_scheduled_when_flushing_in_a_subsequent_flush) {
  what_is_scheduled_meanwhile_is_for_the_next_batch();
}
TEST_F(
    AsapScheduler,
    should_execute_actions_scheduled_when_flushing_in_a_subsequent_flush_when_some_actions_are_unsubscribed) {
  and_when_some_are_unsubscribed();
}
TEST_F(AsapScheduler, should_properly_cancel_an_unnecessary_flush) {
  an_unnecessary_flush_is_cancelled();
}
TEST_F(AsapScheduler, scheduling_inside_of_an_executing_action_more_than_once_should_work) {
  s.schedule([&] {
    log += '1';
    s.schedule([&] {
      log += '2';
      s.schedule(says("4"));
      s.schedule(says("5"));
    });
    s.schedule(says("3"));
  });
  loop.poll();
  EXPECT_EQ(log, "12345");
}

TEST_F(AnimationFrameScheduler, should_exist) { EXPECT_EQ(s.now(), time.now()); }
TEST_F(AnimationFrameScheduler, should_act_like_the_async_scheduler_if_delay_greater_than_0) {
  acts_like_async_with_a_delay();
}
TEST_F(AnimationFrameScheduler, should_cancel_animationFrame_actions_when_delay_greater_than_0) {
  cancels_with_a_delay();
}
TEST_F(AnimationFrameScheduler, should_schedule_an_action_to_happen_later) { happens_later(); }
TEST_F(AnimationFrameScheduler,
       should_execute_recursively_scheduled_actions_in_separate_asynchronous_contexts) {
  recursion_takes_separate_turns();
}
TEST_F(AnimationFrameScheduler,
       should_cancel_the_animation_frame_if_all_scheduled_actions_unsubscribe_before_it_executes) {
  nothing_is_asked_for_if_all_are_cancelled();
}
TEST_F(AnimationFrameScheduler,
       should_execute_the_rest_of_the_scheduled_actions_if_the_first_action_is_canceled) {
  the_rest_runs_if_the_first_is_cancelled();
}
TEST_F(AnimationFrameScheduler, should_schedule_next_frame_actions_from_a_delayed_one) {
  from_a_delayed_one();
}
TEST_F(AnimationFrameScheduler, should_schedule_2_actions_for_a_subsequent_frame) {
  s.schedule(says("a"));
  s.schedule(says("b"));
  pass(9ms);
  EXPECT_EQ(log, "");
  pass(1ms);
  EXPECT_EQ(log, "ab");
}
TEST_F(AnimationFrameScheduler, should_handle_delayed_action_without_affecting_next_frame_actions) {
  s.schedule(says("a"));
  s.schedule(5ms, says("delayed"));
  s.schedule(says("b"));
  pass(5ms);
  EXPECT_EQ(log, "delayed");
  pass(5ms);
  EXPECT_EQ(log, "delayedab");
}
TEST_F(AnimationFrameScheduler, should_not_execute_rescheduled_actions_when_flushing) {
  rescheduled_ones_are_not_for_this_batch();
}
TEST_F(AnimationFrameScheduler,
       should_execute_actions_scheduled_when_flushing_in_a_subsequent_flush) {
  what_is_scheduled_meanwhile_is_for_the_next_batch();
}
TEST_F(
    AnimationFrameScheduler,
    should_execute_actions_scheduled_when_flushing_in_a_subsequent_flush_when_some_actions_are_unsubscribed) {
  and_when_some_are_unsubscribed();
}
TEST_F(AnimationFrameScheduler, should_properly_cancel_an_unnecessary_flush) {
  an_unnecessary_flush_is_cancelled();
}

TEST_F(Immediate, should_schedule_on_the_next_microtask) {
  rx::loop_requests immediate{loop.microtasks()};
  loop.execute(says("task "));
  loop.microtasks().execute(says("1 "));
  immediate.set(says("2 "));
  loop.microtasks().execute(says("3 "));
  loop.poll();
  EXPECT_EQ(log, "1 2 3 task ");
}
TEST_F(Immediate, should_cancel_the_task_with_clearImmediate) {
  rx::loop_requests immediate{loop.microtasks()};
  const auto handle = immediate.set(says("2 "));
  immediate.set(says("3 "));
  EXPECT_TRUE(immediate.clear(handle));
  EXPECT_FALSE(immediate.clear(handle));
  loop.poll();
  EXPECT_EQ(log, "3 ");
}
TEST_F(Immediate, should_clear_the_task_after_execution) {
  rx::loop_requests immediate{loop.microtasks()};
  immediate.set([] {});
  const auto second = immediate.set([] {});
  EXPECT_EQ(immediate.pending(), 2U);
  loop.poll();
  EXPECT_EQ(immediate.pending(), 0U);
  EXPECT_FALSE(immediate.clear(second));
}

}  // namespace

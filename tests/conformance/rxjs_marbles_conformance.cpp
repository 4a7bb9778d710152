// RxJS: TestScheduler-spec.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/rx/animation_frame_scheduler.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/loop_requests.hpp>
#include <takt/rx/marble_scheduler.hpp>
#include <takt/rx/marbles.hpp>

namespace {

using namespace std::chrono_literals;
using namespace takt;
using rx::marble;
using rx::marble_kind;
using rx::subscription_times;
using marbles = std::vector<marble>;
using words = std::vector<std::string>;

constexpr rx::marble_syntax plain{.frame = 10ms, .run_mode = false};

struct TestScheduler : testing::Test {
  // Records the notifications of an observable, with their times.
  template <class T>
  void keep(const rx::test_observable<T>& of) {
    kept = of.subscribe({.next = [this](const T& v) { note(v); },
                         .error = [this](const std::exception_ptr&) { note("#"); },
                         .complete = [this] { note("|"); }});
  }
  void note(const std::string& what) {
    log.push_back(what + "@" + std::to_string(test.elapsed() / 1ms));
  }
  auto notes(std::string what) {
    return [this, what = std::move(what)] { note(what); };
  }
  // Converts one action of a scheduler to an observable.
  static rx::test_observable<std::string> one(rx::action_scheduler& on, std::string what,
                                              std::chrono::milliseconds after = 0ms) {
    return rx::test_observable<std::string>([&on, what, after](const auto& to) {
      to.subscription().add(on.schedule(after, [to, what] {
        to.next(what);
        to.complete();
      }));
    });
  }

  rx::marble_scheduler test;
  rx::subscription kept;
  words log;
};

TEST_F(TestScheduler, should_exist) { EXPECT_EQ(test.elapsed(), 0ms); }
TEST_F(TestScheduler, should_have_frameTimeFactor_set_initially) {
  EXPECT_EQ(test.syntax().frame, 10ms);
  EXPECT_EQ(test.max_time(), 750ms);
}

// --- parsing

TEST_F(TestScheduler,
       parseMarbles_should_parse_a_marble_string_into_a_series_of_notifications_and_types) {
  EXPECT_EQ(test.parse<std::string>("-------a---b---|", {{"a", "A"}, {"b", "B"}}, {}),
            (std::vector<rx::marble_message<std::string>>{
                {.time = 70ms, .value = "A"},
                {.time = 110ms, .value = "B"},
                {.time = 150ms, .kind = marble_kind::complete}}));
}
TEST_F(TestScheduler, parseMarbles_should_parse_a_marble_string_allowing_spaces_too) {
  EXPECT_EQ(rx::parse_marbles("--a--b--|   ", plain), (marbles{{20ms, marble_kind::next, "a"},
                                                               {50ms, marble_kind::next, "b"},
                                                               {80ms, marble_kind::complete}}));
}
TEST_F(TestScheduler, parseMarbles_should_parse_a_marble_string_with_a_subscription_point) {
  EXPECT_EQ(rx::parse_marbles("---^---a---b---|", plain),
            (marbles{{40ms, marble_kind::next, "a"},
                     {80ms, marble_kind::next, "b"},
                     {120ms, marble_kind::complete}}));
}
TEST_F(TestScheduler, parseMarbles_should_parse_a_marble_string_with_an_error) {
  const auto error = std::make_exception_ptr(std::runtime_error("omg error!"));
  EXPECT_EQ(test.parse<std::string>("-------a---b---#", {}, error),
            (std::vector<rx::marble_message<std::string>>{
                {.time = 70ms, .value = "a"},
                {.time = 110ms, .value = "b"},
                {.time = 150ms, .kind = marble_kind::error, .error = error}}));
}
TEST_F(TestScheduler,
       parseMarbles_should_default_in_the_letter_for_the_value_if_no_value_hash_was_passed) {
  const auto parsed = test.parse<std::string>("--a--b--", {}, {});
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(parsed[0].value, "a");
  EXPECT_EQ(parsed[1].value, "b");
}
TEST_F(TestScheduler, parseMarbles_should_handle_grouped_values) {
  EXPECT_EQ(rx::parse_marbles("---(abc)---", plain), (marbles{{30ms, marble_kind::next, "a"},
                                                              {30ms, marble_kind::next, "b"},
                                                              {30ms, marble_kind::next, "c"}}));
}
TEST_F(TestScheduler, parseMarbles_should_ignore_whitespace_when_runMode_is_true) {
  EXPECT_EQ(rx::parse_marbles("  -a - b -    c |       "), (marbles{{1ms, marble_kind::next, "a"},
                                                                    {3ms, marble_kind::next, "b"},
                                                                    {5ms, marble_kind::next, "c"},
                                                                    {6ms, marble_kind::complete}}));
}
TEST_F(TestScheduler, parseMarbles_should_support_time_progression_syntax_when_runMode_is_true) {
  EXPECT_EQ(rx::parse_marbles("10.2ms a 1.2s b 1.4m c|"),
            (marbles{{10'200us, marble_kind::next, "a"},
                     {10'200us + 1ms + 1200ms, marble_kind::next, "b"},
                     {10'200us + 2ms + 1200ms + 84s, marble_kind::next, "c"},
                     {10'200us + 3ms + 1200ms + 84s, marble_kind::complete}}));
}
TEST_F(TestScheduler, parseMarbles_should_support_emoji_characters) {
  EXPECT_EQ(rx::parse_marbles("--🙈--🙉--🙊--|"), (marbles{{2ms, marble_kind::next, "🙈"},
                                                           {5ms, marble_kind::next, "🙉"},
                                                           {8ms, marble_kind::next, "🙊"},
                                                           {11ms, marble_kind::complete}}));
}

TEST_F(
    TestScheduler,
    parseMarblesAsSubscriptions_should_parse_a_subscription_marble_string_into_a_subscriptionLog) {
  EXPECT_EQ(rx::parse_subscription_marbles("---^---!-", plain), (subscription_times{30ms, 70ms}));
}
TEST_F(
    TestScheduler,
    parseMarblesAsSubscriptions_should_parse_a_subscription_marble_string_with_an_unsubscription) {
  EXPECT_EQ(rx::parse_subscription_marbles("---^-", plain), (subscription_times{30ms, never}));
}
TEST_F(
    TestScheduler,
    parseMarblesAsSubscriptions_should_parse_a_subscription_marble_string_with_a_synchronous_unsubscription) {
  EXPECT_EQ(rx::parse_subscription_marbles("---(^!)-", plain), (subscription_times{30ms, 30ms}));
}
TEST_F(TestScheduler, parseMarblesAsSubscriptions_should_ignore_whitespace_when_runMode_is_true) {
  EXPECT_EQ(rx::parse_subscription_marbles("  - -  - -  ^ -   - !  -- -      "),
            (subscription_times{4ms, 7ms}));
}
TEST_F(TestScheduler,
       parseMarblesAsSubscriptions_should_support_time_progression_syntax_when_runMode_is_true) {
  EXPECT_EQ(rx::parse_subscription_marbles("10.2ms ^ 1.2s - 1.4m !"),
            (subscription_times{10'200us, 10'200us + 2ms + 1200ms + 84s}));
}
TEST_F(TestScheduler,
       parseMarblesAsSubscriptions_should_throw_if_found_more_than_one_subscription_point) {
  EXPECT_THROW(static_cast<void>(rx::parse_subscription_marbles("---^-^-!-")),
               std::invalid_argument);
}
TEST_F(TestScheduler,
       parseMarblesAsSubscriptions_should_throw_if_found_more_than_one_unsubscription_point) {
  EXPECT_THROW(static_cast<void>(rx::parse_subscription_marbles("---^---!-!")),
               std::invalid_argument);
}

TEST_F(TestScheduler, createTime_should_parse_a_simple_time_marble_string_to_a_number) {
  EXPECT_EQ(test.time("-----|"), 50ms);
}
TEST_F(TestScheduler, createTime_should_progress_time_with_whitespace) {
  EXPECT_EQ(test.time("     |"), 50ms);
}
TEST_F(TestScheduler, createTime_should_progress_time_with_mix_of_whitespace_and_dashes) {
  EXPECT_EQ(test.time("  --|"), 40ms);
}
TEST_F(TestScheduler, createTime_should_throw_if_not_given_good_marble_input) {
  EXPECT_THROW(static_cast<void>(test.time("-a-b-#")), std::invalid_argument);
}
TEST_F(TestScheduler, time_should_exist) { EXPECT_EQ(test.time("|"), 0ms); }
TEST_F(TestScheduler, time_should_parse_a_simple_time_marble_string_to_a_number) {
  EXPECT_EQ(test.time("-----|"), 50ms);
}
TEST_F(TestScheduler, time_should_parse_a_simple_time_marble_string_to_a_number_2) {
  test.run([&] { EXPECT_EQ(test.time("-----|"), 5ms); });
}
TEST_F(TestScheduler, time_should_ignore_whitespace) {
  test.run([&] { EXPECT_EQ(test.time("  -----|"), 5ms); });
}
TEST_F(TestScheduler, time_should_throw_if_not_given_good_marble_input) {
  test.run([&] { EXPECT_THROW(static_cast<void>(test.time("-a-b-#")), std::invalid_argument); });
}

// --- observables

TEST_F(TestScheduler, createColdObservable_should_create_a_cold_observable) {
  const auto cold = test.cold("--a---b--|", {{"a", "A"}, {"b", "B"}});
  keep(cold);
  test.flush();
  EXPECT_EQ(log, (words{"A@20", "B@60", "|@90"}));
}
TEST_F(TestScheduler, createHotObservable_should_create_a_hot_observable) {
  const auto hot = test.hot("--a---b--|", {{"a", "A"}, {"b", "B"}});
  keep(hot);
  test.flush();
  EXPECT_EQ(log, (words{"A@20", "B@60", "|@90"}));
}
TEST_F(TestScheduler, rxTestScheduler_should_exist) { EXPECT_EQ(test.loop().now(), test.now()); }
TEST_F(TestScheduler, cold_should_exist) {
  EXPECT_THROW(test.cold("-^-a"), std::invalid_argument);
  EXPECT_THROW(test.cold("-!-a"), std::invalid_argument);
}
TEST_F(TestScheduler, cold_should_create_a_cold_observable) {
  const auto cold = test.cold("--a--");
  test.schedule(10ms, [&] { keep(cold); });
  test.flush();
  EXPECT_EQ(log, words{"a@30"});
}
TEST_F(TestScheduler, hot_should_exist) { EXPECT_THROW(test.hot("-!-a"), std::invalid_argument); }
TEST_F(TestScheduler, hot_should_create_a_hot_observable) {
  const auto hot = test.hot("a-b^-c");
  test.schedule(10ms, [&] { keep(hot); });
  test.flush();
  EXPECT_EQ(log, words{"c@20"});
}

// --- expectations

TEST_F(TestScheduler, expectObservable_should_exist) {
  EXPECT_NO_THROW(test.expect(test.cold("|")));
}
TEST_F(TestScheduler, expectObservable_should_return_an_object_with_a_toBe_function) {
  test.expect(test.cold("|")).to_be("|");
  EXPECT_NO_THROW(test.flush());
}
TEST_F(TestScheduler, expectObservable_should_append_to_flushTests_array) {
  test.expect(test.cold("|")).to_be("-|");
  EXPECT_THROW(test.flush(), rx::marble_mismatch);
  EXPECT_NO_THROW(test.flush()) << "each is looked at once";
}
TEST_F(TestScheduler, expectObservable_should_handle_empty) {
  test.expect(test.cold("|")).to_be("|", {});
  test.flush();
}
TEST_F(TestScheduler, expectObservable_should_handle_never) {
  test.expect(test.cold("-")).to_be("-", {});
  test.expect(test.cold("-")).to_be("---", {});
  test.flush();
}
TEST_F(TestScheduler, expectObservable_should_accept_an_unsubscription_marble_diagram) {
  test.expect(test.hot("---^-a-b-|"), "---!").to_be("--a");
  test.flush();
}
TEST_F(TestScheduler, expectObservable_should_accept_a_subscription_marble_diagram) {
  test.expect(test.hot("-a-b-c|"), "---^").to_be("---b-c|");
  test.flush();
}
TEST_F(TestScheduler, expectSubscriptions_should_exist) {
  EXPECT_NO_THROW(test.expect_subscriptions(test.cold("|")));
}
TEST_F(TestScheduler, expectSubscriptions_should_return_an_object_with_a_toBe_function) {
  test.expect_subscriptions(test.cold("|")).to_be(words{});
  test.flush();
}
TEST_F(TestScheduler, expectSubscriptions_should_append_to_flushTests_array) {
  test.expect_subscriptions(test.cold("|")).to_be("^!");
  EXPECT_THROW(test.flush(), rx::marble_mismatch);
}
TEST_F(TestScheduler, expectSubscriptions_should_assert_subscriptions_of_a_cold_observable) {
  const auto cold = test.cold("---a---b-|");
  test.expect_subscriptions(cold).to_be("^--------!");
  test.expect(cold).to_be("---a---b-|");
  test.flush();
}
TEST_F(TestScheduler, expectSubscriptions_should_support_empty_subscription_marbles) {
  test.expect_subscriptions(test.cold("---a---b-|")).to_be("----");
  test.flush();
}
TEST_F(TestScheduler, expectSubscriptions_should_support_empty_subscription_marbles_within_arrays) {
  test.expect_subscriptions(test.cold("---a---b-|")).to_be(words{"----"});
  test.flush();
}
TEST_F(TestScheduler, end_to_end_helper_tests_should_be_awesome) {
  const rx::marble_values<int> values{{"a", 1}, {"b", 2}};
  const auto hot = test.hot<int>("---^----a-----b-----|", values);
  test.expect(hot).to_be("-----a-----b-----|", values);
  test.flush();
}
TEST_F(TestScheduler, end_to_end_helper_tests_should_support_testing_metastreams) {
  using inner = rx::marble_observable<std::string>;
  const auto outer =
      test.hot<inner>("---x---y----|", {{"x", test.cold("-a-b|")}, {"y", test.cold("-c-d|")}});
  test.expect(outer).to_be("---x---y----|", {{"x", test.cold("-a-b|")}, {"y", test.cold("-c-d|")}});
  test.flush();
  test.expect(test.hot<inner>("---x", {{"x", test.cold("-a-b|")}}))
      .to_be("---x", {{"x", test.cold("-a-c|")}});
  EXPECT_THROW(test.flush(), rx::marble_mismatch);
}

// --- run()

TEST_F(TestScheduler, marble_diagrams_should_ignore_whitespace) {
  test.run(
      [&] { test.expect(test.cold("  -a - b -    c |       ")).to_be("   -   a   -   b-c|"); });
}
TEST_F(TestScheduler, marble_diagrams_should_support_time_progression_syntax) {
  test.run([&] {
    test.expect(test.cold("10.2ms a 1.2s b 1.4m c|")).to_be("   10.2ms a 1.2s b 1.4m c|");
  });
}
TEST_F(TestScheduler, marble_diagrams_should_provide_the_correct_helpers) {
  test.run([&](rx::marble_scheduler& t) {
    EXPECT_EQ(&t, &test);
    const auto hot = t.hot("-a-|");
    const auto cold = t.cold("-b-|");
    t.expect(hot).to_be("-a-|");
    t.expect(cold).to_be("-b-|");
    t.expect(cold).to_equal(t.cold("-b-|"));
    t.expect_subscriptions(cold).to_be(words{"^--!", "^--!"});
  });
}
TEST_F(TestScheduler,
       marble_diagrams_should_have_each_frame_represent_a_single_virtual_millisecond) {
  test.run([&] {
    keep(test.cold("-a-b|"));
    test.flush();
    EXPECT_EQ(log, (words{"a@1", "b@3", "|@4"}));
  });
}
TEST_F(TestScheduler, marble_diagrams_should_have_no_maximum_frame_count) {
  test.run([&] { test.expect(test.cold("1000s (a|)")).to_be("1000s (a|)"); });
}
TEST_F(
    TestScheduler,
    marble_diagrams_should_make_operators_that_use_AsyncScheduler_automatically_use_TestScheduler_for_actual_scheduling) {
  rx::async_scheduler async{test.loop()};
  test.run([&] { test.expect(one(async, "a", 100ms)).to_be("100ms (a|)"); });
}
TEST_F(TestScheduler, marble_diagrams_should_flush_automatically) {
  EXPECT_THROW(test.run([&] { test.expect(test.cold("-x")).to_be("-y"); }), rx::marble_mismatch);
}
TEST_F(TestScheduler, marble_diagrams_should_support_explicit_flushing) {
  test.run([&] {
    const auto cold = test.cold("-x|");
    test.expect(cold).to_be("-x|");
    test.expect_subscriptions(cold).to_be("^-!");
    test.flush();
    EXPECT_EQ(test.elapsed(), 2ms);
  });
}
TEST_F(TestScheduler, marble_diagrams_should_pass_through_return_values_e_g_Promises) {
  EXPECT_EQ(*test.run([] { return std::make_unique<int>(42); }), 42);
}
TEST_F(TestScheduler, marble_diagrams_should_restore_changes_upon_thrown_errors) {
  EXPECT_THROW(test.run([] { throw std::runtime_error("kaboom!"); }), std::runtime_error);
  EXPECT_EQ(test.syntax().frame, 10ms);
  EXPECT_FALSE(test.syntax().run_mode);
  EXPECT_EQ(test.max_time(), 750ms);
}
TEST_F(TestScheduler, marble_diagrams_should_flush_expectations_correctly) {
  EXPECT_THROW(test.run([&] {
    test.expect(test.cold("-x")).to_be("-x");
    test.expect(test.cold("-y")).to_be("-y");
    test.expect(test.cold("-z")).to_be("-q");
    test.flush();
  }),
               rx::marble_mismatch);
}

TEST_F(TestScheduler, animate_should_throw_if_animate_is_not_called_when_needed) {
  rx::animation_frame_scheduler frames{test.loop()};
  EXPECT_THROW(test.run([&] { frames.schedule([] {}); }), std::logic_error);
}
TEST_F(TestScheduler, animate_should_throw_if_animate_is_called_more_than_once) {
  EXPECT_THROW(test.run([&] {
    test.animate("--x");
    test.animate("--x");
  }),
               std::logic_error);
}
TEST_F(TestScheduler, animate_should_throw_if_animate_completes) {
  EXPECT_THROW(test.run([&] { test.animate("--|"); }), std::invalid_argument);
}
TEST_F(TestScheduler, animate_should_throw_if_animate_errors) {
  EXPECT_THROW(test.run([&] { test.animate("--#"); }), std::invalid_argument);
}
TEST_F(TestScheduler, animate_should_schedule_async_requests_within_animate) {
  rx::animation_frame_scheduler frames{test.loop()};
  test.run([&] {
    test.animate("--x");
    test.schedule(1ms, [&] { frames.schedule(notes("frame")); });
  });
  EXPECT_EQ(log, words{"frame@2"});
}
TEST_F(TestScheduler, animate_should_schedule_sync_requests_within_animate) {
  rx::animation_frame_scheduler frames{test.loop()};
  test.run([&] {
    test.animate("--x-y");
    frames.schedule([&] {
      note("frame");
      frames.schedule(notes("next"));
    });
  });
  EXPECT_EQ(log, (words{"frame@2", "next@4"}));
}
TEST_F(TestScheduler, animate_should_support_request_cancellation_within_animate) {
  rx::loop_requests frames{test.loop().frames()};
  test.run([&] {
    test.animate("--x");
    const auto handle = frames.set(notes("cancelled"));
    frames.set(notes("frame"));
    EXPECT_TRUE(frames.clear(handle));
  });
  EXPECT_EQ(log, words{"frame@2"});
}

TEST_F(TestScheduler, immediate_and_interval_should_schedule_immediates) {
  rx::loop_requests immediate{test.loop().microtasks()};
  test.run([&] { immediate.set(notes("immediate")); });
  EXPECT_EQ(log, words{"immediate@0"});
}
TEST_F(TestScheduler, immediate_and_interval_should_support_clearing_immediates) {
  rx::loop_requests immediate{test.loop().microtasks()};
  test.run([&] {
    const auto handle = immediate.set(notes("immediate"));
    EXPECT_TRUE(immediate.clear(handle));
  });
  EXPECT_TRUE(log.empty());
}
TEST_F(TestScheduler, immediate_and_interval_should_schedule_intervals) {
  test.run([&] {
    const auto series = test.loop().schedule_at_fixed_rate(2ms, 2ms, [&] {
      note("interval");
      throw cancelled();
    });
  });
  EXPECT_EQ(log, words{"interval@2"});
}
TEST_F(TestScheduler, immediate_and_interval_should_reschedule_intervals_until_cleared) {
  test.run([&] {
    const auto series = test.loop().schedule_at_fixed_rate(2ms, 2ms, [&] {
      note("interval");
      if (log.size() == 3) throw cancelled();
    });
  });
  EXPECT_EQ(log, (words{"interval@2", "interval@4", "interval@6"}));
}
TEST_F(TestScheduler, immediate_and_interval_should_schedule_timeouts) {
  test.run([&] { test.loop().execute(2ms, notes("timeout")); });
  EXPECT_EQ(log, words{"timeout@2"});
}
TEST_F(TestScheduler,
       immediate_and_interval_should_schedule_immediates_before_intervals_and_timeouts) {
  rx::async_scheduler async{test.loop()};
  rx::loop_requests immediate{test.loop().microtasks()};
  test.run([&] {
    test.loop().execute(0ms, notes("timeout"));
    async.schedule(0ms, notes("interval"));
    immediate.set(notes("immediate"));
  });
  EXPECT_EQ(log, (words{"immediate@0", "interval@0", "timeout@0"}));
}

TEST_F(TestScheduler, schedulers_should_support_animationFrame_async_and_asap_schedulers) {
  rx::animation_frame_scheduler frames{test.loop()};
  rx::async_scheduler async{test.loop()};
  rx::asap_scheduler asap{test.loop()};
  test.run([&] {
    test.animate("         --x");
    test.expect(one(frames, "a")).to_be("--(a|)");
    test.expect(one(async, "b", 2ms)).to_be("--(b|)");
    test.expect(one(asap, "c")).to_be("(c|)");
  });
}
TEST_F(TestScheduler, schedulers_should_emit_asap_notifications_before_async_notifications) {
  rx::async_scheduler async{test.loop()};
  rx::asap_scheduler asap{test.loop()};
  test.run([&] {
    keep(one(async, "async"));
    one(asap, "asap").subscribe({.next = [&](const std::string& s) { note(s); }});
  });
  EXPECT_EQ(log, (words{"asap@0", "async@0", "|@0"}));
}
TEST_F(TestScheduler, schedulers_should_support_intervals_with_zero_duration) {
  rx::async_scheduler async{test.loop()};
  test.run([&] {
    async.schedule(
        0ms,
        [&](auto& self, int n) {
          note(std::to_string(n));
          if (n < 2) self.schedule(0ms, n + 1);
        },
        0);
  });
  EXPECT_EQ(log, (words{"0@0", "1@0", "2@0"}));
}

}  // namespace

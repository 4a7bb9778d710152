#include <takt/rx/marble_scheduler.hpp>

#include <chrono>
#include <clocale>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/marbles.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/errors.hpp>

namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;
using namespace takt;

TEST(marble_scheduler, draws_what_happens) {
  rx::marble_scheduler test;
  test.run([&] {
    auto source = test.hot("-a-b-c---|");
    test.expect(source).to_be("-a-b-c---|");
    auto cold = test.cold<int>("--x-y-#", {{"x", 1}, {"y", 2}});
    test.expect(cold, "-^").to_be("---x-y-#", {{"x", 1}, {"y", 2}});
    test.expect_subscriptions(cold).to_be("-^-----!");
  });
}

TEST(marble_scheduler, a_hot_one_tells_its_end_to_who_comes_later) {
  rx::marble_scheduler test;
  test.run([&] {
    const auto ended = test.hot("-a|b");
    test.expect(ended, "---^").to_be("---|");
    test.expect_subscriptions(ended).to_be("---(^!)");
    test.expect(test.hot("-#-|"), "----^").to_be("----#");
  });
}

TEST(marble_scheduler, a_task_of_the_loop_may_flush_while_a_timer_waits) {
  rx::marble_scheduler test;
  std::string log;
  test.loop().execute(1s, [&] { log += "timer"; });
  test.flush();  // up to 750 ms
  test.set_max_time(2s);
  test.loop().execute([&] {
    test.flush();
    log += "task ";
  });
  test.flush();
  EXPECT_EQ(log, "task timer");
}

TEST(marble_scheduler, says_what_is_different) {
  rx::marble_scheduler test;
  try {
    test.run([&] { test.expect(test.cold("-a-(bc)- 100ms |")).to_be("-a-b-|"); });
    FAIL();
  } catch (const rx::marble_mismatch& e) {
    EXPECT_STREQ(e.what(),
                 "takt::rx::marble_scheduler:\nexpected -a-b-|\n but was -a-(bc) 101ms |");
  }
}

TEST(marble_scheduler, reports_instead_of_throwing) {
  std::vector<std::string> said;
  rx::marble_scheduler test{{.report = [&](const std::string& what) { said.push_back(what); }}};
  test.run([&] {
    const auto source = test.cold("-a|");
    test.expect(source).to_be("-b|");
    test.expect_subscriptions(source).to_be("^--!");
    test.expect(source).to_be("-a|");
  });
  EXPECT_EQ(said, (std::vector<std::string>{
                      "expected -b|\n but was -a|",
                      "expected the subscriptions [^--!]\n but they were [^-!, ^-!]"}));
}

TEST(marble_scheduler, errors_are_compared_by_type_and_text) {
  rx::marble_scheduler test;
  const auto one = std::make_exception_ptr(std::runtime_error("one"));
  test.run([&] {
    const auto source = test.cold("-#", {}, one);
    test.expect(source).to_be("-#", {}, std::make_exception_ptr(std::runtime_error("one")));
  });
  for (const std::exception_ptr& other :
       {std::make_exception_ptr(std::runtime_error("two")),
        std::make_exception_ptr(std::logic_error("one")), std::make_exception_ptr(1)}) {
    EXPECT_THROW(test.run([&] { test.expect(test.cold("-#", {}, one)).to_be("-#", {}, other); }),
                 rx::marble_mismatch);
  }
}

TEST(marble_scheduler, a_value_that_is_missing_is_an_error) {
  rx::marble_scheduler test;
  EXPECT_THROW(test.cold<int>("-a-b", {{"a", 1}}), std::invalid_argument);
}

TEST(marble_scheduler, what_a_task_of_the_loop_throws_leaves_flush) {
  rx::marble_scheduler test;
  std::string log;
  test.loop().execute(5ms, [] { throw std::runtime_error("bad"); });
  EXPECT_THROW(test.flush(), std::runtime_error);
  EXPECT_EQ(test.elapsed(), 5ms);
  test.loop().execute(5ms, [&] { log += "goes on"; });
  test.flush();
  EXPECT_EQ(log, "goes on");
}

TEST(marble_scheduler, timers_and_marbles_run_in_the_order_in_which_they_were_asked_for) {
  rx::marble_scheduler test;
  std::string log;
  test.run([&] {
    test.schedule(1ms, [&] {
      test.loop().execute(4ms, [&] { log += "timer "; });
      test.loop().microtasks().execute([&] { log += "microtask "; });
    });
    test.schedule(2ms, [&] { test.schedule(3ms, [&] { log += "marble "; }); });
    test.schedule(5ms, [&] { log += "first "; });
  });
  EXPECT_EQ(log, "microtask first timer marble ");
}

// The order of events at one time: actions are intervals, tasks of the loop are time-outs.
struct one_moment : testing::Test {
  auto notes(std::string what) {
    return [this, what = std::move(what)] { log += what + " "; };
  }
  std::string log;
  rx::marble_scheduler test;
  rx::async_scheduler async{test.loop()};
  rx::asap_scheduler asap{test.loop()};
};

TEST_F(one_moment, has_immediates_then_intervals_then_time_outs) {
  test.run([&] {
    test.loop().execute(2ms, notes("time-out"));
    async.schedule(2ms, [&] {
      log += "interval ";
      asap.schedule(notes("immediate"));
    });
    test.loop().execute(1ms, [&] { async.schedule(1ms, notes("later")); });
  });
  EXPECT_EQ(log, "interval immediate later time-out ");
}

TEST_F(one_moment, what_a_time_out_schedules_goes_before_the_next_one) {
  test.run([&] {
    test.loop().execute(2ms, [&] {
      log += "first ";
      async.schedule(0ms, notes("interval"));
    });
    test.loop().execute(2ms, notes("second"));
  });
  EXPECT_EQ(log, "first interval second ");
}

TEST_F(one_moment, an_interval_goes_first_each_time_and_keeps_its_grid) {
  test.run([&] {
    for (const auto at : {2ms, 4ms, 6ms}) test.loop().execute(at, notes("time-out"));
    async.schedule(
        2ms,
        [&](auto& self, int n) {
          EXPECT_EQ(test.elapsed(), n * 2ms);
          log += "interval ";
          if (n < 3) self.schedule(2ms, n + 1);
        },
        1);
  });
  EXPECT_EQ(log, "interval time-out interval time-out interval time-out ");
}

TEST_F(one_moment, an_earlier_one_goes_first_whatever_it_is) {
  test.run([&] {
    async.schedule(2ms, notes("interval"));
    test.loop().execute(2ms - 1ns, notes("time-out"));
  });
  EXPECT_EQ(log, "time-out interval ");
}

TEST_F(one_moment, an_interval_may_cancel_what_is_due_with_it) {
  test.run([&] {
    const timer_handle cancelled = test.loop().execute(2ms, notes("cancelled"));
    async.schedule(2ms, [&, cancelled] {
      EXPECT_EQ(cancelled.cancel(), cancel_result::prevented);
      log += "interval ";
    });
    const rx::action<void> taken_back = async.schedule(2ms, notes("taken back"));
    async.schedule(1ms, [taken_back] { taken_back.unsubscribe(); });
    test.loop().execute(2ms, notes("time-out"));
  });
  EXPECT_EQ(log, "interval time-out ");
}

TEST_F(one_moment, goes_on_in_its_order_after_an_error) {
  test.loop().execute(2ms, notes("time-out"));
  async.schedule(2ms, [] { throw std::runtime_error("planned"); });
  async.schedule(2ms, notes("interval"));
  EXPECT_THROW(test.flush(), std::runtime_error);
  test.flush();
  EXPECT_EQ(log, "interval time-out ");
}

TEST(marble_scheduler, a_timer_that_was_cancelled_wakes_nobody) {
  rx::marble_scheduler test;
  test.run([&] {
    const auto t = test.loop().execute(5ms, [] {});
    test.schedule(1ms, [t] { t.cancel(); });
  });
  EXPECT_EQ(test.elapsed(), 1ms);
}

TEST(marble_scheduler, a_task_of_the_loop_may_flush) {
  rx::marble_scheduler test;
  std::string log;
  test.run([&] {
    test.schedule(5ms, [&] { log += "marble "; });
    test.loop().execute(1ms, [&] {
      test.flush();
      log += "flushed ";
    });
  });
  EXPECT_EQ(log, "marble flushed ");
}

// --- printing

TEST(marbles, are_printed_as_they_are_read) {
  for (const std::string diagram : {"", "a", "|", "-a-b-|", "(ab)-c|", "---(a#)", "10ms a 999ms b|",
                                    "-a 1500.5ms b", "(🙈🙉)--|"}) {
    EXPECT_EQ(rx::print_marbles(rx::parse_marbles(diagram)), diagram);
  }
  EXPECT_EQ(rx::print_marbles(rx::parse_marbles(" a - 1s b")), "a 1001ms b");
}

TEST(marbles, what_cannot_be_drawn_is_a_list) {
  EXPECT_EQ(rx::print_marbles(rx::parse_marbles("a^b")), "a@-1ms b@1ms");
  const std::vector<rx::marble> overlap{{0ms, rx::marble_kind::next, "a"},
                                        {0ms, rx::marble_kind::next, "b"},
                                        {1500us, rx::marble_kind::complete}};
  EXPECT_EQ(rx::print_marbles(overlap), "a@0ms b@0ms |@1.5ms");
  const std::vector<rx::marble> digits{{10ms, rx::marble_kind::next, "1"},
                                       {11ms, rx::marble_kind::next, "s"},
                                       {30ms, rx::marble_kind::complete}};
  EXPECT_EQ(rx::print_marbles(digits), "1@10ms s@11ms |@30ms") << "it would be a second";
  const std::vector<rx::marble> sign{{0ms, rx::marble_kind::next, "!"}};
  EXPECT_EQ(rx::print_marbles(sign), "!@0ms");
}

TEST(marbles, subscriptions_are_printed) {
  for (const std::string diagram : {"", "^", "-^--!", "--(^!)", "^ 20ms !", "!", "-!--^"}) {
    EXPECT_EQ(rx::print_marbles(rx::parse_subscription_marbles(diagram)), diagram);
  }
}

TEST(marbles, that_last_too_long_are_refused) {
  const auto refusal = [](const std::string& diagram, const rx::marble_syntax& how = {}) {
    try {
      static_cast<void>(rx::parse_marbles(diagram, how));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal("52000000m a"), "none");
  const std::string longer = "it is longer than a hundred years";
  for (const std::string diagram :
       {"99999999999s a", "52000000m 52000000m a", "1e 9999999999999999s "}) {
    EXPECT_THAT(refusal(diagram), HasSubstr(longer));
  }
  EXPECT_THAT(refusal("ab", {.frame = std::chrono::hours(24 * 365 * 60)}), HasSubstr(longer));
  EXPECT_THAT(refusal("a", {.frame = -1ms}), HasSubstr("a frame cannot last -1ms"));
}

TEST(marbles, times_may_have_any_number_of_digits) {
  const std::string zeros(400, '0');
  const auto at = [](const std::string& count) { return rx::parse_marble_time(count + "ms |"); };
  EXPECT_EQ(at("0." + zeros + "1"), 0ms);
  EXPECT_EQ(at(zeros + "." + zeros + "1"), 0ms);
  EXPECT_EQ(at(zeros + "2.5" + zeros), 2500us);
  EXPECT_EQ(at("1." + zeros + "1"), 1ms);
  EXPECT_THROW(static_cast<void>(at("1" + zeros)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(at("1" + zeros + "." + zeros + "1")), std::invalid_argument);
}

TEST(marbles, that_are_wrong_are_refused_with_the_place) {
  const auto refusal = [](const auto& parse, const std::string& diagram) {
    try {
      static_cast<void>(parse(diagram, rx::marble_syntax{}));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal(rx::parse_marbles, "-(ab"),
            "takt::rx marbles '-(ab': there is no ')' for the '(' at 2");
  EXPECT_EQ(refusal(rx::parse_marbles, "-🙈)-"),
            "takt::rx marbles '-🙈)-': there is no '(' for the ')' at 3");
  EXPECT_EQ(refusal(rx::parse_marbles, "(a(b))"),
            "takt::rx marbles '(a(b))': there is '(' at 3 within a group");
  EXPECT_EQ(refusal(rx::parse_marbles, "-a!"),
            "takt::rx marbles '-a!': the unsubscription marker '!' at 3 is for diagrams of "
            "subscriptions");
  EXPECT_EQ(refusal(rx::parse_subscription_marbles, "-(^!"),
            "takt::rx marbles '-(^!': there is no ')' for the '(' at 2");
  EXPECT_EQ(refusal(rx::parse_subscription_marbles, "^-a"),
            "takt::rx marbles '^-a': there can only be '^' and '!' in a subscription, found 'a' at "
            "3");
  EXPECT_EQ(refusal(rx::parse_subscription_marbles, "^-^"),
            "takt::rx marbles '^-^': there can only be one '^', found '^' at 3");
  EXPECT_EQ(refusal(rx::parse_marble_time, "--(|"),
            "takt::rx marbles '--(|': there is no ')' for the '(' at 3");
  EXPECT_EQ(rx::parse_marble_time("--|-|"), 2ms);
}

TEST(marbles, times_have_a_point_in_all_locales) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
#if defined(TAKT_TEST_LOCALES)
  setenv("LOCPATH", TAKT_TEST_LOCALES, 1);  // NOLINT(concurrency-mt-unsafe): there is no thread
#endif
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) {
    GTEST_SKIP() << "there is no locale with a comma here";
  }
  const auto read = rx::parse_marbles("1.5ms a");
  std::setlocale(LC_NUMERIC, before.c_str());
  EXPECT_EQ(read, (std::vector<rx::marble>{{1500us, rx::marble_kind::next, "a"}}));
}

TEST(marbles, time_begins_with_the_first_caret) {
  const auto m = rx::parse_marbles("-a^b^c");
  EXPECT_EQ(m, (std::vector<rx::marble>{{-1ms, rx::marble_kind::next, "a"},
                                        {1ms, rx::marble_kind::next, "b"},
                                        {3ms, rx::marble_kind::next, "c"}}));
}

TEST(marbles, digits_are_values_unless_they_are_a_time) {
  EXPECT_EQ(rx::parse_marbles("-10ms").size(), 4U);
  EXPECT_EQ(rx::parse_marbles("10ms").size(), 4U) << "nothing behind it";
  EXPECT_EQ(rx::parse_marbles("10ms |"),
            (std::vector<rx::marble>{{10ms, rx::marble_kind::complete}}));
  EXPECT_THROW(static_cast<void>(rx::parse_marbles("-!")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rx::parse_subscription_marbles("-a")), std::invalid_argument);
}

}  // namespace

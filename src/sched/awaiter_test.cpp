// co_await timers.after(d) when the timer fires, or stop is requested, before await_suspend() has
// returned.
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/task/task.hpp>

#include "../../tests/support/coroutines.hpp"

namespace {

using namespace std::chrono_literals;
using takt_test::detached;

// Passes each task to `run`, within execute().
struct eager_executor {
  std::function<void(takt::task)> run;
  void execute(takt::task t) const { run(std::move(t)); }
};

void run_on_another_thread(takt::task t) {
  takt::sync::thread([&] { t.run(); }).join();
}

// A coroutine that has waited once.
struct waited {
  std::string outcome;
  takt::sync::thread::id on;
};

detached wait_on(takt::wheel_scheduler& wheel, eager_executor& where, waited& w,
                 takt::sync::stop_token stop = {}) {
  try {
    co_await wheel.on(where).after(0s, std::move(stop));
    w.outcome += "arrived";
  } catch (const takt::cancelled&) {
    w.outcome += "cancelled";
  } catch (const std::exception& e) {
    w.outcome += e.what();
  }
  w.on = takt::sync::this_thread_id();
}

class co_await_after_0 : public testing::Test {
 protected:
  takt::manual_clock time;
  takt::wheel_scheduler wheel{{.time = &time}};
  takt::sync::stop_source source;
  waited w;
};

TEST_F(co_await_after_0, resumes_on_the_executor_though_the_task_has_ended_before_it_was_added) {
  eager_executor elsewhere{run_on_another_thread};
  wait_on(wheel, elsewhere, w);
  EXPECT_EQ(w.outcome, "arrived");
  EXPECT_NE(w.on, takt::sync::this_thread_id());
}

TEST_F(co_await_after_0, a_stop_request_before_the_timer_is_armed_waits_at_the_gate) {
  std::optional<takt::task> kept;
  eager_executor keeping{[&](takt::task t) {
    source.request_stop();
    EXPECT_EQ(w.outcome, "") << "it was cancelled while it was being added";
    kept = std::move(t);
  }};
  wait_on(wheel, keeping, w, source.get_token());
  EXPECT_EQ(w.outcome, "cancelled");
  kept->run();
  EXPECT_EQ(w.outcome, "cancelled");
}

TEST_F(co_await_after_0, a_stop_request_before_the_timer_is_armed_comes_too_late) {
  eager_executor elsewhere{[&](takt::task t) {
    source.request_stop();
    run_on_another_thread(std::move(t));
  }};
  wait_on(wheel, elsewhere, w, source.get_token());
  EXPECT_EQ(w.outcome, "arrived");
  EXPECT_NE(w.on, takt::sync::this_thread_id());
}

TEST_F(co_await_after_0, is_not_armed_if_stop_was_requested_before) {
  bool armed = false;
  eager_executor watched{[&](takt::task t) {
    armed = true;
    t.run();
  }};
  source.request_stop();
  wait_on(wheel, watched, w, source.get_token());
  EXPECT_EQ(w.outcome, "cancelled");
  EXPECT_FALSE(armed);
}

TEST_F(co_await_after_0, throws_what_kept_the_timer_from_being_armed) {
  const auto too_far = [](takt::wheel_scheduler& on, waited& out) -> detached {
    eager_executor nowhere{[](takt::task) { FAIL(); }};
    try {
      co_await on.on(nowhere).after(takt::never);
    } catch (const std::invalid_argument&) {
      out.outcome += "too far";
    }
  };
  too_far(wheel, w);
  EXPECT_EQ(w.outcome, "too far");
}

TEST_F(co_await_after_0, resumes_once_if_the_executor_runs_the_task_and_throws) {
  eager_executor broken{[](takt::task t) {
    t.run();
    throw takt::rejected(takt::rejection::saturated);
  }};
  wait_on(wheel, broken, w);
  EXPECT_EQ(w.outcome, "arrived");
}

// The stop callback is gone after the wait, although the awaiter still exists.
TEST_F(co_await_after_0, a_stop_request_after_the_wait_does_nothing) {
  eager_executor here{[](takt::task t) { t.run(); }};
  std::string outcome;
  [](takt::wheel_scheduler& timers, eager_executor& where, takt::sync::stop_source stop,
     std::string& ends) -> detached {
    auto view = timers.on(where);
    auto wait = view.after(0s, stop.get_token());
    co_await wait;
    stop.request_stop();
    ends = "arrived";
  }(wheel, here, source, outcome);
  EXPECT_EQ(outcome, "arrived");
}

// Each wait completes within add(). Unless the executor allowed takt to defer the resumption, the
// coroutine would resume within execute(), and the waits would nest on the stack.
TEST_F(co_await_after_0, a_million_times_on_an_inline_executor_needs_no_stack) {
  constexpr int count = 1'000'000;
  takt::inline_executor here;
  int hops = 0;
  [](takt::wheel_scheduler& timers, takt::inline_executor& where, int& n) -> detached {
    auto view = timers.on(where);
    for (; n < count; ++n) co_await view.after(0s);
  }(wheel, here, hops);
  EXPECT_EQ(hops, count);
}

}  // namespace

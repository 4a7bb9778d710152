// co_await resume_on(): coroutines that continue on an executor.
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/exec/tracking_executor.hpp>

#include "../../tests/support/coroutines.hpp"
#include "../../tests/support/nesting.hpp"
#include "../../tests/support/pools.hpp"

namespace {

using takt::task;
using takt::thread_pool;
using takt::sync::stop_token;
using takt_test::busy;
using takt_test::detached;
using takt_test::drain;
using takt_test::expect_balance;
using takt_test::gate;
using takt_test::owned;
using takt_test::until_stopped;

TEST(resume_on, goes_on_on_the_pool) {
  thread_pool pool{{.core_threads = 1}};
  const auto worker = pool.submit([] { return takt::sync::this_thread_id(); }).get();
  auto before = worker;
  auto after = worker;
  gate ended;
  [](thread_pool& on, auto& first, auto& second, gate& done) -> detached {
    first = takt::sync::this_thread_id();
    co_await takt::resume_on(on, {.name = "hop"});
    second = takt::sync::this_thread_id();
    done.open();
  }(pool, before, after, ended);
  ended.wait();
  EXPECT_EQ(before, takt::sync::this_thread_id());
  EXPECT_EQ(after, worker);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, 2u);
}

// The outcome of co_await, as a word.
owned arrive(thread_pool& pool, std::string& outcome) {
  try {
    co_await takt::resume_on(pool);
    outcome = "arrived";
  } catch (const takt::rejected& r) {
    outcome = to_string(r.reason());
  } catch (const takt::cancelled&) {
    outcome = "cancelled";
  } catch (const takt::broken_promise&) {
    outcome = "broken promise";
  }
}

TEST(resume_on, throws_what_became_of_it) {
  thread_pool pool{{.core_threads = 1, .queue_capacity = 1}};
  busy hold(pool, 1);
  std::string queued;
  std::string refused;
  std::string late;
  const owned first = arrive(pool, queued);
  const owned second = arrive(pool, refused);
  EXPECT_TRUE(second.done());
  EXPECT_EQ(refused, "saturated");
  EXPECT_FALSE(first.done());
  pool.shutdown_and_cancel();
  EXPECT_TRUE(first.done());
  EXPECT_EQ(queued, "cancelled");
  const owned third = arrive(pool, late);
  EXPECT_TRUE(third.done());
  EXPECT_EQ(late, "shut down");
  hold.release();
  pool.await_termination();
  expect_balance(pool);
}

TEST(resume_on, is_cancelled_by_close) {
  thread_pool pool{{.core_threads = 1}};
  gate begun;
  pool.execute([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
  });
  begun.wait();
  std::string outcome;
  const owned waiting = arrive(pool, outcome);
  EXPECT_FALSE(pool.close(takt::cancel_pending));
  EXPECT_TRUE(waiting.done());
  EXPECT_EQ(outcome, "cancelled");
  expect_balance(pool);
}

TEST(resume_on, is_cancelled_and_not_given_back) {
  thread_pool pool{{.core_threads = 1}};
  busy hold(pool, 1);
  std::string outcome;
  const owned waiting = arrive(pool, outcome);
  EXPECT_EQ(pool.shutdown_now().size(), 0u);
  EXPECT_TRUE(waiting.done());
  EXPECT_EQ(outcome, "cancelled");
  hold.release();
  drain(pool);
}

TEST(resume_on, may_be_given_up_with_its_frame) {
  thread_pool pool{{.core_threads = 1}};
  busy hold(pool, 1);
  std::string outcome = "never resumed";
  {
    const owned waiting = arrive(pool, outcome);
  }
  hold.release();
  const auto s = drain(pool);
  EXPECT_EQ(outcome, "never resumed");
  EXPECT_EQ(s.tasks.finished, 2u);
}

// An executor that throws an exception of its own.
struct failing_executor {
  void execute(const task&) { throw std::runtime_error("out of order"); }
};

TEST(resume_on, resumes_once_whatever_execute_throws) {
  failing_executor broken;
  int ends = 0;
  const owned once = [](failing_executor& on, int& count) -> owned {
    try {
      co_await takt::resume_on(on);
    } catch (const std::exception&) {
      ++count;
    }
  }(broken, ends);
  EXPECT_TRUE(once.done());
  EXPECT_EQ(ends, 1);
}

TEST(resume_on, runs_here_if_the_caller_is_to_run_it) {
  thread_pool pool{
      {.core_threads = 1, .queue_capacity = 0, .rejection = takt::rejection_policy::caller_runs()}};
  busy hold(pool, 1);
  std::string outcome;
  const owned here = arrive(pool, outcome);
  EXPECT_TRUE(here.done());
  EXPECT_EQ(outcome, "arrived");
  hold.release();
  drain(pool);
}

// Runs tasks within execute(), and knows whether one runs.
class guarded_executor {
 public:
  void execute(takt::task t) {
    EXPECT_FALSE(std::exchange(inside_, true));
    t.run();
    inside_ = false;
  }
  [[nodiscard]] bool is_inside() const { return inside_; }

 private:
  bool inside_ = false;
};

TEST(resume_on, resumes_within_execute_however_many_continuations_are_nested) {
  guarded_executor on;
  int resumed = 0;
  const auto hop = [](guarded_executor& to, int& count) -> detached {
    co_await takt::resume_on(to);
    EXPECT_TRUE(to.is_inside());
    ++count;
  };
  hop(on, resumed);
  takt_test::fully_nested([&] { hop(on, resumed); });
  takt_test::fully_nested([&] { hop(on, resumed); });
  EXPECT_EQ(resumed, 3);
}

// Each hop runs within execute(), on the thread of the coroutine. Without a bound on the nesting
// the stack would overflow.
template <class Executor>
void expect_bounded_stack(Executor& on) {
  constexpr int hops = 1'000'000;
  int arrived = 0;
  [](Executor& to, int& count) -> detached {
    for (int i = 0; i < hops; ++i) {
      co_await takt::resume_on(to);
      ++count;
    }
  }(on, arrived);
  EXPECT_EQ(arrived, hops);
}

TEST(resume_on, a_million_hops_that_the_caller_runs_need_little_stack) {
  const auto with = [](takt::rejection_policy policy) {
    return takt::thread_pool_options{
        .core_threads = 1, .queue_capacity = 0, .rejection = std::move(policy)};
  };
  thread_pool caller_runs{with(takt::rejection_policy::caller_runs())};
  busy hold(caller_runs, 1);
  expect_bounded_stack(caller_runs);
  hold.release();

  thread_pool calls{with(takt::rejection_policy::call([](task t, takt::rejection) { t.run(); }))};
  busy hold_too(calls, 1);
  expect_bounded_stack(calls);
  hold_too.release();

  takt::inline_executor here;
  takt::tracking_executor tracked(here);
  expect_bounded_stack(tracked);
}

TEST(resume_on, runs_deferred_continuations_outside_of_an_executor_that_runs_tasks) {
  guarded_executor on;
  bool arrived = false;
  takt_test::fully_nested([&] {
    takt::promise<void> p;
    auto deferred = p.get_future().then([&] { on.execute(task([] {})); });  // must not be inside
    p.set_value();
    [](guarded_executor& to, bool& there) -> detached {
      co_await takt::resume_on(to);
      takt_test::fully_nested([] {});  // runs what is deferred
      there = true;
    }(on, arrived);
  });
  EXPECT_TRUE(arrived);
}

// Results that the coroutine delivers are not deferred, however deep the continuation was in which
// it awaited the executor.
TEST(resume_on, a_resumed_coroutine_begins_at_depth_0) {
  guarded_executor on;
  bool called = false;
  takt_test::fully_nested([&] {
    [](guarded_executor& to, bool& there) -> detached {
      co_await takt::resume_on(to);
      takt::promise<void> p;
      auto next = p.get_future().then([&] { there = true; });
      p.set_value();
      EXPECT_TRUE(there);
    }(on, called);
  });
  EXPECT_TRUE(called);
}

TEST(resume_on, an_any_executor_knows_whether_resumption_may_be_deferred) {
  guarded_executor on;
  takt::inline_executor here;
  EXPECT_FALSE(takt::any_executor(on).defers_resumption());
  EXPECT_TRUE(takt::any_executor(here).defers_resumption());
  EXPECT_TRUE(takt::any_executor(takt::inline_executor()).defers_resumption());
  bool resumed = false;
  takt_test::fully_nested([&] {
    [](takt::any_executor to, guarded_executor& inner, bool& done) -> detached {
      co_await takt::resume_on(to);
      done = inner.is_inside();
    }(on, on, resumed);
  });
  EXPECT_TRUE(resumed);
}

}  // namespace

// co_await schedule(): coroutines that go on on an executor.
#include <exception>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../../tests/support/coroutines.hpp"
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

// What becomes of co_await, in a word.
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

// An executor that fails in its own way.
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

}  // namespace

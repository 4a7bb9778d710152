// java.util.concurrent's FutureTaskTest and its regression programs, with their names.
#include <chrono>
#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/task/future_task.hpp>

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::future;
using takt::future_task;
using takt::parker;
using takt::promise;
using takt::sync::stop_token;
using takt::sync::thread;
using time_point = takt::clock::time_point;

// A task in the middle of its body, on its own thread.
class running_task {
 public:
  explicit running_task(std::function<int(stop_token)> end)
      : task_([this, end = std::move(end)](const stop_token& stop) {
          begun_.unpark();
          go_on_.park();
          return end(stop);
        }),
        future(task_.get_future()),
        runner_([this] { task_.run(); }) {
    begun_.park();
  }
  void finish() {
    go_on_.unpark();
    runner_.join();
  }

 private:
  parker begun_;
  parker go_on_;
  future_task<int> task_;

 public:
  takt::future<int> future;

 private:
  thread runner_;
};

TEST(FutureTaskTest, testConstructor) {
  EXPECT_THROW(future_task<int>(std::function<int()>()), std::invalid_argument);
}

TEST(FutureTaskTest, testConstructor2) {
  EXPECT_THROW(future_task<void>(static_cast<void (*)()>(nullptr)), std::invalid_argument);
}

TEST(FutureTaskTest, testIsDone) {
  future_task task([] { return true; });
  EXPECT_FALSE(task.is_ready());
  task.run();
  EXPECT_TRUE(task.is_ready());
  EXPECT_FALSE(task.is_cancelled());
}

TEST(FutureTaskTest, testRunAndReset) {
  int runs = 0;
  future_task task([&] { ++runs; });
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(task.run_and_reset());
    EXPECT_EQ(runs, i);
    EXPECT_FALSE(task.is_ready());
  }
}

TEST(FutureTaskTest, testRunAndResetAfterCancel) {
  int runs = 0;
  future_task task([&] { ++runs; });
  EXPECT_EQ(task.cancel(), cancel_result::prevented);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(task.run_and_reset());
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(task.is_cancelled());
}

TEST(FutureTaskTest, testSet) {
  promise<int> p;
  auto f = p.get_future();
  p.set_value(1);
  EXPECT_EQ(f.get(), 1);
}

TEST(FutureTaskTest, testSetException_get) {
  promise<int> p;
  auto f = p.get_future();
  p.set_exception(std::make_exception_ptr(std::out_of_range("x")));
  EXPECT_TRUE(f.is_ready());
  EXPECT_FALSE(f.is_cancelled());
  EXPECT_THROW(f.get(), std::out_of_range);
}

TEST(FutureTaskTest, testCancelBeforeRun) {
  int runs = 0;
  future_task task([&] { ++runs; });
  auto f = task.get_future();
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  task.run();
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(f.is_ready());
  EXPECT_TRUE(f.is_cancelled());
}

TEST(FutureTaskTest, testCancelBeforeRun2) {
  int runs = 0;
  future_task task([&](const stop_token&) { ++runs; });
  EXPECT_EQ(task.cancel_and_join(), cancel_result::prevented);
  task.run();
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(task.is_cancelled());
}

TEST(FutureTaskTest, testCancelAfterRun) {
  future_task task([] { return 1; });
  auto f = task.get_future();
  task.run();
  EXPECT_EQ(f.cancel(), cancel_result::done);
  EXPECT_FALSE(f.is_cancelled());
  EXPECT_EQ(f.get(), 1);
}

TEST(FutureTaskTest, testCancelAfterRun2) {
  bool stopped = false;
  future_task task([&](const stop_token& stop) { stopped = stop.stop_requested(); });
  auto f = task.get_future();
  task.run();
  EXPECT_EQ(f.cancel_and_join(), cancel_result::done);
  EXPECT_FALSE(f.is_cancelled());
  EXPECT_FALSE(stopped);
}

TEST(FutureTaskTest, testCancelInterrupt) {
  bool stopped = false;
  running_task task([&](const stop_token& stop) {
    stopped = stop.stop_requested();
    return 1;
  });
  EXPECT_EQ(task.future.cancel(), cancel_result::running);
  EXPECT_TRUE(task.future.is_cancelled());
  task.finish();
  EXPECT_TRUE(stopped);
  EXPECT_THROW(task.future.get(), takt::cancelled);
}

TEST(FutureTaskTest, testCancelInterrupt_taskFails) {
  running_task task([](const stop_token& stop) -> int {
    if (stop.stop_requested()) throw std::runtime_error("stopped");
    return 1;
  });
  EXPECT_EQ(task.future.cancel(), cancel_result::running);
  task.finish();
  EXPECT_THROW(task.future.get(), takt::cancelled);
}

TEST(FutureTaskTest, testCancelNoInterrupt) {
  parker begun;
  parker go_on;
  bool finished = false;
  future_task task([&] {  // takes no token: it is not interrupted
    begun.unpark();
    go_on.park();
    finished = true;
  });
  auto f = task.get_future();
  thread runner([&] { task.run(); });
  begun.park();
  EXPECT_EQ(f.cancel(), cancel_result::running);
  go_on.unpark();
  runner.join();
  EXPECT_TRUE(finished);
  EXPECT_TRUE(f.is_cancelled());
}

TEST(FutureTaskTest, testGetRun) {
  future_task task([] { return 2; });
  auto f = task.get_future();
  thread runner([&] { task.run(); });
  EXPECT_EQ(f.get(), 2);
  runner.join();
}

TEST(FutureTaskTest, testGetSet) {
  promise<int> p;
  auto f = p.get_future();
  thread setter([&] { p.set_value(2); });
  EXPECT_EQ(f.get(), 2);
  setter.join();
}

// A waiter with a time-out far away, and a cancellation by another thread.
void cancel_during_timed_wait(bool with_token) {
  takt::manual_clock time;
  future_task task([] { return 1; }, {.time = &time});
  auto f = task.get_future();
  takt::sync::stop_source never;
  thread waiter([&] {
    const stop_token stop = with_token ? never.get_token() : stop_token();
    EXPECT_TRUE(f.wait_for(1h, stop));
    EXPECT_THROW(f.get(), takt::cancelled);
  });
  time.wait_for_waiters(1);
  EXPECT_EQ(task.cancel(), cancel_result::prevented);
  waiter.join();
}

TEST(FutureTaskTest, testTimedGet_Cancellation) { cancel_during_timed_wait(false); }

TEST(FutureTaskTest, testTimedGet_Cancellation_interrupt) { cancel_during_timed_wait(true); }

TEST(FutureTaskTest, testGet_ExecutionException) {
  future_task task([]() -> int { throw std::domain_error("x"); });
  auto f = task.get_future();
  task.run();
  EXPECT_TRUE(f.is_ready());
  EXPECT_FALSE(f.is_cancelled());
  EXPECT_THROW(f.get(), std::domain_error);
}

TEST(FutureTaskTest, testTimedGet_ExecutionException2) {
  future_task task([]() -> int { throw std::domain_error("x"); });
  auto f = task.get_future();
  task.run();
  EXPECT_TRUE(f.wait_for(1h));
  EXPECT_THROW(f.get(), std::domain_error);
}

TEST(FutureTaskTest, testGet_Interruptible) {
  takt::manual_clock time;
  future_task task([] { return 1; }, {.time = &time});
  auto f = task.get_future();
  takt::sync::stop_source stop;
  thread waiter([&] { EXPECT_THROW(f.get(stop.get_token()), takt::wait_stopped); });
  time.wait_for_waiters(1);
  stop.request_stop();
  waiter.join();
  EXPECT_FALSE(f.is_ready());
}

TEST(FutureTaskTest, testTimedGet_Interruptible) {
  takt::manual_clock time;
  future_task task([] { return 1; }, {.time = &time});
  auto f = task.get_future();
  takt::sync::stop_source stop;
  thread waiter([&] { EXPECT_FALSE(f.wait_for(1h, stop.get_token())); });
  time.wait_for_waiters(1);
  stop.request_stop();
  waiter.join();
  EXPECT_EQ(time.now(), takt::manual_clock().now()) << "no time has passed";
}

TEST(FutureTaskTest, testGet_TimeoutException) {
  takt::manual_clock time;
  future_task task([] { return 1; }, {.time = &time});
  const auto f = task.get_future();
  thread waiter([&] { EXPECT_FALSE(f.wait_for(10ms)); });
  time.wait_for_waiters(1);
  time.advance(10ms);
  waiter.join();
  EXPECT_FALSE(f.is_ready());
}

TEST(FutureTaskTest, testGet_NegativeInfinityTimeout) {
  future_task task([] { return 1; });
  const auto f = task.get_future();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(f.wait_for(std::chrono::nanoseconds::min()));
    EXPECT_FALSE(f.wait_for(std::chrono::hours::min()));
    EXPECT_FALSE(f.wait_for(std::chrono::duration<double>(-1e300)));
  }
}

// After one thread has seen a future ready, all threads see it ready, and it does not change.
TEST(Regression, DoneMeansDone) {
  for (int round = 0; round < 200; ++round) {
    future_task task([] { return 1; });
    auto f = task.get_future();
    thread runner([&] { task.run(); });
    thread canceller([&] { task.cancel(); });
    f.wait();
    EXPECT_TRUE(f.is_ready());
    const bool was_cancelled = f.is_cancelled();
    EXPECT_EQ(f.cancel(), cancel_result::done);
    runner.join();
    canceller.join();
    EXPECT_TRUE(f.is_ready());
    EXPECT_EQ(f.is_cancelled(), was_cancelled);
  }
}

TEST(Regression, NegativeTimeout) {
  promise<int> p;
  auto f = p.get_future();
  for (const auto d : {-1ns, std::chrono::nanoseconds::min(), 0ns}) {
    EXPECT_FALSE(f.wait_for(d));
    EXPECT_FALSE(f.wait_until(time_point(d)));
  }
  p.set_value(1);
  EXPECT_TRUE(f.wait_for(-1ns)) << "ready wins over any time-out";
}

// Many tasks run and are cancelled concurrently: each has one outcome, and no waiter hangs.
TEST(Regression, CancelledFutureLoops) {
  constexpr int count = 1000;
  std::vector<future_task<int>> tasks;
  std::vector<future<int>> futures;
  for (int i = 0; i < count; ++i) {
    tasks.emplace_back([i] { return i; });
    futures.push_back(tasks.back().get_future());
  }
  thread runner([&] {
    for (auto& task : tasks) task.run();
  });
  int prevented = 0;
  thread canceller([&] {
    for (std::size_t i = futures.size(); i > 0; --i) {  // in reverse order
      if (futures[i - 1].cancel() == cancel_result::prevented) ++prevented;
    }
  });
  runner.join();
  canceller.join();
  int values = 0;
  int cancellations = 0;
  for (int i = 0; i < count; ++i) {
    try {
      EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i);
      ++values;
    } catch (const takt::cancelled&) {
      ++cancellations;
    }
  }
  EXPECT_EQ(values + cancellations, count);
  EXPECT_GE(cancellations, prevented);
}

}  // namespace

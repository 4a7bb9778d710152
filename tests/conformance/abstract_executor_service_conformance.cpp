// java.util.concurrent's AbstractExecutorServiceTest, with its names. An AbstractExecutorService
// consists of execute() alone, and so does the executor that is tested here.
#include <chrono>
#include <functional>
#include <stdexcept>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/task.hpp>

#include "executor_service_suite.hpp"

namespace {

namespace suite = executor_service_suite;
using service = suite::direct_service;

TEST(AbstractExecutorServiceTest, testExecuteRunnable) {
  service s;
  bool done = false;
  takt::future<void> f = takt::submit(s.executor, [&] { done = true; });
  f.get();
  EXPECT_TRUE(done);
}

TEST(AbstractExecutorServiceTest, testSubmitCallable) { suite::submit_callable<service>(); }
TEST(AbstractExecutorServiceTest, testSubmitRunnable) { suite::submit_runnable<service>(); }
TEST(AbstractExecutorServiceTest, testSubmitRunnable2) {
  suite::submit_runnable_with_result<service>();
}

TEST(AbstractExecutorServiceTest, testNullTaskSubmission) {
  service s;
  EXPECT_THROW(static_cast<void>(takt::submit(s.executor, std::function<void()>())),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(takt::submit(s.executor, std::function<int()>())),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(takt::submit(s.executor, static_cast<void (*)()>(nullptr))),
               std::invalid_argument);
}

// A get() that waits for a running task ends when stop is requested.
TEST(AbstractExecutorServiceTest, testInterruptedSubmit) {
  takt::parker quitting_time;    // must outlive the pool, whose task parks on it
  suite::thread_pool_service s;  // upstream uses a pool here, too
  takt::parker submitted;
  takt::sync::stop_source stop;
  bool interrupted = false;
  takt::sync::thread waiting([&] {
    takt::future<void> f = takt::submit(s.executor, [&] { quitting_time.park(); });
    submitted.unpark();
    try {
      f.get(stop.get_token());
    } catch (const takt::wait_stopped&) {
      interrupted = true;
    }
  });
  submitted.park();
  stop.request_stop();
  waiting.join();
  EXPECT_TRUE(interrupted);
  quitting_time.unpark();
}

// get() throws the callable's exception.
TEST(AbstractExecutorServiceTest, testSubmitEE) {
  service s;
  takt::future<std::string> f = takt::submit(s.executor, suite::failing);
  EXPECT_THROW(f.get(), std::domain_error);
}

TEST(AbstractExecutorServiceTest, testInvokeAny2) { suite::invoke_any_of_none<service>(); }
TEST(AbstractExecutorServiceTest, testInvokeAny3) { suite::invoke_any_of_empty<service>(); }
TEST(AbstractExecutorServiceTest, testInvokeAny4) { suite::invoke_any_of_failing<service>(); }
TEST(AbstractExecutorServiceTest, testInvokeAny5) { suite::invoke_any_of_some<service>(); }

TEST(AbstractExecutorServiceTest, testInvokeAll2) { suite::invoke_all_of_none<service>(); }
TEST(AbstractExecutorServiceTest, testInvokeAll3) { suite::invoke_all_of_empty<service>(); }
TEST(AbstractExecutorServiceTest, testInvokeAll4) { suite::invoke_all_of_failing<service>(); }
TEST(AbstractExecutorServiceTest, testInvokeAll5) { suite::invoke_all_of_some<service>(); }

TEST(AbstractExecutorServiceTest, testTimedInvokeAny2) {
  suite::invoke_any_of_none<service, true>();
}
TEST(AbstractExecutorServiceTest, testTimedInvokeAny3) {
  suite::invoke_any_of_empty<service, true>();
}
TEST(AbstractExecutorServiceTest, testTimedInvokeAny4) {
  suite::invoke_any_of_failing<service, true>();
}
TEST(AbstractExecutorServiceTest, testTimedInvokeAny5) {
  suite::invoke_any_of_some<service, true>();
}

TEST(AbstractExecutorServiceTest, testTimedInvokeAll2) {
  suite::invoke_all_of_none<service, true>();
}
TEST(AbstractExecutorServiceTest, testTimedInvokeAll3) {
  suite::invoke_all_of_empty<service, true>();
}
TEST(AbstractExecutorServiceTest, testTimedInvokeAll4) {
  suite::invoke_all_of_failing<service, true>();
}
TEST(AbstractExecutorServiceTest, testTimedInvokeAll5) {
  suite::invoke_all_of_some<service, true>();
}
TEST(AbstractExecutorServiceTest, testTimedInvokeAll6) {
  suite::timed_invoke_all_times_out<service>();
}

}  // namespace

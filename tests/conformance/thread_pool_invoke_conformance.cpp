// The submit and invoke tests of java.util.concurrent's ThreadPoolExecutorTest, with their names.
#include <gtest/gtest.h>

#include "executor_service_suite.hpp"

namespace {

namespace suite = executor_service_suite;
using service = suite::thread_pool_service;

TEST(ThreadPoolExecutorTest, testSubmitCallable) { suite::submit_callable<service>(); }
TEST(ThreadPoolExecutorTest, testSubmitRunnable) { suite::submit_runnable<service>(); }
TEST(ThreadPoolExecutorTest, testSubmitRunnable2) { suite::submit_runnable_with_result<service>(); }

TEST(ThreadPoolExecutorTest, testInvokeAny2) { suite::invoke_any_of_none<service>(); }
TEST(ThreadPoolExecutorTest, testInvokeAny3) { suite::invoke_any_of_empty<service>(); }
TEST(ThreadPoolExecutorTest, testInvokeAny4) { suite::invoke_any_of_failing<service>(); }
TEST(ThreadPoolExecutorTest, testInvokeAny5) { suite::invoke_any_of_some<service>(); }

TEST(ThreadPoolExecutorTest, testInvokeAll2) { suite::invoke_all_of_none<service>(); }
TEST(ThreadPoolExecutorTest, testInvokeAll3) { suite::invoke_all_of_empty<service>(); }
TEST(ThreadPoolExecutorTest, testInvokeAll4) { suite::invoke_all_of_failing<service>(); }
TEST(ThreadPoolExecutorTest, testInvokeAll5) { suite::invoke_all_of_some<service>(); }

TEST(ThreadPoolExecutorTest, testTimedInvokeAny2) { suite::invoke_any_of_none<service, true>(); }
TEST(ThreadPoolExecutorTest, testTimedInvokeAny3) { suite::invoke_any_of_empty<service, true>(); }
TEST(ThreadPoolExecutorTest, testTimedInvokeAny4) { suite::invoke_any_of_failing<service, true>(); }
TEST(ThreadPoolExecutorTest, testTimedInvokeAny5) { suite::invoke_any_of_some<service, true>(); }

TEST(ThreadPoolExecutorTest, testTimedInvokeAll2) { suite::invoke_all_of_none<service, true>(); }
TEST(ThreadPoolExecutorTest, testTimedInvokeAll3) { suite::invoke_all_of_empty<service, true>(); }
TEST(ThreadPoolExecutorTest, testTimedInvokeAll4) { suite::invoke_all_of_failing<service, true>(); }
TEST(ThreadPoolExecutorTest, testTimedInvokeAll5) { suite::invoke_all_of_some<service, true>(); }
TEST(ThreadPoolExecutorTest, testTimedInvokeAll6) { suite::timed_invoke_all_times_out<service>(); }

}  // namespace

// java.util.concurrent's ScheduledExecutorTest and ScheduledExecutorSubclassTest, with their names.
#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "executor_service_suite.hpp"
#include "scheduled_executor_end_suite.hpp"
#include "scheduled_executor_suite.hpp"

namespace {

namespace suite = scheduled_executor_suite;
using suite::decorated;
using suite::plain;

// --- the plain pool

TEST(ScheduledExecutorTest, testExecute) { suite::execute<plain>(); }
TEST(ScheduledExecutorTest, testSchedule1) { suite::schedule_callable<plain>(); }
TEST(ScheduledExecutorTest, testSchedule3) { suite::schedule_runnable<plain>(); }
TEST(ScheduledExecutorTest, testSchedule4) { suite::fixed_rate_begins_after_delay<plain>(); }
TEST(ScheduledExecutorTest, testSchedule5) { suite::fixed_delay_begins_after_delay<plain>(); }
TEST(ScheduledExecutorTest, testFixedRateSequence) { suite::fixed_rate_sequence<plain>(); }
TEST(ScheduledExecutorTest, testFixedDelaySequence) { suite::fixed_delay_sequence<plain>(); }
TEST(ScheduledExecutorTest, testNullTaskSubmission) { suite::null_task_submission<plain>(); }
TEST(ScheduledExecutorTest, testSubmittedTasksRejectedWhenShutdown) {
  suite::submitted_tasks_rejected_when_shutdown<plain>();
}
TEST(ScheduledExecutorTest, testGetActiveCount) { suite::active_count<plain>(); }
TEST(ScheduledExecutorTest, testGetCompletedTaskCount) { suite::completed_task_count<plain>(); }
TEST(ScheduledExecutorTest, testGetCorePoolSize) { suite::core_pool_size<plain>(); }
TEST(ScheduledExecutorTest, testGetLargestPoolSize) { suite::largest_pool_size<plain>(); }
TEST(ScheduledExecutorTest, testGetPoolSize) { suite::pool_size<plain>(); }
TEST(ScheduledExecutorTest, testGetTaskCount) { suite::task_count<plain>(); }
TEST(ScheduledExecutorTest, testGetThreadFactory) { suite::thread_factory<plain>(); }
TEST(ScheduledExecutorTest, testGetQueue) { suite::queue<plain>(); }
TEST(ScheduledExecutorTest, testRemove) { suite::remove<plain>(); }
TEST(ScheduledExecutorTest, testPurge) { suite::purge<plain>(); }
TEST(ScheduledExecutorTest, testIsShutdown) { suite::is_shutdown<plain>(); }
TEST(ScheduledExecutorTest, testIsTerminated) { suite::is_terminated<plain>(); }
TEST(ScheduledExecutorTest, testIsTerminating) { suite::is_terminating<plain>(); }
TEST(ScheduledExecutorTest, testShutdownNow) { suite::shutdown_now<plain>(); }
TEST(ScheduledExecutorTest, testShutdownNow_delayedTasks) {
  suite::shutdown_now_with_delayed_tasks<plain>();
}
TEST(ScheduledExecutorTest, testShutdown_cancellation) { suite::shutdown_cancellation<plain>(); }
TEST(ScheduledExecutorTest, testScheduleWithFixedDelay_overflow) {
  suite::fixed_delay_overflow<plain>();
}
TEST(ScheduledExecutorTest, testDefaultRejectedExecutionHandler) {
  suite::subject<plain> s;
  s.pool.shutdown();
  EXPECT_EQ(takt_test::rejection_of([&] { s.pool.execute([] {}); }), takt::rejection::shut_down);
  s.drain();
}

// --- with decorated tasks

TEST(ScheduledExecutorSubclassTest, testExecute) { suite::execute<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testSchedule1) { suite::schedule_callable<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testSchedule3) { suite::schedule_runnable<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testSchedule4) {
  suite::fixed_rate_begins_after_delay<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testSchedule5) {
  suite::fixed_delay_begins_after_delay<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testFixedRateSequence) {
  suite::fixed_rate_sequence<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testFixedDelaySequence) {
  suite::fixed_delay_sequence<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testNullTaskSubmission) {
  suite::null_task_submission<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testSubmittedTasksRejectedWhenShutdown) {
  suite::submitted_tasks_rejected_when_shutdown<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testGetActiveCount) { suite::active_count<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testGetCompletedTaskCount) {
  suite::completed_task_count<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testGetCorePoolSize) { suite::core_pool_size<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testGetLargestPoolSize) {
  suite::largest_pool_size<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testGetPoolSize) { suite::pool_size<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testGetTaskCount) { suite::task_count<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testGetThreadFactory) { suite::thread_factory<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testGetQueue) { suite::queue<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testRemove) { suite::remove<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testPurge) { suite::purge<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testIsShutdown) { suite::is_shutdown<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testIsTerminated) { suite::is_terminated<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testIsTerminating) { suite::is_terminating<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testShutdownNow) { suite::shutdown_now<decorated>(); }
TEST(ScheduledExecutorSubclassTest, testShutdownNow_delayedTasks) {
  suite::shutdown_now_with_delayed_tasks<decorated>();
}
TEST(ScheduledExecutorSubclassTest, testShutdown_cancellation) {
  suite::shutdown_cancellation<decorated>();
}

// --- submit and invoke

namespace services = executor_service_suite;

template <class Kind>
struct service {
  static constexpr bool runs_at_once = false;

  suite::subject<Kind> with;
  takt::manual_clock& time = with.time;
  takt::scheduled_pool& executor = with.pool;
};

using as_it_is = service<plain>;
TEST(ScheduledExecutorTest, testSubmitCallable) { services::submit_callable<as_it_is>(); }
TEST(ScheduledExecutorTest, testSubmitRunnable) { services::submit_runnable<as_it_is>(); }
TEST(ScheduledExecutorTest, testSubmitRunnable2) {
  services::submit_runnable_with_result<as_it_is>();
}
TEST(ScheduledExecutorTest, testInvokeAny2) { services::invoke_any_of_none<as_it_is>(); }
TEST(ScheduledExecutorTest, testInvokeAll2) { services::invoke_all_of_none<as_it_is>(); }
TEST(ScheduledExecutorTest, testTimedInvokeAny2) { services::invoke_any_of_none<as_it_is, true>(); }
TEST(ScheduledExecutorTest, testTimedInvokeAll2) { services::invoke_all_of_none<as_it_is, true>(); }
TEST(ScheduledExecutorTest, testInvokeAny3) { services::invoke_any_of_empty<as_it_is>(); }
TEST(ScheduledExecutorTest, testInvokeAll3) { services::invoke_all_of_empty<as_it_is>(); }
TEST(ScheduledExecutorTest, testTimedInvokeAny3) {
  services::invoke_any_of_empty<as_it_is, true>();
}
TEST(ScheduledExecutorTest, testTimedInvokeAll3) {
  services::invoke_all_of_empty<as_it_is, true>();
}
TEST(ScheduledExecutorTest, testInvokeAny4) { services::invoke_any_of_failing<as_it_is>(); }
TEST(ScheduledExecutorTest, testInvokeAll4) { services::invoke_all_of_failing<as_it_is>(); }
TEST(ScheduledExecutorTest, testTimedInvokeAny4) {
  services::invoke_any_of_failing<as_it_is, true>();
}
TEST(ScheduledExecutorTest, testTimedInvokeAll4) {
  services::invoke_all_of_failing<as_it_is, true>();
}
TEST(ScheduledExecutorTest, testInvokeAny5) { services::invoke_any_of_some<as_it_is>(); }
TEST(ScheduledExecutorTest, testInvokeAll5) { services::invoke_all_of_some<as_it_is>(); }
TEST(ScheduledExecutorTest, testTimedInvokeAny5) { services::invoke_any_of_some<as_it_is, true>(); }
TEST(ScheduledExecutorTest, testTimedInvokeAll5) { services::invoke_all_of_some<as_it_is, true>(); }
TEST(ScheduledExecutorTest, testTimedInvokeAll6) {
  services::timed_invoke_all_times_out<as_it_is>();
}

using wrapped = service<decorated>;
TEST(ScheduledExecutorSubclassTest, testSubmitCallable) { services::submit_callable<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testSubmitRunnable) { services::submit_runnable<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testSubmitRunnable2) {
  services::submit_runnable_with_result<wrapped>();
}
TEST(ScheduledExecutorSubclassTest, testInvokeAny2) { services::invoke_any_of_none<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testInvokeAll2) { services::invoke_all_of_none<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAny2) {
  services::invoke_any_of_none<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAll2) {
  services::invoke_all_of_none<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testInvokeAny3) { services::invoke_any_of_empty<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testInvokeAll3) { services::invoke_all_of_empty<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAny3) {
  services::invoke_any_of_empty<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAll3) {
  services::invoke_all_of_empty<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testInvokeAny4) { services::invoke_any_of_failing<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testInvokeAll4) { services::invoke_all_of_failing<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAny4) {
  services::invoke_any_of_failing<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAll4) {
  services::invoke_all_of_failing<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testInvokeAny5) { services::invoke_any_of_some<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testInvokeAll5) { services::invoke_all_of_some<wrapped>(); }
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAny5) {
  services::invoke_any_of_some<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAll5) {
  services::invoke_all_of_some<wrapped, true>();
}
TEST(ScheduledExecutorSubclassTest, testTimedInvokeAll6) {
  services::timed_invoke_all_times_out<wrapped>();
}

}  // namespace

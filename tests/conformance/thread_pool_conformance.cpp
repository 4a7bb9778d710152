// java.util.concurrent's ThreadPoolExecutorTest, by its names.
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::future;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::thread_pool;
using takt::thread_pool_options;
using takt::sync::thread;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::rejection_of;
using takt_test::tally;
using takt_test::until_stopped;

TEST(ThreadPoolExecutorTest, testExecute) {
  thread_pool pool{{.core = 1}};
  gate run;
  pool.execute([&] { run.open(); });
  run.wait();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetActiveCount) {
  thread_pool pool{{.core = 2}};
  EXPECT_EQ(pool.statistics().active, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().active, 1u);
  one.release();
  drain(pool);
  EXPECT_EQ(pool.statistics().active, 0u);
}

TEST(ThreadPoolExecutorTest, testPrestartCoreThread) {
  thread_pool pool{{.core = 2, .max = 6, .queue_capacity = 10}};
  EXPECT_EQ(pool.statistics().workers, 0u);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.statistics().workers, 1u);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.statistics().workers, 2u);
  EXPECT_EQ(pool.prestart(1), 0u);
  EXPECT_EQ(pool.statistics().workers, 2u);
  pool.resize(4, 6);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.prestart(1), 1u);
  EXPECT_EQ(pool.prestart(1), 0u);
  EXPECT_EQ(pool.statistics().workers, 4u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testPrestartAllCoreThreads) {
  thread_pool pool{{.core = 2, .max = 6, .queue_capacity = 10}};
  EXPECT_EQ(pool.prestart(), 2u);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(pool.statistics().workers, 2u);
  pool.resize(4, 6);
  EXPECT_EQ(pool.prestart(), 2u);
  EXPECT_EQ(pool.prestart(), 0u);
  EXPECT_EQ(pool.statistics().workers, 4u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetCompletedTaskCount) {
  takt::manual_clock time;
  thread_pool pool{{.core = 2, .time = &time}};
  EXPECT_EQ(pool.statistics().tasks.finished, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().tasks.finished, 0u);
  one.release();
  time.wait_for_waiters(1);  // it is over, and counted
  EXPECT_EQ(pool.statistics().tasks.finished, 1u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetCorePoolSize) {
  thread_pool pool{{.core = 1, .max = 2}};
  EXPECT_EQ(pool.core(), 1u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetKeepAliveTime) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{{.core = 0,
                    .max = 1,
                    .keep_alive = 1s,
                    .threads = {.on_exit = [&] { gone.add(); }},
                    .time = &time}};
  pool.submit([] {}).get();
  time.wait_for_waiters(1);
  EXPECT_TRUE(time.advance_to_next());
  EXPECT_EQ(time.now().time_since_epoch(), 1s);
  gone.wait_for(1);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetThreadFactory) {
  takt::sync::atomic<int> made{0};
  thread_pool pool{{.core = 1, .threads = {.on_start = [&] { ++made; }}}};
  pool.submit([&] { EXPECT_EQ(made.load(), 1); }).get();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testDefaultRejectedExecutionHandler) {
  thread_pool pool{{.core = 1, .queue_capacity = 0}};
  busy one(pool, 1);
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetRejectedExecutionHandler) {
  int calls = 0;
  thread_pool pool{{.core = 1,
                    .queue_capacity = 0,
                    .rejection = rejection_policy::call([&](const task&, rejection) { ++calls; })}};
  busy one(pool, 1);
  pool.execute([] {});
  EXPECT_EQ(calls, 1);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetLargestPoolSize) {
  thread_pool pool{{.core = 3}};
  EXPECT_EQ(pool.statistics().largest, 0u);
  busy one(pool, 3);
  EXPECT_EQ(pool.statistics().largest, 3u);
  one.release();
  drain(pool);
  EXPECT_EQ(pool.statistics().largest, 3u);
}

TEST(ThreadPoolExecutorTest, testGetMaximumPoolSize) {
  thread_pool pool{{.core = 2, .max = 3}};
  EXPECT_EQ(pool.max(), 3u);
  pool.resize(2, 4);
  EXPECT_EQ(pool.max(), 4u);
  pool.resize(2, 3);
  EXPECT_EQ(pool.max(), 3u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetPoolSize) {
  thread_pool pool{{.core = 1}};
  EXPECT_EQ(pool.statistics().workers, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().workers, 1u);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testGetTaskCount) {
  thread_pool pool{{.core = 1}};
  EXPECT_EQ(pool.statistics().tasks.submitted, 0u);
  busy one(pool, 1);
  EXPECT_EQ(pool.statistics().tasks.submitted, 1u);
  EXPECT_EQ(pool.statistics().tasks.finished, 0u);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pool.statistics().tasks.submitted, 1 + i);
    pool.execute([] {});
    EXPECT_EQ(pool.statistics().tasks.submitted, 2 + i);
    EXPECT_EQ(pool.statistics().tasks.finished, 0u);
  }
  one.release();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, 6u);
}

TEST(ThreadPoolExecutorTest, testIsShutdown) {
  thread_pool pool{{.core = 1}};
  EXPECT_FALSE(pool.is_shutdown());
  pool.shutdown();
  EXPECT_TRUE(pool.is_shutdown());
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testAwaitTermination_timesOut) {
  takt::manual_clock time;
  thread_pool pool{{.core = 1, .time = &time}};
  EXPECT_FALSE(pool.is_terminated());
  EXPECT_FALSE(pool.await_termination(std::chrono::nanoseconds::min()));
  EXPECT_FALSE(pool.await_termination(std::chrono::hours::min()));
  EXPECT_FALSE(pool.await_termination(-1ns));
  EXPECT_FALSE(pool.await_termination(0ms));
  thread waiter([&] { EXPECT_FALSE(pool.await_termination(999'999ns)); });
  time.wait_for_waiters(1);
  EXPECT_TRUE(time.advance_to_next());
  waiter.join();
  EXPECT_EQ(time.now().time_since_epoch(), 999'999ns);
  pool.shutdown();
  EXPECT_TRUE(pool.is_terminated());
}

TEST(ThreadPoolExecutorTest, testIsTerminated) {
  thread_pool pool{{.core = 1}};
  EXPECT_FALSE(pool.is_terminated());
  busy one(pool, 1);
  EXPECT_FALSE(pool.is_terminating());
  pool.shutdown();
  EXPECT_FALSE(pool.is_terminated());
  one.release();
  pool.await_termination();
  EXPECT_TRUE(pool.is_terminated());
  EXPECT_FALSE(pool.is_terminating());
}

TEST(ThreadPoolExecutorTest, testIsTerminating) {
  thread_pool pool{{.core = 1}};
  EXPECT_FALSE(pool.is_terminating());
  busy one(pool, 1);
  EXPECT_FALSE(pool.is_terminating());
  pool.shutdown();
  EXPECT_TRUE(pool.is_terminating());
  one.release();
  drain(pool);
  EXPECT_FALSE(pool.is_terminating());
}

TEST(ThreadPoolExecutorTest, testGetQueue) {
  thread_pool pool{{.core = 1, .queue_capacity = 10}};
  busy one(pool, 1);
  std::vector<future<int>> tasks;
  for (int i = 0; i < 4; ++i) {
    tasks.push_back(pool.submit([i] { return i; }));
    EXPECT_EQ(pool.statistics().queued, tasks.size());
  }
  EXPECT_TRUE(pool.remove(tasks.back()));
  EXPECT_EQ(pool.statistics().queued, 3u);
  takt::task_list rest = pool.shutdown_now();
  ASSERT_EQ(rest.size(), 3u);
  for (task& t : rest) t.run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(tasks[static_cast<std::size_t>(i)].get(), i);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testRemove) {
  thread_pool pool{{.core = 1, .queue_capacity = 10}};
  gate begun;
  gate go_on;
  std::vector<future<void>> tasks;
  tasks.push_back(pool.submit([&] {
    begun.open();
    go_on.wait();
  }));
  for (int i = 1; i < 6; ++i) tasks.push_back(pool.submit([] {}));
  begun.wait();
  EXPECT_FALSE(pool.remove(tasks[0]));  // runs
  EXPECT_TRUE(pool.remove(tasks[4]));
  EXPECT_FALSE(pool.remove(tasks[4]));
  EXPECT_TRUE(pool.remove(tasks[3]));
  EXPECT_FALSE(pool.remove(tasks[3]));
  EXPECT_EQ(pool.statistics().queued, 3u);
  go_on.open();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, 4u);
  EXPECT_FALSE(pool.remove(tasks[5]));  // over
}

TEST(ThreadPoolExecutorTest, testPurge) {
  thread_pool pool{{.core = 1, .queue_capacity = 10}};
  busy one(pool, 1);
  std::vector<future<void>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(pool.submit([] {}));
  EXPECT_EQ(tasks[3].cancel(), cancel_result::prevented);
  EXPECT_EQ(tasks[4].cancel(), cancel_result::prevented);
  EXPECT_EQ(pool.statistics().queued, 5u);
  EXPECT_EQ(pool.purge(), 2u);
  EXPECT_EQ(pool.statistics().queued, 3u);
  EXPECT_EQ(pool.statistics().tasks.pending(), 4u);
  EXPECT_EQ(pool.purge(), 0u);
  one.release();
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testShutdownNow) {
  constexpr std::size_t threads = 2;
  constexpr std::size_t count = 5;
  tally ran;
  tally begun;
  thread_pool pool{{.core = threads}};
  for (std::size_t i = 0; i < count; ++i) {
    pool.execute([&](const takt::sync::stop_token& stop) {
      begun.add();
      until_stopped(stop);
      ran.add();
    });
  }
  begun.wait_for(threads);
  const takt::task_list rest = pool.shutdown_now();
  EXPECT_TRUE(pool.is_shutdown());
  EXPECT_EQ(rest.size(), count - threads);
  pool.await_termination();
  EXPECT_TRUE(pool.is_terminated());
  EXPECT_EQ(ran.count(), threads);
  EXPECT_EQ(pool.statistics().tasks.finished, threads);
  takt_test::expect_balance(pool);
}

// --- constructors. Java has four; here hooks for threads and a policy are options among others.

// A negative size does not compile.
template <int Core, int Max>
constexpr bool sizes_compile = requires { thread_pool_options{.core = Core, .max = Max}; };
static_assert(sizes_compile<1, 2>);

thread_pool_options plain() {
  return {.core = 1, .max = 2, .keep_alive = 1s, .queue_capacity = 10};
}
thread_pool_options with_threads() {
  auto how = plain();
  how.threads.on_start = [] {};
  return how;
}
thread_pool_options with_policy() {
  auto how = plain();
  how.rejection = rejection_policy::call([](const task&, rejection) {});
  return how;
}
thread_pool_options with_both() {
  auto how = with_threads();
  how.rejection = with_policy().rejection;
  return how;
}

void expect_invalid(const thread_pool_options& how) {
  EXPECT_THROW(thread_pool{how}, std::invalid_argument);
}
void expect_negative_keep_alive_is_invalid(thread_pool_options how) {
  how.keep_alive = -1s;
  expect_invalid(how);
}
void expect_core_above_max_is_invalid(thread_pool_options how) {
  thread_pool{how};  // as it is, it is fine
  how.core = 2;
  how.max = 1;
  expect_invalid(how);
}

TEST(ThreadPoolExecutorTest, testConstructor1) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor2) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor4) { expect_negative_keep_alive_is_invalid(plain()); }
TEST(ThreadPoolExecutorTest, testConstructor5) { expect_core_above_max_is_invalid(plain()); }
TEST(ThreadPoolExecutorTest, testConstructor6) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor7) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor9) {
  expect_negative_keep_alive_is_invalid(with_threads());
}
TEST(ThreadPoolExecutorTest, testConstructor10) {
  expect_core_above_max_is_invalid(with_threads());
}
TEST(ThreadPoolExecutorTest, testConstructor11) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor12) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor14) {
  expect_negative_keep_alive_is_invalid(with_policy());
}
TEST(ThreadPoolExecutorTest, testConstructor15) { expect_core_above_max_is_invalid(with_policy()); }
TEST(ThreadPoolExecutorTest, testConstructor16) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor17) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor19) {
  expect_negative_keep_alive_is_invalid(with_both());
}
TEST(ThreadPoolExecutorTest, testConstructor20) { expect_core_above_max_is_invalid(with_both()); }

void expect_empty_handler_is_invalid(thread_pool_options how) {
  EXPECT_THROW(how.rejection = rejection_policy::call(rejection_policy::handler()),
               std::invalid_argument);
}

TEST(ThreadPoolExecutorTest, testConstructorNullPointerException5) {
  expect_empty_handler_is_invalid(plain());
}
TEST(ThreadPoolExecutorTest, testConstructorNullPointerException7) {
  expect_empty_handler_is_invalid(with_threads());
}

// --- submission

TEST(ThreadPoolExecutorTest, testInterruptedSubmit) {
  takt::manual_clock time;
  thread_pool pool{{.core = 1, .queue_capacity = 10, .time = &time}};
  gate go_on;
  gate begun;
  takt::sync::stop_source stop;
  thread waiter([&] {
    auto f = pool.submit([&] {
      begun.open();
      go_on.wait();
    });
    EXPECT_THROW(f.get(stop.get_token()), takt::wait_stopped);
  });
  begun.wait();
  time.wait_for_waiters(1);
  stop.request_stop();
  waiter.join();
  go_on.open();
  drain(pool);
}

// With each policy: one task runs, one is queued, and then no more; nor after shutdown.
TEST(ThreadPoolExecutorTest, testSubmittedTasksRejectedWhenSaturatedOrShutdown) {
  const auto saturate = [](rejection_policy policy) {
    thread_pool pool{{.core = 1, .queue_capacity = 1, .rejection = std::move(policy)}};
    busy one(pool, 1);
    auto queued = pool.submit([] { return 1; });
    const auto submit = [&] {
      return rejection_of([&] { static_cast<void>(pool.submit([] { return 2; }).wait_for(0s)); });
    };
    const auto saturated = submit();
    pool.shutdown();
    const auto shut_down = submit();
    one.release();
    EXPECT_TRUE(queued.wait_for(takt::never));
    drain(pool);
    return std::pair(saturated, shut_down);
  };
  const std::optional<rejection> none;
  EXPECT_EQ(saturate(rejection_policy::abort()),
            std::pair(std::optional(rejection::saturated), std::optional(rejection::shut_down)));
  EXPECT_EQ(saturate(rejection_policy::caller_runs()),
            std::pair(none, std::optional(rejection::shut_down)));
  EXPECT_EQ(saturate(rejection_policy::discard()), std::pair(none, none));
  EXPECT_EQ(saturate(rejection_policy::discard_oldest()), std::pair(none, none));
  EXPECT_EQ(
      saturate(rejection_policy::block(0s)),
      std::pair(std::optional(rejection::wait_timed_out), std::optional(rejection::shut_down)));
}

TEST(ThreadPoolExecutorTest, testSaturatedExecute_DiscardOldestPolicy) {
  thread_pool pool{
      {.core = 1, .queue_capacity = 1, .rejection = rejection_policy::discard_oldest()}};
  busy one(pool, 1);
  auto first = pool.submit([] { return 1; });
  auto second = pool.submit([] { return 2; });
  EXPECT_EQ(rejection_of([&] { first.get(); }), rejection::discarded);
  one.release();
  EXPECT_EQ(second.get(), 2);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testDiscardOldestOnShutdown) {
  thread_pool pool{
      {.core = 1, .queue_capacity = 1, .rejection = rejection_policy::discard_oldest()}};
  pool.shutdown();
  pool.execute([] { ADD_FAILURE(); });
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.rejected, 1u);
}

TEST(ThreadPoolExecutorTest, testNullTaskSubmission) {
  thread_pool pool{{.core = 1}};
  EXPECT_THROW(pool.execute(task()), std::invalid_argument);
  EXPECT_THROW(pool.execute(std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pool.submit(std::function<void()>())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pool.submit(static_cast<int (*)()>(nullptr))),
               std::invalid_argument);
  drain(pool);
}

// --- sizes

TEST(ThreadPoolExecutorTest, testCorePoolSizeIllegalArgumentException) {
  thread_pool pool{{.core = 1, .max = 2}};
  EXPECT_THROW(pool.resize(static_cast<std::size_t>(-1), 2), std::invalid_argument);
  EXPECT_EQ(pool.core(), 1u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testMaximumPoolSizeIllegalArgumentException) {
  thread_pool pool{{.core = 2, .max = 3}};
  EXPECT_THROW(pool.resize(2, 1), std::invalid_argument);
  EXPECT_EQ(pool.max(), 3u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testPoolSizeInvariants) {
  thread_pool pool{{.core = 1, .max = 1, .queue_capacity = 10}};
  for (std::size_t s = 2; s < 5; ++s) {
    pool.resize(s, s);
    EXPECT_THROW(pool.resize(s, s - 1), std::invalid_argument);
    EXPECT_EQ(pool.core(), s);
    EXPECT_EQ(pool.max(), s);
    EXPECT_THROW(pool.resize(s + 1, s), std::invalid_argument);
    EXPECT_EQ(pool.core(), s);
    EXPECT_EQ(pool.max(), s);
  }
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testKeepAliveTimeIllegalArgumentException) {
  thread_pool pool{{.core = 2, .max = 3}};
  EXPECT_THROW(pool.set_keep_alive(-1ms), std::invalid_argument);
  drain(pool);
}

// --- hooks

TEST(ThreadPoolExecutorTest, testTerminated) {
  bool called = false;
  thread_pool pool{{.core = 1, .terminated = [&] { called = true; }}};
  drain(pool);
  EXPECT_TRUE(called);
}

TEST(ThreadPoolExecutorTest, testBeforeAfter) {
  std::vector<int> order;
  thread_pool pool{{.core = 1,
                    .before = [&](const task&) { order.push_back(1); },
                    .after = [&](const task&, const std::exception_ptr&) { order.push_back(3); }}};
  pool.execute([&] { order.push_back(2); });
  drain(pool);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

// --- threads

TEST(ThreadPoolExecutorTest, testFailingThreadFactory) {
  int asked = 0;
  thread_pool pool{{.core = 4, .threads = {.may_start = [&] { return ++asked % 2 == 0; }}}};
  constexpr std::size_t count = 100;
  tally done;
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < count; ++i) {
    while (const auto why = rejection_of([&] { pool.execute([&] { done.add(); }); })) {
      ASSERT_EQ(why, rejection::no_thread);
      ++refused;
    }
  }
  done.wait_for(count);
  const auto s = drain(pool);
  EXPECT_EQ(refused, 1u);  // while there was no thread at all
  EXPECT_EQ(s.tasks.rejected, refused);
  EXPECT_EQ(s.tasks.finished, count);
  EXPECT_EQ(s.largest, 4u);
}

TEST(ThreadPoolExecutorTest, testAllowsCoreThreadTimeOut) {
  takt::manual_clock time;
  thread_pool pool{{.core = 2, .keep_alive = 1s, .time = &time}};
  pool.prestart();
  time.wait_for_waiters(2);
  EXPECT_FALSE(time.advance_to_next());  // nobody waits for a time
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testAllowCoreThreadTimeOut_true) {
  takt::manual_clock time;
  tally gone;
  thread_pool pool{
      {.core = 2, .max = 10, .threads = {.on_exit = [&] { gone.add(); }}, .time = &time}};
  pool.set_keep_alive(12ms, true);
  pool.submit([] {}).get();
  time.wait_for_waiters(1);
  time.advance(12ms);
  gone.wait_for(1);
  EXPECT_EQ(pool.statistics().workers, 0u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testAllowCoreThreadTimeOut_false) {
  takt::manual_clock time;
  thread_pool pool{{.core = 2, .max = 10, .core_time_out = true, .time = &time}};
  pool.set_keep_alive(12ms, false);
  pool.submit([] {}).get();
  time.wait_for_waiters(1);
  EXPECT_FALSE(time.advance_to_next());
  EXPECT_EQ(pool.statistics().workers, 1u);
  drain(pool);
}

TEST(ThreadPoolExecutorTest, testRejectedRecycledTask) {
  constexpr std::size_t count = 1000;
  tally done;
  const auto recycled = [&] { done.add(); };
  thread_pool pool{{.core = 1, .max = 30, .queue_capacity = 30}};
  for (std::size_t i = 0; i < count; ++i) {
    while (rejection_of([&] { pool.execute(recycled); })) takt::sync::yield();
  }
  done.wait_for(count);
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.finished, count);
}

TEST(ThreadPoolExecutorTest, testGet_cancelled) {
  thread_pool pool{{.core = 1}};
  busy one(pool, 1);
  std::vector<future<void>> tasks;
  for (int i = 0; i < 2; ++i) tasks.push_back(pool.submit([] {}));
  for (auto& f : tasks) {
    EXPECT_EQ(f.cancel(), cancel_result::prevented);
    EXPECT_TRUE(f.is_cancelled());
    EXPECT_TRUE(f.is_ready());
    EXPECT_TRUE(f.wait_for(0s));
    EXPECT_THROW(f.get(), takt::cancelled);
  }
  one.release();
  const auto s = drain(pool);
  EXPECT_EQ(s.tasks.cancelled, 2u);
}

TEST(ThreadPoolExecutorTest, testStandardRejectedExecutionHandlers) {
  std::optional<decltype(takt::sync::this_thread_id())> ran;
  const auto record = [&] { ran = takt::sync::this_thread_id(); };
  const auto saturate = [&](rejection_policy policy) {
    ran.reset();
    thread_pool pool{{.core = 1, .queue_capacity = 0, .rejection = std::move(policy)}};
    busy one(pool, 1);
    const auto why = rejection_of([&] { pool.execute(record); });
    EXPECT_EQ(pool.statistics().queued, 0u);
    one.release();
    drain(pool);
    return why;
  };
  EXPECT_EQ(saturate(rejection_policy::abort()), rejection::saturated);
  EXPECT_FALSE(ran);
  EXPECT_EQ(saturate(rejection_policy::discard()), std::nullopt);
  EXPECT_FALSE(ran);
  EXPECT_EQ(saturate(rejection_policy::caller_runs()), std::nullopt);
  EXPECT_EQ(ran, takt::sync::this_thread_id());
}

}  // namespace

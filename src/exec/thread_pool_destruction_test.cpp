// Destruction of a pool: from outside, by one of its own tasks, and after fork().
#include <memory>
#include <optional>
#include <utility>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using takt::future;
using takt::thread_pool;
using takt::sync::stop_token;
using takt_test::busy;
using takt_test::drain;
using takt_test::gate;
using takt_test::until_stopped;

TEST(thread_pool_destructor, cancels_what_is_queued_and_waits_for_what_runs) {
  future<int> running;
  future<void> queued;
  {
    thread_pool pool{{.core_threads = 1}};
    gate begun;
    running = pool.submit([&](const stop_token& stop) {
      begun.open();
      until_stopped(stop);
      return 1;
    });
    begun.wait();
    queued = pool.submit([] {});
  }
  EXPECT_TRUE(running.is_ready());
  EXPECT_EQ(running.get(), 1);
  EXPECT_TRUE(queued.is_cancelled());
}

TEST(thread_pool_destructor, runs_the_terminated_hook_if_it_did_not_run_before) {
  int calls = 0;
  {
    const thread_pool pool{{.core_threads = 1, .terminated = [&] { ++calls; }}};
  }
  EXPECT_EQ(calls, 1);
  {
    thread_pool pool{{.core_threads = 1, .terminated = [&] { ++calls; }}};
    drain(pool);
  }
  EXPECT_EQ(calls, 2);
}

TEST(thread_pool_destructor, handles_may_outlive_the_pool) {
  future<int> f;
  std::optional<thread_pool> pool(std::in_place, thread_pool::options_type{.core_threads = 1});
  f = pool->submit([] { return 1; });
  f.wait();
  pool.reset();
  EXPECT_EQ(f.cancel(), takt::cancel_result::done);
  EXPECT_EQ(f.get(), 1);
}

// --- by a task of its own

// Opens its gate when its last copy is destroyed.
std::shared_ptr<void> witness(gate& gone) {
  return {nullptr, [&gone](void*) { gone.open(); }};
}

TEST(thread_pool_destructor, can_be_called_by_its_only_worker) {
  gate gone;
  gate released;
  bool queued_is_cancelled = false;
  bool terminated = false;
  auto pool = std::make_shared<thread_pool>(thread_pool::options_type{
      .core_threads = 1, .terminated = [&terminated, last = witness(gone)] { terminated = true; }});
  future<void> queued;
  auto task_ended = pool->submit([&, own = pool]() mutable {
    released.wait();
    own.reset();
    queued_is_cancelled = queued.is_cancelled();
    return 1;
  });
  queued = pool->submit([] {});
  pool.reset();
  released.open();
  EXPECT_EQ(task_ended.get(), 1);
  gone.wait();  // the worker destroys the last state
  EXPECT_TRUE(queued_is_cancelled);
  EXPECT_TRUE(terminated);
}

TEST(thread_pool_destructor, called_by_a_worker_waits_for_the_others) {
  gate gone;
  gate released;
  gate begun;
  takt::sync::atomic<bool> other_over{false};
  bool other_was_over = false;
  auto pool = std::make_shared<thread_pool>(
      thread_pool::options_type{.core_threads = 3, .terminated = [last = witness(gone)] {}});
  pool->prestart();
  pool->execute([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
    other_over = true;
  });
  begun.wait();
  pool->execute([&, own = pool]() mutable {
    released.wait();
    own.reset();
    other_was_over = other_over;
  });
  pool.reset();
  released.open();
  gone.wait();
  EXPECT_TRUE(other_was_over);
}

TEST(thread_pool_destructor, can_be_called_with_a_closure_that_owns_the_pool) {
  gate gone;
  gate queued;
  auto pool = std::make_shared<thread_pool>(
      thread_pool::options_type{.core_threads = 2, .terminated = [last = witness(gone)] {}});
  auto first = pool->submit([&queued, own = pool] { queued.wait(); });
  auto second = pool->submit([own = pool] {});
  pool.reset();
  queued.open();
  first.wait();
  second.wait();
  gone.wait();
}

TEST(thread_pool_destructor, can_be_called_by_a_closure_that_its_shutdown_destroys) {
  gate gone;
  gate begun;
  auto pool = std::make_shared<thread_pool>(
      thread_pool::options_type{.core_threads = 1, .terminated = [last = witness(gone)] {}});
  thread_pool& alive = *pool;
  alive.execute([&](const stop_token& stop) {
    begun.open();
    until_stopped(stop);
  });
  begun.wait();
  alive.execute([own = std::move(pool)] {});
  alive.shutdown_and_cancel();
  gone.wait();
}

// --- after fork()

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

TEST(thread_pool_destructor, does_nothing_in_a_child_process) {
  auto pool = std::make_unique<thread_pool>(thread_pool::options_type{.core_threads = 2});
  busy hold(*pool, 2);
  auto queued = pool->submit([] { return 1; });
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    pool.reset();  // would wait for threads that do not exist here
    _exit(queued.is_ready() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  hold.release();
  EXPECT_EQ(queued.get(), 1);
  drain(*pool);
}

#endif

// close() would use the destroyed pool.
template <class Executor>
void close_what_a_queued_closure_owns(std::shared_ptr<Executor> owner) {
  Executor& same = *owner;
  same.execute([own = std::move(owner)] {});
  same.close(takt::cancel_pending);
}

TEST(thread_pool_destructor, within_its_own_close_ends_the_program_with_a_message) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto pool = [] {
    gate go_on;
    auto owner =
        std::make_shared<takt::thread_pool>(takt::thread_pool::options_type{.core_threads = 1});
    owner->execute([&] { go_on.wait(); });
    close_what_a_queued_closure_owns(std::move(owner));
  };
  EXPECT_DEATH(
      pool(),
      "takt::thread_pool: destroyed by one of its own tasks, or within a call that ends it");
  const auto strand = [] {
    takt::manual_executor later;
    close_what_a_queued_closure_owns(std::make_shared<takt::serial_executor>(later));
  };
  EXPECT_DEATH(
      strand(),
      "takt::serial_executor: destroyed by one of its own tasks, or within a call that ends it");
}

}  // namespace

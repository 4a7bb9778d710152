#include <takt/exec/manual_executor.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using takt::manual_executor;
using takt::rejected;

static_assert(takt::executor<manual_executor>);
static_assert(!takt::may_run_inline<manual_executor>);

TEST(manual_executor, runs_one_or_all_in_order_and_only_when_told) {
  manual_executor later;
  std::string order;
  for (const char c : {'a', 'b', 'c'}) later.execute([&order, c] { order += c; });
  EXPECT_EQ(order, "");
  EXPECT_EQ(later.queued(), 3U);
  EXPECT_TRUE(later.poll_one());
  EXPECT_EQ(order, "a");
  EXPECT_EQ(later.poll(), 2U);
  EXPECT_EQ(order, "abc");
  EXPECT_FALSE(later.poll_one());
}

TEST(manual_executor, runs_what_tasks_add) {
  manual_executor later;
  int ran = 0;
  later.execute([&] {
    ++ran;
    later.execute([&] { ++ran; });
  });
  EXPECT_EQ(later.poll(), 2U);
  EXPECT_EQ(ran, 2);
}

TEST(manual_executor, errors_leave_run_one_and_the_rest_can_be_run) {
  manual_executor later;
  later.execute([] { throw std::runtime_error("x"); });
  auto f = later.submit([]() -> int { throw std::logic_error("y"); });
  EXPECT_THROW(later.poll_one(), std::runtime_error);
  EXPECT_EQ(later.poll(), 1U);
  EXPECT_THROW(f.get(), std::logic_error);
  EXPECT_EQ(later.totals().failed, 2U);
  EXPECT_EQ(later.totals().pending(), 0U);
}

TEST(manual_executor, after_shutdown_it_rejects_and_still_runs) {
  manual_executor later;
  auto f = later.submit([] { return 1; });
  later.shutdown();
  EXPECT_TRUE(later.is_shutdown());
  EXPECT_THROW(later.execute([] {}), rejected);
  later.poll();
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(later.totals().rejected, 1U);
}

TEST(manual_executor, shutdown_now_gives_back_and_asks_what_runs_to_stop) {
  manual_executor later;
  bool asked = false;
  later.execute([&](std::stop_token stop) {
    auto unstarted = later.shutdown_now();
    asked = stop.stop_requested();
    EXPECT_EQ(unstarted.size(), 1U);
  });
  later.execute([] {});
  later.poll();
  EXPECT_TRUE(asked);
  EXPECT_EQ(later.totals().returned, 1U);
}

TEST(manual_executor, the_destructor_cancels) {
  takt::future<void> f;
  {
    manual_executor later;
    f = later.submit([] {});
  }
  EXPECT_TRUE(f.is_cancelled());
}

TEST(manual_executor, an_empty_task_is_an_error) {
  manual_executor later;
  EXPECT_THROW(later.execute(takt::task()), std::invalid_argument);
  EXPECT_THROW(later.execute(std::function<void()>()), std::invalid_argument);
}

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

// In the child process, a thread that does not exist there is within shutdown_now() for ever.
TEST(manual_executor, does_not_wait_in_a_child_process) {
  auto later = std::make_unique<manual_executor>();
  takt_test::gate begun;
  takt_test::gate asked;
  takt_test::gate go_on;
  auto f = later->submit([&](const takt::sync::stop_token& stop) {
    const takt::sync::stop_callback on_stop(stop, [&] {
      asked.open();
      go_on.wait();
    });
    begun.open();
    asked.wait();
  });
  takt::sync::thread runs([&] { later->poll(); });
  begun.wait();
  takt::sync::thread ends([&] { static_cast<void>(later->shutdown_now()); });
  asked.wait();
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(30);  // kills the child if it hangs
    later.reset();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  go_on.open();
  runs.join();
  ends.join();
  EXPECT_TRUE(f.is_ready());
}

#endif

}  // namespace

// Services do nothing in a child process after fork(): their threads do not exist there, and their
// locks are in an unknown state.
#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/file_work_queue.hpp>
#include <takt/service/log_service.hpp>
#include <takt/service/memory_work_queue.hpp>
#include <takt/service/pipeline.hpp>
#include <takt/service/service_group.hpp>
#include <takt/service/stop_signals.hpp>
#include <takt/service/task_scope.hpp>

#include "../../tests/support/pools.hpp"
#include "../../tests/support/temporary_folder.hpp"

namespace {

using takt_test::gate;

// Calls `what` in a child process. True if the child exits normally.
template <class F>
testing::AssertionResult works_in_a_child(F what) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // ends a child that hangs
    what();
    _exit(0);
  }
  int status = -1;
  if (child == -1 || waitpid(child, &status, 0) != child) {
    return testing::AssertionFailure() << "there is no child process";
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "status " << status;
}

TEST(in_a_child_process, a_scope_does_not_wait_for_its_tasks) {
  std::stop_source outer;
  gate begun;
  gate go_on;
  auto scope =
      std::make_unique<takt::task_scope<void>>(takt::task_scope_options{.stop = outer.get_token()});
  scope->spawn([&] {
    begun.open();
    go_on.wait();
  });
  begun.wait();
  EXPECT_TRUE(works_in_a_child([&] { scope.reset(); }));
  go_on.open();
  EXPECT_EQ(scope->join().size(), 1u);
}

// A thread of the parent waits in the group, whose service has not ended.
TEST(in_a_child_process, a_group_stops_nothing) {
  gate never_ends;
  int told = 0;
  auto group = std::make_unique<takt::service_group>();
  group->add("service", {.shutdown = [&] { ++told; },
                         .await_end =
                             [&](auto, const auto&) {
                               ++told;
                               return true;
                             }});
  group->start();
  takt::sync::thread waits([&] { group->wait_for_request(); });
  for (int i = 0; i < 20; ++i) {  // some of them while that thread holds the lock
    EXPECT_TRUE(works_in_a_child([&] {
      group.reset();
      if (told != 0) _exit(1);
    }));
  }
  group->request_stop();
  waits.join();
}

TEST(in_a_child_process, signals_are_unblocked_and_nothing_is_waited_for) {
  auto signals =
      std::make_unique<takt::stop_signals>(takt::stop_signals_options{.signals = {SIGUSR1}});
  const takt::sync::stop_token stop = signals->stop_token();
  EXPECT_TRUE(works_in_a_child([&] {
    signals.reset();
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    if (sigismember(&now, SIGUSR1) == 1) _exit(1);
  }));
  EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
  takt_test::until_stopped(stop);  // the parent is not affected
}

TEST(in_a_child_process, an_object_of_the_parent_leaves_the_signal_to_one_of_the_child) {
  auto inherited =
      std::make_unique<takt::stop_signals>(takt::stop_signals_options{.signals = {SIGUSR1}});
  EXPECT_TRUE(works_in_a_child([&] {
    {
      const takt::stop_signals own{{.signals = {SIGUSR1}}};
      inherited.reset();
      kill(getpid(), SIGUSR1);  // would end the process
      takt_test::until_stopped(own.stop_token());
    }
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    if (sigismember(&now, SIGUSR1) == 1) _exit(1);
  }));
}

// Another thread makes and destroys objects all the time, and holds their common lock most of it.
TEST(in_a_child_process, signals_of_its_own_can_be_waited_for) {
  takt::sync::atomic<bool> is_over{false};
  takt::sync::thread user([&] {
    while (!is_over) const takt::stop_signals busy{{.signals = {SIGUSR2}}};
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(works_in_a_child([&] {
      const takt::stop_signals own{{.signals = {SIGUSR1}}};
      kill(getpid(), SIGUSR1);
      takt_test::until_stopped(own.stop_token());
    }));
  }
  is_over = true;
  user.join();
}

TEST(in_a_child_process, a_log_is_left_alone) {
  gate begun;
  gate go_on;
  auto log = std::make_unique<takt::log_service>(takt::to_function([&](std::string_view) {
    begun.open();
    go_on.wait();
  }));
  log->log("one");
  begun.wait();
  EXPECT_TRUE(works_in_a_child([&] { log.reset(); }));
  go_on.open();
  EXPECT_TRUE(log->close(takt::drain));
  EXPECT_EQ(log->statistics().written, 1u);
}

TEST(in_a_child_process, a_pipeline_is_left_alone) {
  gate begun;
  gate go_on;
  auto line = std::unique_ptr<takt::pipeline>(new takt::pipeline(  // NOLINT: it cannot be moved
      takt::pipeline::from<int>([](auto& out) { out.push(1); }).into([&](int) {
        begun.open();
        go_on.wait();
      })));
  begun.wait();
  EXPECT_TRUE(works_in_a_child([&] { line.reset(); }));
  go_on.open();
  line->join();
}

TEST(in_a_child_process, a_crawler_is_left_alone) {
  gate begun;
  gate go_on;
  takt::memory_work_queue list;
  list.enqueue({.key = "a"});
  takt::thread_pool pool({.core_threads = 1});
  auto crawl = std::make_unique<takt::crawler>(pool, list, [&](const auto&, const auto&) {
    begun.open();
    go_on.wait();
    return std::vector<takt::work_item>{};
  });
  crawl->start();
  begun.wait();
  EXPECT_TRUE(works_in_a_child([&] { crawl.reset(); }));
  go_on.open();
  EXPECT_TRUE(crawl->close(takt::drain));
  EXPECT_EQ(list.counts().completed, 1u);
}

// Another thread uses the queue all the time, and holds the lock most of it.
TEST(in_a_child_process, a_list_in_a_file_ends_without_the_lock) {
  const takt_test::temporary_folder folder;
  const std::filesystem::path file = folder / "list";
  auto list = std::make_unique<takt::file_work_queue>(file);
  takt::sync::atomic<bool> is_over{false};
  takt::sync::thread user([&] {
    for (int i = 0; !is_over; ++i) list->enqueue({.key = std::to_string(i)});
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(works_in_a_child([&] { list.reset(); }));
  is_over = true;
  user.join();
  const takt::work_counts counts = list->counts();
  list.reset();
  EXPECT_EQ(takt::file_work_queue(file).counts(), counts);
}

}  // namespace

#endif

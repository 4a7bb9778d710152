// Errors of the sink and of the executor of a log_service.
#include <exception>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/service/log_service.hpp>

#include "recording_sink.hpp"

namespace {

using takt::log_service;
using takt::log_statistics;
using takt::sync::thread;
using takt_test::expect_ended;
using takt_test::into;
using takt_test::record;
using testing::ElementsAre;

// Counts its calls.
class counting_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled kind, const std::exception_ptr&) const noexcept override {
    EXPECT_EQ(kind, takt::unhandled::uncaught);
    told.fetch_add(1);
  }
  mutable takt::sync::atomic<int> told{0};
};

TEST(log_service_errors, a_sink_that_throws_fails_the_producers) {
  record r;
  r.on_write = [](std::string_view line) {
    if (line == "bad") throw std::runtime_error("no disk");
  };
  const counting_hook hook;
  takt::manual_clock time;
  takt::manual_executor later;
  log_service log(
      into(r),
      {.capacity = 3, .flush_every = 1, .executor = later, .time = &time, .unhandled = &hook});
  log.log("good");
  log.log("bad");
  log.log("queued");
  later.poll();
  EXPECT_THROW(log.log("later"), std::runtime_error);
  EXPECT_EQ(hook.told.load(), 1);
  EXPECT_THAT(r.lines, ElementsAre("good"));
  EXPECT_NE(log.error(), nullptr);
  const log_statistics s = log.statistics();
  EXPECT_EQ(s.accepted, 3u);
  EXPECT_EQ(s.written, 1u);
  EXPECT_EQ(s.failed, 2u);
  expect_ended(log, r);
  EXPECT_THAT(log.shutdown_now(), ElementsAre("bad", "queued"));
  EXPECT_EQ(log.statistics().pending(), 0u);
}

TEST(log_service_errors, who_waits_for_room_is_failed_too) {
  record r;
  takt::manual_clock time;
  r.on_write = [&](std::string_view) {
    time.wait_for_waiters(1);  // the second producer waits for the room of the second line
    throw std::runtime_error("no disk");
  };
  const counting_hook hook;
  takt::manual_executor later;
  log_service log(into(r), {.capacity = 1, .executor = later, .time = &time, .unhandled = &hook});
  log.log("one");
  takt::sync::atomic<int> failed{0};
  const auto produce = [&] {
    try {
      log.log("more");
    } catch (const std::runtime_error&) {
      failed.fetch_add(1);
    }
  };
  thread first(produce);
  time.wait_for_waiters(1);
  thread second(produce);
  time.wait_for_waiters(2);
  later.poll();
  first.join();
  second.join();
  later.poll();
  EXPECT_GE(failed.load(), 1);
  EXPECT_EQ(log.statistics().accepted, log.statistics().failed);
  EXPECT_EQ(log.shutdown_now().size(), log.statistics().failed);
  expect_ended(log, r);
}

TEST(log_service_errors, lines_since_the_last_flush_fail_together) {
  record r;
  r.on_flush = [&] {
    if (r.flushes == 2) throw std::runtime_error("no disk");
  };
  const counting_hook hook;
  takt::manual_executor later;
  log_service log(into(r), {.flush_every = 2, .executor = later, .unhandled = &hook});
  for (const char* line : {"1", "2", "3", "4", "5"}) log.log(line);
  later.poll();
  EXPECT_EQ(log.statistics().written, 2u);
  EXPECT_EQ(log.statistics().failed, 3u);
  EXPECT_THAT(log.shutdown_now(), ElementsAre("3", "4", "5"));
  expect_ended(log, r);
}

TEST(log_service_errors, a_sink_that_cannot_be_closed_is_reported) {
  record r;
  r.on_close = [] { throw std::runtime_error("still dirty"); };
  const counting_hook hook;
  log_service log(into(r), {.unhandled = &hook});
  log.log("one");
  log.close(takt::drain);
  EXPECT_EQ(hook.told.load(), 1);
  EXPECT_NE(log.error(), nullptr);
  EXPECT_EQ(log.statistics().written, 1u);
  expect_ended(log, r);
}

TEST(log_service_errors, an_executor_that_refuses_or_drops_it_fails_it) {
  const counting_hook hook;
  record refused;
  takt::manual_executor shut;
  shut.shutdown();
  log_service first(into(refused), {.executor = shut, .unhandled = &hook});
  EXPECT_TRUE(first.log("one"));  // accepted, and then the drain is dropped
  EXPECT_THROW(first.log("two"), std::runtime_error);
  EXPECT_THAT(first.shutdown_now(), ElementsAre("one"));
  EXPECT_EQ(first.statistics().failed, 1u);
  expect_ended(first, refused);

  record dropped;
  takt::manual_executor later;
  log_service second(into(dropped), {.executor = later, .unhandled = &hook});
  EXPECT_TRUE(second.log("one"));
  {
    const takt::task_list gone = later.shutdown_now();
  }
  EXPECT_THROW(second.log("two"), std::runtime_error);
  EXPECT_THAT(second.shutdown_now(), ElementsAre("one"));
  expect_ended(second, dropped);
  EXPECT_EQ(hook.told.load(), 2);
}

TEST(log_service_errors, a_full_disk_loses_nothing) {
  const counting_hook hook;
  takt::manual_executor later;
  log_service log(takt::to_file("/dev/full"), {.executor = later, .unhandled = &hook});
  log.log("one");
  log.log("two");
  later.poll();
  EXPECT_THROW(log.log("three"), std::system_error);
  EXPECT_EQ(log.statistics().failed, 2u);
  EXPECT_THAT(log.shutdown_now(), ElementsAre("one", "two"));
}

}  // namespace

#include <takt/service/log_service.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>

#include "../../tests/support/pools.hpp"
#include "recording_sink.hpp"

namespace {

using namespace std::chrono_literals;
using takt::log_service;
using takt::log_sink;
using takt::rejection;
using takt::when_full;
using takt::sync::stop_source;
using takt::sync::thread;
using takt_test::expect_ended;
using takt_test::into;
using takt_test::record;
using takt_test::rejection_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(log_service, writes_lines_in_their_order_and_closes_once) {
  record r;
  log_service log(into(r));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(log.log(std::to_string(i)));
  EXPECT_TRUE(log.close(takt::drain));
  ASSERT_EQ(r.lines.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(r.lines[static_cast<std::size_t>(i)], std::to_string(i));
  EXPECT_GE(r.flushes, 1);
  EXPECT_EQ(log.statistics().written, 100u);
  expect_ended(log, r);
}

TEST(log_service, is_flushed_when_there_is_nothing_left_and_every_so_often) {
  record r;
  takt::manual_executor later;
  log_service log(into(r), {.flush_every = 2, .executor = later});
  for (int i = 0; i < 5; ++i) log.log("line");
  later.poll();
  EXPECT_EQ(r.flushes, 3);
  EXPECT_EQ(log.statistics().written, 5u);
  log.shutdown();
  expect_ended(log, r);
}

TEST(log_service, writes_on_an_executor_and_takes_no_thread_while_idle) {
  record r;
  takt::manual_executor later;
  log_service log(into(r), {.executor = later});
  EXPECT_EQ(later.queued(), 0u);
  log.log("one");
  log.log("two");
  EXPECT_EQ(later.queued(), 1u);
  EXPECT_EQ(log.statistics().pending(), 2u);
  later.poll();
  EXPECT_THAT(r.lines, ElementsAre("one", "two"));
  log.log("three");
  log.shutdown();
  EXPECT_FALSE(log.is_terminated());
  EXPECT_EQ(rejection_of([&] { log.log("late"); }), rejection::shut_down);
  later.poll();
  EXPECT_THAT(r.lines, ElementsAre("one", "two", "three"));
  expect_ended(log, r);
}

TEST(log_service, writes_at_once_on_an_inline_executor) {
  record r;
  log_service log(into(r), {.executor = takt::inline_executor()});
  log.log("one");
  EXPECT_THAT(r.lines, ElementsAre("one"));
}

TEST(log_service, a_full_queue_drops_fails_or_waits) {
  record r;
  takt::manual_executor later;
  log_service drops(into(r), {.capacity = 1, .rejection = when_full::drop(), .executor = later});
  EXPECT_TRUE(drops.log("one"));
  EXPECT_FALSE(drops.log("two"));
  EXPECT_EQ(drops.statistics().dropped, 1u);
  EXPECT_EQ(drops.statistics().accepted, 1u);

  log_service fails(into(r), {.capacity = 1, .rejection = when_full::fail(), .executor = later});
  EXPECT_TRUE(fails.log("one"));
  EXPECT_EQ(rejection_of([&] { fails.log("two"); }), rejection::saturated);
  EXPECT_EQ(fails.statistics().refused, 1u);

  takt::manual_clock time;
  log_service waits(
      into(r), {.capacity = 1, .rejection = when_full::wait(1s), .executor = later, .time = &time});
  EXPECT_TRUE(waits.log("one"));
  thread late([&] { EXPECT_EQ(rejection_of([&] { waits.log("two"); }), rejection::timed_out); });
  time.wait_for_waiters(1);
  time.advance(1s);
  late.join();
  stop_source stop;
  thread stopped([&] { EXPECT_FALSE(waits.log("three", stop.get_token())); });
  time.wait_for_waiters(1);
  stop.request_stop();
  stopped.join();
  later.poll();
}

TEST(log_service, who_waits_for_room_at_the_shutdown_is_written) {
  record r;
  takt::manual_clock time;
  takt::manual_executor later;
  log_service log(into(r), {.capacity = 1, .executor = later, .time = &time});
  log.log("one");
  thread reserved([&] { EXPECT_TRUE(log.log("two")); });
  time.wait_for_waiters(1);
  log.shutdown();
  log.shutdown();
  EXPECT_EQ(rejection_of([&] { log.log("three"); }), rejection::shut_down);
  later.poll();
  reserved.join();
  later.poll();  // if the line came after the first drain had ended
  EXPECT_THAT(r.lines, ElementsAre("one", "two"));
  expect_ended(log, r);
}

TEST(log_service, shutdown_now_gives_back_what_was_not_written_and_lets_all_go) {
  record r;
  takt::manual_clock time;
  takt::manual_executor later;
  log_service log(into(r), {.capacity = 2, .executor = later, .time = &time});
  log.log("one");
  log.log("two");
  thread waits([&] { EXPECT_EQ(rejection_of([&] { log.log("three"); }), rejection::shut_down); });
  time.wait_for_waiters(1);
  EXPECT_THAT(log.shutdown_now(), ElementsAre("one", "two"));
  EXPECT_THAT(log.shutdown_now(), ElementsAre());
  waits.join();
  EXPECT_EQ(log.statistics().returned, 2u);
  EXPECT_EQ(log.statistics().refused, 1u);
  expect_ended(log, r);
  later.poll();
  EXPECT_TRUE(r.lines.empty());
}

// The version in Java Concurrency in Practice closes the file during the write.
TEST(log_service, the_sink_is_closed_after_the_write_that_runs) {
  for (const bool own_thread : {true, false}) {
    record r;
    takt::promise<void> begun;
    takt::promise<void> may_end;
    auto begins = begun.get_future();
    auto ends = may_end.get_future();
    r.on_write = [&](std::string_view) {
      begun.set_value();
      ends.wait();
    };
    takt::manual_clock time;
    takt::thread_pool pool({.core_threads = 1});
    log_service::options_type how{.time = &time};
    if (!own_thread) how.executor = pool;
    log_service log(into(r), how);
    log.log("one");
    log.log("two");
    begins.wait();
    log.shutdown();
    EXPECT_FALSE(log.await_termination(0s));
    EXPECT_THAT(log.shutdown_now(), ElementsAre("two"));
    EXPECT_FALSE(log.is_terminated());
    EXPECT_EQ(r.closes, 0);
    may_end.set_value();
    log.await_termination();
    EXPECT_THAT(r.lines, ElementsAre("one"));
    EXPECT_EQ(log.statistics().written, 1u);
    EXPECT_EQ(log.statistics().returned, 1u);
    expect_ended(log, r);
  }
}

TEST(log_service, the_destructor_discards_and_shutdown_needs_no_line) {
  record r;
  takt::manual_executor later;
  {
    log_service log(into(r), {.executor = later});
    log.log("one");
  }
  EXPECT_TRUE(r.lines.empty());
  EXPECT_EQ(r.closes, 1);
  later.poll();

  record unused;
  log_service log(into(unused));
  log.shutdown();
  log.await_termination();
  EXPECT_EQ(unused.closes, 1);
  expect_ended(log, unused);
}

// The objects that the sink refers to may not outlive the service. A queued drain does not keep the
// sink.
TEST(log_service, the_sink_is_gone_with_the_service) {
  takt::manual_executor later;
  auto held = std::make_shared<int>();
  {
    log_service log(takt::to_function([held](std::string_view) {}), {.executor = later});
    log.log("one");
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  later.poll();
}

// Closing may take long. The private thread does it, not the thread that shuts the service down.
TEST(log_service, is_closed_by_its_own_thread) {
  for (const bool at_once : {true, false}) {
    record r;
    takt::sync::thread::id by;
    r.on_close = [&] { by = takt::sync::this_thread_id(); };
    log_service log(into(r));
    if (at_once) {
      log.shutdown_and_cancel();
    } else {
      log.shutdown();
    }
    log.await_termination();
    EXPECT_NE(by, takt::sync::this_thread_id());
    expect_ended(log, r);
  }
}

TEST(log_service, the_destructor_waits_for_the_line_that_is_being_written) {
  record r;
  takt::promise<void> begun;
  const auto begins = begun.get_future();
  log_service* self = nullptr;
  r.on_write = [&](std::string_view) {
    begun.set_value();
    while (!self->is_shutdown()) takt::sync::yield();
    for (int i = 0; i < 1000; ++i) takt::sync::yield();
  };
  {
    log_service log(into(r));
    self = &log;
    log.log("one");
    begins.wait();
  }
  EXPECT_THAT(r.lines, ElementsAre("one"));
  EXPECT_EQ(r.closes, 1);
}

TEST(log_service, close_that_runs_out_of_time_discards_and_counts) {
  record r;
  takt::manual_executor later;
  log_service log(into(r), {.executor = later});
  log.log("one");
  EXPECT_FALSE(log.close(takt::drain_for(0s)));
  EXPECT_EQ(log.statistics().discarded, 1u);
  expect_ended(log, r);
}

TEST(log_service, its_own_sink_may_log_and_shut_it_down_but_not_wait) {
  record r;
  log_service* self = nullptr;
  r.on_write = [&](std::string_view line) {
    if (line == "first") {
      self->log("from the sink");  // there is room
      EXPECT_EQ(rejection_of([&] { self->log("no room"); }), rejection::saturated);
    } else {
      self->shutdown();
      EXPECT_THROW(self->await_termination(), std::system_error);
      EXPECT_THROW(self->close(takt::drain), std::system_error);
      EXPECT_EQ(rejection_of([&] { self->log("late"); }), rejection::shut_down);
    }
  };
  takt::manual_executor later;
  log_service log(into(r), {.capacity = 1, .executor = later});
  self = &log;
  log.log("first");
  later.poll();
  EXPECT_THAT(r.lines, ElementsAre("first", "from the sink"));
  expect_ended(log, r);
}

// Destroys its service at the first write, or else in close(). The test does not wait for that
// thread: the objects that it uses are shared.
class ending_sink final : public log_sink {
 public:
  struct state {
    std::unique_ptr<log_service> log;
    takt::promise<void> made;
    takt::promise<void> closed;
    takt::future<void> is_made = made.get_future();
  };
  explicit ending_sink(std::shared_ptr<state> with) : with_(std::move(with)) {}
  void write(std::string_view) override {
    with_->is_made.wait();
    with_->log.reset();
  }
  void close() override {
    const std::shared_ptr<state> alive = with_;
    alive->log.reset();
    alive->closed.set_value();
  }

 private:
  std::shared_ptr<state> with_;
};

TEST(log_service, may_be_destroyed_by_its_sink) {
  takt::thread_pool pool({.core_threads = 1});
  for (const bool own_thread : {true, false}) {
    for (const bool in_write : {true, false}) {
      const auto with = std::make_shared<ending_sink::state>();
      const auto closed = with->closed.get_future();
      log_service::options_type how;
      if (!own_thread) how.executor = pool;
      with->log = std::make_unique<log_service>(std::make_unique<ending_sink>(with), how);
      if (in_write) {
        with->log->log("one");
        with->made.set_value();
      } else {
        with->log->shutdown();
      }
      closed.wait();
    }
  }
  pool.close(takt::drain);
}

// A task of a one-thread pool fills the queue that only this pool could empty: the pool adds a
// thread.
TEST(log_service, a_task_that_waits_for_its_own_pool_to_write) {
  record r;
  takt::thread_pool pool({.core_threads = 1});
  log_service log(into(r), {.capacity = 1, .executor = pool});
  pool.submit([&] {
        for (int i = 0; i < 5; ++i) log.log(std::to_string(i));
      })
      .get();
  log.close(takt::drain);
  EXPECT_EQ(r.lines.size(), 5u);
}

TEST(log_service, says_what_is_wrong_with_its_options) {
  const auto said = [](const log_service::options_type& how, bool with_sink = true) -> std::string {
    record r;
    try {
      const log_service log(with_sink ? into(r) : nullptr, how);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_THAT(said({.capacity = 0}), HasSubstr("capacity is 0, and has to be at least 1"));
  EXPECT_THAT(said({.flush_every = 0}), HasSubstr("flush_every is 0"));
  EXPECT_THAT(said({.time = nullptr}), HasSubstr("time is null"));
  EXPECT_THAT(said({.unhandled = nullptr}), HasSubstr("unhandled is null"));
  EXPECT_THAT(said({}, false), HasSubstr("sink is null"));
}

}  // namespace

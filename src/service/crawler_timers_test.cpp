// Delayed visits.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/memory_work_queue.hpp>

#include "crawling.hpp"

namespace {

using namespace std::chrono_literals;
using takt::crawler;
using takt::memory_work_queue;
using takt::work_counts;
using takt::work_item;
using takt_test::expect_balance;
using takt_test::items;
using testing::ElementsAre;

// Visits of one host are a second apart. An event loop with a manual clock is the executor and the
// timers.
class polite : public testing::Test {
 protected:
  takt::manual_clock time;
  takt::event_loop loop{{.time = &time}};
  memory_work_queue list;
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> visited;
  std::map<char, takt::clock::time_point> free_at;
  takt::clock::time_point began = time.now();

  crawler::options_type how(std::size_t visits, std::size_t waiting = 1000) {
    return {.visits = visits,
            .not_before =
                [this](const work_item& item) {
                  takt::clock::time_point& next = free_at[item.key[0]];
                  const auto mine = std::max(next, time.now());
                  next = mine + 1s;
                  return mine;
                },
            .timers = &loop,
            .waiting = waiting,
            .time = &time};
  }
  crawler::visit visit() {
    return [this](const work_item& item, const auto&) {
      visited.emplace_back(item.key, time.now() - began);
      return items{};
    };
  }
  void run_until_idle() {
    while (loop.poll() != 0) {
    }
  }
};

TEST_F(polite, visits_wait_for_their_time_and_keep_nobody_else_waiting) {
  list.enqueue(items{{"a1"}, {"a2"}, {"a3"}, {"b1"}, {"b2"}});
  crawler crawl(loop, list, visit(), how(1));
  crawl.start();
  crawl.shutdown();
  run_until_idle();
  EXPECT_THAT(visited, ElementsAre(testing::Pair("a1", 0s), testing::Pair("b1", 0s)));
  time.advance(1s);
  run_until_idle();
  time.advance(1s);
  run_until_idle();
  EXPECT_THAT(visited,
              ElementsAre(testing::Pair("a1", 0s), testing::Pair("b1", 0s), testing::Pair("a2", 1s),
                          testing::Pair("b2", 1s), testing::Pair("a3", 2s)));
  expect_balance(crawl);
}

TEST_F(polite, so_many_wait_at_a_time) {
  list.enqueue(items{{"a1"}, {"a2"}, {"a3"}, {"b1"}});
  crawler crawl(loop, list, visit(), how(2, 1));
  crawl.start();
  run_until_idle();
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 1, .completed = 1}));
  time.advance(1s);
  run_until_idle();
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 1, .claimed = 1, .completed = 2}));
}

TEST_F(polite, what_waits_goes_back_to_the_list_at_once_when_it_is_stopped) {
  list.enqueue(items{{"a1"}, {"a2"}, {"a3"}});
  crawler crawl(loop, list, visit(), how(2));
  crawl.start();
  run_until_idle();
  EXPECT_EQ(list.counts().claimed, 2u);
  crawl.shutdown_and_cancel();
  EXPECT_TRUE(crawl.is_terminated());
  EXPECT_EQ(list.incomplete(), (items{{"a2"}, {"a3"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
  EXPECT_EQ(crawl.totals().returned, 2u);
  EXPECT_EQ(crawl.error(), nullptr);
  EXPECT_EQ(loop.totals().pending(), 0u) << "the timers have nothing of it any more";
  expect_balance(crawl);
}

// An item that is due while the executor has enough visits is ready: neither the executor nor the
// timers have it.
TEST_F(polite, what_is_due_and_has_no_room_goes_back_to_the_list_when_it_is_stopped) {
  takt::manual_executor visits;
  list.enqueue(items{{"a1"}, {"a2"}});
  crawler crawl(visits, list, visit(), how(1));
  crawl.start();  // the executor has a1
  EXPECT_EQ(visits.queued(), 1u);
  EXPECT_EQ(list.counts().claimed, 1u);
  EXPECT_EQ(crawl.add({.key = "b1"}), 1u);
  EXPECT_TRUE(visits.poll_one());  // then a2 is delayed, and the executor has b1
  EXPECT_EQ(list.counts().claimed, 2u);
  time.advance(1s);
  run_until_idle();
  EXPECT_EQ(visits.queued(), 1u) << "no room for a2";
  crawl.shutdown_and_cancel();
  EXPECT_EQ(list.incomplete(), (items{{"a2"}, {"b1"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
  EXPECT_EQ(crawl.totals().returned, 2u);
  expect_balance(crawl);
}

TEST_F(polite, timers_that_are_closed_stop_it) {
  takt::wheel_scheduler wheel({.time = &time});
  auto timers = wheel.on(loop);
  list.enqueue(items{{"a1"}, {"a2"}, {"a3"}});
  crawler::options_type with = how(2);
  with.timers = &timers;
  crawler crawl(loop, list, visit(), with);
  crawl.start();
  run_until_idle();
  EXPECT_EQ(list.counts().claimed, 2u);
  wheel.close(takt::at_close::cancel);
  run_until_idle();
  crawl.await_termination();
  EXPECT_NE(crawl.error(), nullptr);
  EXPECT_EQ(list.incomplete(), (items{{"a2"}, {"a3"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
  expect_balance(crawl);
}

// The crawler is stopped while it passes an item to the timers: they do not keep it until its time.
TEST_F(polite, what_the_timers_get_too_late_is_taken_back) {
  class stopping final : public takt::task_observer {
   public:
    void on_event(const takt::task_event& event) noexcept override {
      if (event.what == takt::task_event::kind::submitted) crawl->shutdown_and_cancel();
    }
    crawler* crawl = nullptr;
  } stop;
  takt::event_loop timers({.time = &time, .observer = &stop});
  takt::manual_executor visits;
  list.enqueue(items{{"a1"}, {"a2"}});
  crawler::options_type with = how(2);
  with.timers = &timers;
  crawler crawl(visits, list, visit(), with);
  stop.crawl = &crawl;
  crawl.start();
  EXPECT_EQ(timers.totals().submitted, 1u);
  EXPECT_EQ(timers.totals().pending(), 0u);
  EXPECT_EQ(list.incomplete(), (items{{"a1"}, {"a2"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
  expect_balance(crawl);
}

}  // namespace

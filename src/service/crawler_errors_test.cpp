// Errors of visits, of the executor and of the queue of a crawler.
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/exec/any_executor.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/memory_work_queue.hpp>

#include "../../tests/support/pools.hpp"
#include "crawling.hpp"

namespace {

using namespace std::chrono_literals;
using takt::any_executor;
using takt::crawler;
using takt::life_state;
using takt::manual_executor;
using takt::memory_work_queue;
using takt::thread_pool;
using takt::work_counts;
using takt::work_item;
using takt_test::expect_balance;
using takt_test::find_nothing;
using takt_test::gate;
using takt_test::items;
using testing::ElementsAre;

TEST(crawler_errors, puts_aside_what_fails_for_another_day) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  takt::inline_executor here;
  std::map<std::string, int> visited;
  std::vector<std::string> told;
  const auto visit = [&](const work_item& item, const auto&) {
    if (++visited[item.key] == 1 && item.key == "a") throw std::runtime_error("bad day");
    return items{};
  };
  const auto failed = [&](const work_item& item, const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      told.push_back(item.key + ": " + e.what());
    }
  };
  {
    crawler crawl(here, list, visit, {.failed = failed});
    crawl.start();
    EXPECT_EQ(visited["a"], 1);
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 0, .claimed = 1, .completed = 1}));
    EXPECT_TRUE(crawl.close(takt::drain));
    EXPECT_THAT(told, ElementsAre("a: bad day"));
    EXPECT_EQ(crawl.totals().failed, 1u);
    EXPECT_EQ(crawl.error(), nullptr);
    expect_balance(crawl);
  }
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 1, .claimed = 0, .completed = 1}));
  crawler again(here, list, visit);
  again.start();
  EXPECT_TRUE(again.close(takt::drain));
  EXPECT_EQ(visited["a"], 2);
  EXPECT_EQ(list.counts().completed, 2u);
}

TEST(crawler_errors, reports_errors_to_the_unhandled_hook) {
  memory_work_queue list;
  list.enqueue({.key = "a"});
  takt::inline_executor here;
  takt_test::recording_hook hook;
  crawler crawl(here, list,
                [](const work_item&, const auto&) -> items { throw std::runtime_error("bad day"); },
                {.unhandled = &hook});
  crawl.start();
  EXPECT_THAT(hook.uncaught(), ElementsAre("bad day"));
}

// The message of crawler::error().
std::string message(const std::exception_ptr& error) {
  if (error == nullptr) return "nothing";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST(crawler_errors, stops_if_its_executor_refuses) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  thread_pool pool({.core_threads = 1});
  pool.shutdown();
  crawler crawl(pool, list, find_nothing);
  crawl.start();
  EXPECT_TRUE(crawl.is_terminated());
  EXPECT_EQ(message(crawl.error()), takt::rejected(takt::rejection::shut_down).what());
  EXPECT_EQ(list.incomplete(), (items{{"a"}, {"b"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
  EXPECT_EQ(crawl.totals().rejected, 1u);
  expect_balance(crawl);
}

TEST(crawler_errors, stops_if_its_executor_drops_a_visit) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}, {"c"}});
  manual_executor later;
  crawler crawl(later, list, find_nothing, {.visits = 2});
  crawl.start();
  auto tasks = later.shutdown_now();
  EXPECT_EQ(crawl.state(), life_state::running);
  tasks = {};
  EXPECT_TRUE(crawl.is_terminated());
  EXPECT_EQ(message(crawl.error()), takt::rejected(takt::rejection::dropped).what());
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 0}));
  expect_balance(crawl);
}

// A thread that drops a visit is no worker when it requests stop of the others: a stop callback may
// wait for the end and destroy the crawler.
TEST(crawler_errors, may_be_destroyed_by_what_is_asked_to_stop_for_a_drop) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  manual_executor later;
  takt::sync::stop_token kept;
  std::optional<crawler> crawl(std::in_place, later, list,
                               [&](const work_item&, const takt::sync::stop_token& stop) {
                                 kept = stop;
                                 return items{};
                               });
  crawl->start();
  EXPECT_TRUE(later.poll_one());
  bool ended = false;
  const takt::sync::stop_callback on_stop(kept, [&] {
    ended = crawl->await_termination(0s);
    if (ended) crawl.reset();
  });
  static_cast<void>(later.shutdown_now());
  EXPECT_TRUE(ended);
  EXPECT_EQ(list.incomplete(), items{{"b"}});
  EXPECT_EQ(list.counts().claimed, 0u);
}

// A queue that fails on demand.
class moody_list final : public takt_test::altered_list {
 public:
  using altered_list::complete;
  std::optional<work_item> claim() override {
    if (claims_fail) throw std::runtime_error("bad day");
    return altered_list::claim();
  }
  std::size_t complete(std::string_view key, std::span<const work_item> found) override {
    if (confirms_fail) throw std::runtime_error("bad day");
    return altered_list::complete(key, found);
  }
  bool claims_fail = false;
  bool confirms_fail = false;
};

TEST(crawler_errors, a_visit_that_stops_it_is_asked_to_stop_at_once) {
  memory_work_queue list;
  list.enqueue({.key = "a"});
  manual_executor later;
  std::optional<crawler> crawl;
  bool asked = false;
  crawl.emplace(later, list, [&](const work_item&, const std::stop_token& stop) {
    crawl->shutdown_and_cancel();
    asked = stop.stop_requested();
    return items{};
  });
  crawl->start();
  EXPECT_TRUE(later.poll_one());
  EXPECT_TRUE(asked);
  EXPECT_TRUE(crawl->is_terminated());
}

// A thread that reports an error is no worker either when it requests stop.
TEST(crawler_errors, may_be_destroyed_by_what_is_asked_to_stop_for_an_error) {
  enum class trouble : std::uint8_t {
    visit_then_refusal,
    visit_then_no_claim,
    no_confirmation,
    no_confirmation_inline,
    add_refused,
    start_refused,
    shutdown_refused,
  };
  using enum trouble;
  for (const trouble t : {visit_then_refusal, visit_then_no_claim, no_confirmation,
                          no_confirmation_inline, add_refused, start_refused, shutdown_refused}) {
    SCOPED_TRACE(testing::Message() << "trouble " << static_cast<int>(t));
    moody_list list;
    list.enqueue({.key = "a"});
    manual_executor later;
    takt::inline_executor here;
    std::optional<crawler> crawl;
    bool ended = false;
    const auto wait = [&] {
      try {
        ended = crawl->await_termination(0s);
      } catch (const std::system_error&) {  // thrown within a visit
      }
      if (ended) crawl.reset();
    };
    std::optional<takt::sync::stop_callback<decltype(wait)>> on_stop;
    const auto visit = [&](const work_item&, const takt::sync::stop_token& stop) {
      on_stop.emplace(stop, wait);
      if (t == visit_then_refusal) later.shutdown();
      list.claims_fail = t == visit_then_no_claim;
      list.confirms_fail = t == no_confirmation || t == no_confirmation_inline;
      return items{{"b"}};
    };
    const auto where = t == no_confirmation_inline ? any_executor(here) : any_executor(later);
    crawl.emplace(where, list, visit, crawler::options_type{.visits = 2});
    crawl->start();
    EXPECT_EQ(later.poll_one(), t != no_confirmation_inline);
    if (t >= add_refused) {
      later.shutdown();
      list.enqueue({.key = "c"});
      if (t == add_refused) crawl->add({.key = "d"});
      if (t == start_refused) crawl->start();
      if (t == shutdown_refused) crawl->shutdown();
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(list.counts().claimed, 0u);
  }
}

// A visit that opens the gate and throws cancelled when stop is requested.
crawler::visit until_stopped(gate& begun) {
  return [&begun](const work_item&, const std::stop_token& stop) -> items {
    begun.open();
    takt_test::until_stopped(stop);
    throw takt::cancelled();
  };
}

TEST(crawler_errors, asks_visits_to_stop_when_their_executor_does) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  thread_pool pool({.core_threads = 1});
  gate begun;
  crawler crawl(pool, list, until_stopped(begun));
  crawl.start();
  begun.wait();
  pool.shutdown_and_cancel();
  crawl.await_termination();
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .completed = 0}));
  expect_balance(crawl);
}

// The executor has no queued visit that it would drop.
TEST(crawler_errors, asks_the_only_visit_to_stop_when_its_executor_does) {
  memory_work_queue list;
  list.enqueue({.key = "a"});
  thread_pool pool({.core_threads = 1});
  gate begun;
  crawler crawl(pool, list, until_stopped(begun));
  crawl.start();
  begun.wait();
  pool.shutdown_and_cancel();
  pool.await_termination();
  crawl.close(takt::drain);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 1, .claimed = 0, .completed = 0}));
  expect_balance(crawl);
}

// A queue whose disk becomes full after some time.
class failing_list final : public takt_test::altered_list {
 public:
  explicit failing_list(int good) : good_(good) {}
  using altered_list::complete;
  std::size_t complete(std::string_view key, std::span<const work_item> found) override {
    if (good_-- == 0) throw takt::work_queue_error(takt::work_queue_error::reason::failed, "full");
    return altered_list::complete(key, found);
  }

 private:
  int good_;
};

TEST(crawler_errors, stops_if_its_list_cannot_keep_what_it_is_told) {
  failing_list list(2);
  list.enqueue({.key = "r"});
  takt::inline_executor here;
  crawler crawl(here, list, [](const work_item& item, const auto&) {
    return items{{item.key + "0"}, {item.key + "1"}};
  });
  crawl.start();
  EXPECT_TRUE(crawl.is_terminated());
  EXPECT_EQ(message(crawl.error()), "full");
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 2}));
  EXPECT_EQ(list.incomplete().front().key, "r1");  // was visited, and will be visited again
  expect_balance(crawl);
}

}  // namespace

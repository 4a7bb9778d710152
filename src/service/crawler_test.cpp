#include <takt/service/crawler.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/service/file_work_queue.hpp>
#include <takt/service/memory_work_queue.hpp>

#include "../../tests/support/pools.hpp"
#include "../../tests/support/temporary_folder.hpp"
#include "crawling.hpp"

namespace {

using namespace std::chrono_literals;
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
using takt_test::tally;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Records the keys of visited items, in order.
class journal {
 public:
  void add(const std::string& key) {
    const takt::detail::mutex_lock lock(mu_);
    keys_.push_back(key);
  }
  [[nodiscard]] std::vector<std::string> keys() const {
    const takt::detail::mutex_lock lock(mu_);
    return keys_;
  }

 private:
  mutable takt::detail::mutex mu_;
  std::vector<std::string> keys_ TAKT_GUARDED_BY(mu_);
};

// A tree: each item whose key is shorter than three letters has two items below it.
items below(const std::string& key) {
  return key.size() == 3 ? items{} : items{{key + "0"}, {key + "1"}};
}

TEST(crawler, visits_everything_once_in_the_order_of_the_list) {
  memory_work_queue list;
  journal visited;
  takt::inline_executor here;
  crawler crawl(here, list, [&](const work_item& item, const auto&) {
    visited.add(item.key);
    return below(item.key);
  });
  list.enqueue({.key = "r"});
  EXPECT_THAT(visited.keys(), ElementsAre());
  EXPECT_EQ(crawl.state(), life_state::running);
  crawl.start();
  crawl.start();  // does nothing: it was started
  EXPECT_THAT(visited.keys(), ElementsAre("r", "r0", "r1", "r00", "r01", "r10", "r11"));
  EXPECT_EQ(crawl.add({.key = "r"}), 0u);
  EXPECT_EQ(crawl.add({.key = "xyz"}), 1u);
  EXPECT_EQ(visited.keys().back(), "xyz");
  EXPECT_EQ(crawl.state(), life_state::running);  // add() may bring more
  EXPECT_TRUE(crawl.close(takt::drain));
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 0, .claimed = 0, .completed = 8}));
  EXPECT_EQ(crawl.totals().submitted, 8u);
  EXPECT_EQ(crawl.totals().finished, 8u);
  EXPECT_EQ(crawl.error(), nullptr);
  expect_balance(crawl);
}

TEST(crawler, does_not_recurse_on_an_executor_that_runs_at_once) {
  memory_work_queue list;
  takt::inline_executor here;
  crawler crawl(here, list, [](const work_item& item, const auto&) {
    const int n = std::stoi(item.key);
    return n == 100'000 ? items{} : items{{std::to_string(n + 1)}};
  });
  list.enqueue({.key = "0"});
  crawl.start();
  EXPECT_EQ(list.counts().completed, 100'001u);
}

TEST(crawler, has_so_many_visits_at_a_time) {
  memory_work_queue list;
  manual_executor later;
  crawler crawl(later, list, [](const work_item& item, const auto&) { return below(item.key); },
                {.visits = 3});
  list.enqueue({.key = "r"});
  crawl.start();
  EXPECT_EQ(later.queued(), 1u);
  EXPECT_TRUE(later.poll_one());
  EXPECT_EQ(later.queued(), 2u);
  EXPECT_TRUE(later.poll_one());
  EXPECT_EQ(later.queued(), 3u);
  EXPECT_TRUE(later.poll_one());
  EXPECT_EQ(later.queued(), 3u);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 1, .claimed = 3, .completed = 3}));
  later.poll();
  EXPECT_EQ(list.counts().completed, 7u);
}

TEST(crawler, shut_down_goes_on_to_the_end_and_takes_no_more) {
  memory_work_queue list;
  manual_executor later;
  crawler crawl(later, list, [](const work_item& item, const auto&) { return below(item.key); });
  list.enqueue({.key = "r"});
  crawl.start();
  crawl.shutdown();
  crawl.shutdown();
  EXPECT_EQ(takt_test::rejection_of([&] { crawl.add({.key = "x"}); }), takt::rejection::shut_down);
  EXPECT_EQ(takt_test::rejection_of([&] { crawl.start(); }), takt::rejection::shut_down);
  EXPECT_EQ(crawl.state(), life_state::shutdown);
  later.poll();
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 0, .claimed = 0, .completed = 7}));
  expect_balance(crawl);
}

TEST(crawler, ends_at_once_before_it_is_started) {
  for (const bool now : {false, true}) {
    memory_work_queue list;
    list.enqueue({.key = "r"});
    takt::inline_executor here;
    crawler crawl(here, list, find_nothing);
    now ? crawl.shutdown_and_cancel() : crawl.shutdown();
    EXPECT_TRUE(crawl.is_terminated());
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 1, .claimed = 0, .completed = 0}));
    EXPECT_THROW(crawl.start(), takt::rejected);
  }
}

// Items that had not begun, items that were cut off, and items found during the stop stay in the
// queue, although the wait for the end has timed out.
TEST(crawler, keeps_everything_when_it_is_stopped) {
  takt::manual_clock time;
  memory_work_queue list;
  list.enqueue(items{{"heeds"}, {"finds"}, {"later"}});
  thread_pool pool({.core_threads = 3});
  tally begun;
  gate go_on;
  crawler crawl(pool, list,
                [&](const work_item& item, const std::stop_token& stop) -> items {
                  begun.add();
                  takt_test::until_stopped(stop);
                  if (item.key == "heeds") throw takt::cancelled();
                  go_on.wait();
                  return {{"found"}, {"heeds"}};
                },
                {.visits = 2, .time = &time});
  crawl.start();
  begun.wait_for(2);
  crawl.shutdown_and_cancel();
  EXPECT_FALSE(crawl.await_termination(0s));
  EXPECT_EQ(crawl.state(), life_state::stop);
  EXPECT_EQ(list.counts().completed, 0u);
  EXPECT_EQ(list.incomplete(), (items{{"heeds"}, {"finds"}, {"later"}}));
  go_on.open();
  crawl.await_termination();
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 1}));
  EXPECT_EQ(list.incomplete(), (items{{"heeds"}, {"later"}, {"found"}}));
  EXPECT_EQ(crawl.totals().finished, 1u);
  EXPECT_EQ(crawl.totals().cancelled, 1u);
  EXPECT_EQ(begun.count(), 2u);
  expect_balance(crawl);
}

TEST(crawler, gives_back_what_the_executor_has_not_begun) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}, {"c"}});
  manual_executor later;
  crawler crawl(later, list, find_nothing);
  crawl.start();
  EXPECT_TRUE(later.poll_one());
  crawl.shutdown_and_cancel();
  crawl.shutdown_and_cancel();
  EXPECT_EQ(later.queued(), 2u);  // left over, without effect
  EXPECT_EQ(list.incomplete(), (items{{"b"}, {"c"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
  EXPECT_EQ(crawl.totals().returned, 2u);
  expect_balance(crawl);
  EXPECT_EQ(list.claim()->key, "b");  // claimed by another worker
  later.poll();
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 1, .claimed = 1, .completed = 1}));
  EXPECT_EQ(crawl.totals().returned, 2u);
  EXPECT_EQ(crawl.totals().started, 1u);
}

// The executor never runs a task. The crawler ends without it, and the tasks outlive the crawler
// and its queue.
TEST(crawler, ends_although_its_executor_never_runs) {
  for (const bool runs_at_last : {false, true}) {
    manual_executor never_run;
    {
      memory_work_queue list;
      list.enqueue(items{{"a"}, {"b"}, {"c"}});
      {
        crawler crawl(never_run, list, find_nothing, {.visits = 2});
        crawl.start();
        EXPECT_EQ(list.counts().claimed, 2u);
      }
      EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 0}));
    }
    EXPECT_EQ(never_run.queued(), 2u);
    if (runs_at_last) never_run.poll();
  }
}

TEST(crawler, destroys_its_callables_before_it_has_ended) {
  const auto used = std::make_shared<int>();
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  manual_executor later;
  takt::event_loop loop;
  crawler crawl(later, list, [used](const work_item&, const auto&) { return items{}; },
                {.not_before = [used](const work_item&) { return takt::steady.now(); },
                 .timers = &loop,
                 .failed = [used](const work_item&, const std::exception_ptr&) {}});
  crawl.start();
  EXPECT_TRUE(later.poll_one());
  EXPECT_GT(used.use_count(), 1);
  crawl.shutdown_and_cancel();
  EXPECT_TRUE(crawl.is_terminated());
  EXPECT_EQ(used.use_count(), 1);
}

TEST(crawler, goes_on_where_another_has_stopped) {
  const takt_test::temporary_folder folder;
  constexpr std::size_t all = 7;
  journal visited;
  int rounds = 0;
  for (; visited.keys().size() < all; ++rounds) {
    ASSERT_LT(rounds, 20);
    takt::file_work_queue list(folder / "list", {.sync = takt::work_sync::at_close});
    list.enqueue({.key = "r"});
    thread_pool pool({.core_threads = 2});
    tally visits;
    const std::size_t enough = std::min<std::size_t>(2, all - visited.keys().size());
    crawler crawl(pool, list,
                  [&](const work_item& item, const std::stop_token& stop) {
                    if (visits.count() >= enough) takt_test::until_stopped(stop);
                    if (stop.stop_requested()) throw takt::cancelled();
                    visited.add(item.key);
                    visits.add();
                    return below(item.key);
                  },
                  {.visits = 2});
    crawl.start();
    visits.wait_for(enough);
    crawl.close(takt::cancel_pending);
    expect_balance(crawl);
    EXPECT_EQ(list.counts().claimed, 0u);
    EXPECT_EQ(list.counts().completed, visited.keys().size());
  }
  EXPECT_GT(rounds, 1);
  EXPECT_THAT(visited.keys(),
              UnorderedElementsAre("r", "r0", "r1", "r00", "r01", "r10", "r11"));  // each once
}

TEST(crawler, shut_down_sees_what_others_have_added) {
  memory_work_queue list;
  takt::inline_executor here;
  crawler crawl(here, list, [](const work_item& item, const auto&) { return below(item.key); });
  crawl.start();
  list.enqueue({.key = "r"});
  EXPECT_EQ(list.counts().completed, 0u);
  crawl.shutdown();
  EXPECT_EQ(list.counts().completed, 7u);
  expect_balance(crawl);
}

TEST(crawler, its_destructor_waits_for_the_visit_that_runs) {
  memory_work_queue list;
  list.enqueue({.key = "a"});
  thread_pool pool({.core_threads = 1});
  gate begun;
  takt::sync::atomic<bool> over{false};
  {
    crawler crawl(pool, list, [&](const work_item&, const std::stop_token& stop) {
      begun.open();
      takt_test::until_stopped(stop);
      for (int i = 0; i < 1000; ++i) takt::sync::yield();
      over = true;
      return items{};
    });
    crawl.start();
    begun.wait();
  }
  EXPECT_TRUE(over);
  EXPECT_EQ(list.counts().completed, 1u);
}

// A queue that calls a function whenever an item is claimed.
class meddling_list final : public takt_test::altered_list {
 public:
  std::optional<work_item> claim() override {
    auto item = altered_list::claim();
    if (on_claim) on_claim();
    return item;
  }
  std::function<void()> on_claim;
};

// Stopped at any point while it submits an item: the item is released, and neither the executor nor
// the timers get it.
TEST(crawler, gives_back_what_it_was_about_to_hand_over) {
  const auto now = [] { return takt::steady.now(); };
  const auto later = [] { return takt::steady.now() + 1h; };
  for (const std::function<takt::clock::time_point()>& when :
       {std::function<takt::clock::time_point()>(), {now}, {later}}) {
    meddling_list list;
    list.enqueue(items{{"a"}, {"b"}});
    manual_executor executor;
    takt::event_loop timers;
    std::optional<crawler> crawl;
    const auto stop = [&] { crawl->shutdown_and_cancel(); };
    crawler::options_type how;
    if (when) {
      how.timers = &timers;
      how.not_before = [&](const work_item&) {
        stop();
        return when();
      };
    } else {
      list.on_claim = stop;
    }
    crawl.emplace(executor, list, find_nothing, how);
    crawl->start();
    EXPECT_EQ(executor.queued(), 0u);
    EXPECT_EQ(timers.totals().pending(), 0u);
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .completed = 0}));
    EXPECT_EQ(crawl->totals().returned, 1u);
    expect_balance(*crawl);
  }
}

TEST(crawler, is_destroyed_by_a_visit_that_runs_inline) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  takt::inline_executor here;
  std::unique_ptr<crawler> crawl;
  crawl = std::make_unique<crawler>(here, list, [&](const work_item&, const auto&) {
    crawl.reset();
    return items{{"c"}};
  });
  crawl->start();
  EXPECT_EQ(list.incomplete(), (items{{"b"}, {"c"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
}

TEST(crawler, is_stopped_and_destroyed_by_its_own_visit) {
  memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  thread_pool pool({.core_threads = 1});
  std::unique_ptr<crawler> crawl;
  gate ready;
  gate done;
  crawl = std::make_unique<crawler>(pool, list, [&](const work_item&, const auto&) {
    ready.wait();
    EXPECT_TRUE(takt_test::finds_deadlock([&] { crawl->await_termination(); }));
    EXPECT_TRUE(takt_test::finds_deadlock([&] { crawl->close(takt::drain); }));
    crawl->shutdown_and_cancel();
    crawl.reset();
    done.open();
    return items{{"c"}};
  });
  crawl->start();
  ready.open();
  done.wait();
  pool.close(takt::drain);
  EXPECT_EQ(list.incomplete(), (items{{"b"}, {"c"}}));
  EXPECT_EQ(list.counts().claimed, 0u);
}

TEST(crawler, says_what_is_wrong_with_its_options) {
  memory_work_queue list;
  takt::inline_executor here;
  const crawler::visit nothing = find_nothing;
  const auto refused = [&](const crawler::visit& what, const crawler::options_type& how) {
    try {
      const crawler crawl(here, list, what, how);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(nothing, {}), "");
  EXPECT_EQ(refused({}, {}), "takt::crawler: the visit is empty");
  EXPECT_EQ(refused(nothing, {.visits = 0}), "takt::crawler: visits is 0");
  EXPECT_EQ(refused(nothing, {.waiting = 0}), "takt::crawler: waiting is 0");
  EXPECT_EQ(refused(nothing, {.time = nullptr}), "takt::crawler: time is null");
  EXPECT_EQ(refused(nothing, {.unhandled = nullptr}), "takt::crawler: unhandled is null");
  EXPECT_EQ(refused(nothing, {.not_before = [](const auto&) { return takt::steady.now(); }}),
            "takt::crawler: not_before without timers");
  takt::event_loop loop;
  EXPECT_EQ(refused(nothing, {.timers = &loop}), "takt::crawler: timers without not_before");
}

// A thread that stops the crawler is no worker when it requests stop: a stop callback may wait for
// the end and destroy the crawler.
TEST(crawler, may_be_destroyed_by_what_is_asked_to_stop) {
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
  crawl->shutdown_and_cancel();
  EXPECT_TRUE(ended);
  EXPECT_EQ(list.incomplete(), items{{"b"}});
  EXPECT_EQ(list.counts().claimed, 0u);
}

}  // namespace

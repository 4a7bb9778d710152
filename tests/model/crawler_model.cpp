// The crawler under all interleavings: whenever it is stopped, each item is either completed or in
// the queue.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/memory_work_queue.hpp>
#include <takt/task/errors.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;
using items = std::vector<work_item>;

// "a" leads to "b", which leads to nothing. Counts visits that returned.
struct site {
  sync::atomic<int> visits{0};
  memory_work_queue list;

  site() { list.enqueue({.key = "a"}); }

  [[nodiscard]] crawler::visit visit() {
    return [this](const work_item& item, const sync::stop_token&) {
      visits.fetch_add(1);
      return item.key == "a" ? items{{"b"}} : items{};
    };
  }
  // A visit that throws cancelled when stop is requested.
  [[nodiscard]] crawler::visit obedient_visit() {
    return [this](const work_item& item, const sync::stop_token& stop) {
      sync::yield();
      if (stop.stop_requested()) throw cancelled();
      visits.fetch_add(1);
      return item.key == "a" ? items{{"b"}} : items{};
    };
  }
  // All found items are completed or waiting.
  void complete(const crawler& c, bool to_the_end) {
    const work_counts counts = list.counts();
    require(c.totals().pending() == 0, "the ledger balances");
    require(counts.claimed == 0, "nothing is claimed when it has ended");
    require(counts.completed == static_cast<std::size_t>(visits.load()),
            "done is what was visited to the end");
    require(counts.waiting + counts.completed == (counts.completed == 0 ? 1 : 2), "none is lost");
    if (to_the_end) require(counts.completed == 2, "it went to the end");
  }
};

TEST(crawler_model, stop_against_a_visit_that_finds_something) {
  check({.runs = 10'000}, [] {
    site s;
    thread_pool pool({.core_threads = 1});
    crawler crawl(pool, s.list, s.visit(), {.visits = 1});
    crawl.start();
    crawl.shutdown_and_cancel();
    crawl.await_termination();
    s.complete(crawl, false);
    require(crawl.error() == nullptr, "no error");
  });
}

TEST(crawler_model, stop_against_visits_that_are_cut_off) {
  check({.runs = 10'000}, [] {
    site s;
    thread_pool pool({.core_threads = 2});
    crawler crawl(pool, s.list, s.obedient_visit(), {.visits = 2});
    crawl.start();
    crawl.shutdown_and_cancel();
    crawl.await_termination();
    s.complete(crawl, false);
  });
}

TEST(crawler_model, stopped_twice_and_shut_down_at_the_same_time) {
  check({.runs = 10'000}, [] {
    site s;
    thread_pool pool({.core_threads = 1});
    crawler crawl(pool, s.list, s.obedient_visit(), {.visits = 2});
    crawl.start();
    sync::thread other([&] { crawl.shutdown_and_cancel(); });
    crawl.shutdown();
    crawl.shutdown_and_cancel();
    crawl.await_termination();
    other.join();
    s.complete(crawl, false);
  });
}

TEST(crawler_model, the_last_visit_against_shutdown) {
  check({.runs = 10'000}, [] {
    site s;
    thread_pool pool({.core_threads = 2});
    crawler crawl(pool, s.list, s.visit(), {.visits = 2});
    crawl.start();
    crawl.shutdown();
    crawl.await_termination();
    s.complete(crawl, true);
    require(crawl.state() == life_state::terminated, "it has ended");
  });
}

TEST(crawler_model, start_against_shutdown) {
  check({.runs = 10'000}, [] {
    site s;
    thread_pool pool({.core_threads = 1});
    crawler crawl(pool, s.list, s.visit());
    bool begun = true;
    sync::thread other([&] {
      try {
        crawl.start();
      } catch (const rejected&) {
        begun = false;
      }
    });
    crawl.shutdown();
    other.join();
    crawl.await_termination();
    s.complete(crawl, begun);
  });
}

// Two visits at a time, and items that are added: each thread pumps for the others.
TEST(crawler_model, add_against_visits_and_shutdown) {
  check({.runs = 10'000}, [] {
    sync::atomic<int> visits{0};
    memory_work_queue list;
    thread_pool pool({.core_threads = 2});
    crawler crawl(pool, list,
                  [&](const work_item&, const sync::stop_token&) {
                    visits.fetch_add(1);
                    return items{};
                  },
                  {.visits = 2});
    crawl.start();
    std::size_t added = 0;
    sync::thread other([&] {
      try {
        added = crawl.add(items{{"a"}, {"b"}});
      } catch (const rejected&) {
      }
    });
    crawl.add({.key = "c"});
    crawl.shutdown();
    other.join();
    crawl.await_termination();
    const work_counts counts = list.counts();
    require(counts.claimed == 0, "nothing is claimed");
    require(counts.completed == static_cast<std::size_t>(visits.load()), "done once each");
    require(counts.waiting == 0, "what it has taken is done before the end");
    require(counts.completed == 1 + added, "none is lost");
  });
}

// Without a shutdown, a lost pump_again_ would leave an item that is never visited.
TEST(crawler_model, what_add_takes_is_visited_before_the_end) {
  check({.runs = 10'000}, [] {
    memory_work_queue list;
    sync::atomic<int> visits{0};
    thread_pool pool({.core_threads = 1});
    crawler crawl(pool, list, [&](const work_item&, const sync::stop_token&) {
      visits.fetch_add(1);
      return items{};
    });
    crawl.start();
    bool added = true;
    sync::thread other([&] {
      try {
        crawl.add({.key = "a"});
      } catch (const rejected&) {
        added = false;
      }
    });
    crawl.close(drain);
    other.join();
    require(visits.load() == (added ? 1 : 0), "it is visited, or refused");
    pool.close(drain);
  });
}

TEST(crawler_model, what_is_added_is_visited) {
  check({.runs = 10'000}, [] {
    memory_work_queue list;
    thread_pool pool({.core_threads = 1});
    promise<void> all;
    auto done = all.get_future();
    sync::atomic<int> visits{0};
    crawler crawl(pool, list,
                  [&](const work_item&, const sync::stop_token&) {
                    if (visits.fetch_add(1) == 1) all.set_value();
                    return items{};
                  },
                  {.visits = 1});
    crawl.start();
    sync::thread other([&] { crawl.add({.key = "a"}); });
    crawl.add({.key = "b"});
    done.wait();
    other.join();
  });
}

TEST(crawler_model, the_executor_is_stopped_under_it) {
  for (const bool gives_back : {false, true}) {
    check({.runs = 10'000}, [gives_back] {
      site s;
      thread_pool pool({.core_threads = 1});
      crawler crawl(pool, s.list, s.obedient_visit(), {.visits = 2});
      sync::thread other([&] {
        if (gives_back) {
          static_cast<void>(pool.shutdown_now());
        } else {
          pool.shutdown();
        }
      });
      crawl.start();
      crawl.shutdown();
      crawl.await_termination();
      other.join();
      s.complete(crawl, false);
    });
  }
}

// A thread whose task is rejected is no worker when it requests stop: a stop callback may wait for
// the end.
TEST(crawler_model, what_is_asked_to_stop_for_a_refusal_waits_for_the_end) {
  check({.runs = 10'000}, [] {
    site s;
    thread_pool pool({.core_threads = 1});
    promise<sync::stop_token> kept;
    auto token = kept.get_future();
    sync::atomic<bool> first{true};
    crawler crawl(pool, s.list, [&](const work_item& item, const sync::stop_token& stop) {
      if (first.exchange(false)) kept.set_value(stop);
      return s.visit()(item, stop);
    });
    crawl.start();
    bool ended = false;
    {
      const sync::stop_callback on_stop(token.get(), [&] { ended = crawl.await_termination({}); });
      pool.shutdown();
      crawl.shutdown();
      crawl.await_termination();
    }
    require(!ended || crawl.error() != nullptr, "it was asked to for an error");
    s.complete(crawl, false);
  });
}

// A visit whose stop is requested sees what was done before the request, whatever other visits do.
TEST(crawler_model, a_visit_that_is_asked_to_stop_sees_why) {
  check({.runs = 10'000}, [] {
    memory_work_queue list;
    for (const char* const key : {"a", "b"}) list.enqueue({.key = key});
    thread_pool pool({.core_threads = 2});
    sync::var<int> reason{0};
    const auto visit = [&](const work_item& item, const sync::stop_token& stop) {
      for (int i = 0; i < 4 && item.key == "b"; ++i) {
        sync::yield();
        if (!stop.stop_requested()) continue;
        require(reason.read() == 1, "it was written before");
        throw cancelled();
      }
      return items{};
    };
    crawler crawl(pool, list, visit, {.visits = 2});
    crawl.start();
    reason.write() = 1;
    crawl.shutdown_and_cancel();
    crawl.await_termination();
  });
}

// The executor has a visit that does not begin: either the stopping thread or the executor's thread
// releases it, once, and the queue is not used after the end.
TEST(crawler_model, stop_against_an_executor_that_comes_to_it_late) {
  check({.runs = 10'000}, [] {
    manual_executor later;
    auto s = std::make_unique<site>();
    auto crawl = std::make_unique<crawler>(later, s->list, s->visit());
    crawl->start();
    sync::thread runner([&] { later.poll(); });
    crawl->shutdown_and_cancel();
    crawl->await_termination();
    s->complete(*crawl, false);
    crawl.reset();
    s.reset();
    runner.join();
  });
}

TEST(crawler_model, destroyed_while_it_runs) {
  check({.runs = 10'000}, [] {
    site s;
    thread_pool pool({.core_threads = 2});
    {
      crawler crawl(pool, s.list, s.visit(), {.visits = 2});
      crawl.start();
    }
    require(s.list.counts().claimed == 0, "nothing is claimed");
    pool.close(drain);
  });
}

TEST(crawler_model, destroyed_by_its_own_visit) {
  check({.runs = 10'000}, [] {
    memory_work_queue list;
    thread_pool pool({.core_threads = 1});
    std::unique_ptr<crawler> crawl;
    promise<void> there;
    auto is_there = there.get_future();
    crawl = std::make_unique<crawler>(pool, list, [&](const work_item&, const sync::stop_token&) {
      is_there.wait();
      crawl.reset();
      return items{{"b"}};
    });
    list.enqueue({.key = "a"});
    crawl->start();
    there.set_value();
    pool.close(drain);
    require(list.counts() == work_counts{.waiting = 1, .claimed = 0, .completed = 1}, "all kept");
  });
}

// Delayed visits: the timer may fire, be cancelled, or not be known yet.
TEST(crawler_model, stop_against_a_visit_whose_time_comes) {
  check({.runs = 10'000}, [] {
    site s;
    scheduled_pool pool({.threads = 1});
    crawler crawl(pool, s.list, s.visit(),
                  {.visits = 1,
                   .not_before = [&](const work_item&) { return pool.now() + 1ms; },
                   .timers = &pool});
    sync::thread other([&] {
      try {
        crawl.start();
      } catch (const rejected&) {
      }
    });
    crawl.shutdown_and_cancel();
    other.join();
    crawl.await_termination();
    s.complete(crawl, false);
  });
}

// As above, but only the stop ends the delay.
TEST(crawler_model, stop_against_a_visit_whose_time_never_comes) {
  check({.runs = 10'000}, [] {
    site s;
    scheduled_pool pool({.threads = 1});
    crawler crawl(
        pool, s.list, s.visit(),
        {.not_before = [](const work_item&) { return clock::time_point::max(); }, .timers = &pool});
    sync::thread other([&] { crawl.shutdown_and_cancel(); });
    try {
      crawl.start();
    } catch (const rejected&) {
    }
    other.join();
    crawl.await_termination();
    s.complete(crawl, false);
  });
}

TEST(crawler_model, visits_that_wait_for_their_time_are_made) {
  check({.runs = 5'000}, [] {
    site s;
    scheduled_pool pool({.threads = 1});
    crawler crawl(pool, s.list, s.visit(),
                  {.visits = 1,
                   .not_before = [&](const work_item&) { return pool.now() + 1ms; },
                   .timers = &pool,
                   .waiting = 1});
    crawl.start();
    crawl.shutdown();
    crawl.await_termination();
    s.complete(crawl, true);
  });
}

}  // namespace

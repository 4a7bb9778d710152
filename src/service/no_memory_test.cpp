// Services without memory: they stop without needing any, and report what failed.
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/channel.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/file_work_queue.hpp>
#include <takt/service/log_service.hpp>
#include <takt/service/memory_work_queue.hpp>
#include <takt/service/pipeline.hpp>
#include <takt/service/service_group.hpp>
#include <takt/service/task_scope.hpp>

#include "../../tests/support/pools.hpp"
#include "../../tests/support/temporary_folder.hpp"
#include "../base/counting_new.hpp"
#include "crawling.hpp"

namespace {

using namespace std::chrono_literals;
using takt::no_memory;
using takt_test::find_nothing;
using takt_test::gate;
using takt_test::items;

// Calls f(n) for n = 0, 1, ... until it returns true. f(n) allows n allocations: true means that
// these were enough.
template <class F>
void with_ever_more_memory(F f) {
  std::size_t n = 0;
  while (!f(n)) ASSERT_LT(++n, 100u);
  EXPECT_GT(n, 0u);
}

class silent final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override {}
};

TEST(service_no_memory, a_stage_that_fails_is_reported) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  std::unique_ptr<no_memory> from_now_on;  // of the stage's thread
  takt::pipeline p = takt::pipeline::from<std::string>([](auto& out) {
                       for (;;) out.push(std::string(100, 'x'));
                     })
                         .into(
                             [&](const std::string&) {
                               from_now_on = std::make_unique<no_memory>();
                               throw std::bad_alloc();
                             },
                             {.name = "greedy"});
  try {
    p.join();
    ADD_FAILURE();
  } catch (const takt::stage_failed& e) {
    EXPECT_EQ(e.stage(), "greedy");
    EXPECT_STREQ(e.what(), "takt::pipeline: stage 'greedy' has failed");
    EXPECT_THROW(std::rethrow_exception(e.cause()), std::bad_alloc);
    EXPECT_EQ(e.item<std::string>(), nullptr) << "there is no memory for it";
  }
  EXPECT_EQ(p.statistics().at(1).pending(), 0u);
}

// Memory runs out anywhere: the pipeline is made and ends, or nothing of it is left.
TEST(service_no_memory, a_pipeline_has_all_its_threads_or_none) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  with_ever_more_memory([&](std::size_t n) {
    int got = 0;
    std::optional<no_memory> here(n);
    try {
      takt::pipeline p = takt::pipeline::from<int>([](auto& out) { out.push(1); }, {.threads = 2})
                             .then([](const int& i) { return i; }, {.threads = 2})
                             .into([&](int i) { got += i; });
      here.reset();
      p.join();
      EXPECT_EQ(got, 2);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    } catch (const takt::rejected& e) {
      EXPECT_EQ(e.reason(), takt::rejection::no_thread);
      return false;
    }
  });
}

// Memory runs out anywhere: a line is accepted and has one outcome, or log() throws.
TEST(service_no_memory, each_line_is_refused_or_accounted_for) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const silent hook;
  with_ever_more_memory([&](std::size_t n) {
    std::size_t accepted = 0;
    std::size_t got = 0;
    takt::thread_pool pool({.core_threads = 1});
    takt::log_service log(takt::to_function([&](std::string_view) { ++got; }),
                          {.executor = pool, .unhandled = &hook});
    {
      const no_memory here(n);
      for (int i = 0; i < 3; ++i) {
        try {
          if (log.log("")) ++accepted;
        } catch (const std::exception&) {  // bad_alloc, or the error of the service
        }
      }
      log.shutdown();
    }
    log.await_termination();
    const takt::log_statistics s = log.statistics();
    EXPECT_EQ(s.accepted, accepted);
    EXPECT_EQ(s.written, got);
    EXPECT_EQ(s.pending(), 0u);
    EXPECT_EQ(log.shutdown_now().size(), s.failed);
    return got == 3;
  });
}

TEST(service_no_memory, a_log_whose_executor_drops_it_says_so) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const silent hook;
  takt::manual_executor later;
  takt::log_service log(takt::to_function([](std::string_view) {}),
                        {.executor = later, .unhandled = &hook});
  log.log("one");
  takt::task_list dropped = later.shutdown_now();
  {
    const no_memory here;
    dropped = {};
  }
  EXPECT_NE(log.error(), nullptr);
  EXPECT_EQ(log.shutdown_now().size(), 1u);
}

// Counts calls.
struct counted_service {
  int started = 0;
  int shut_down = 0;
  int awaited = 0;
  takt::service_actions actions() {
    return {.start = [this] { ++started; },
            .shutdown = [this] { ++shut_down; },
            .await_end =
                [this](auto, const auto&) {
                  ++awaited;
                  return true;
                }};
  }
};

TEST(service_no_memory, a_group_is_stopped_and_the_report_is_there_later) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  counted_service one;
  takt::service_group group;
  group.add("a service with a name that needs memory of its own", one.actions());
  group.start();
  {
    const no_memory here;
    EXPECT_THROW(group.stop(takt::never), std::bad_alloc);
  }
  EXPECT_EQ(one.shut_down, 1);
  EXPECT_EQ(one.awaited, 1);
  EXPECT_TRUE(group.stop(takt::never).is_clean());
  EXPECT_EQ(one.shut_down, 1) << "not again";
}

TEST(service_no_memory, a_group_starts_all_or_nothing_and_its_destructor_needs_none) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  with_ever_more_memory([](std::size_t n) {
    counted_service one;
    bool started = true;
    {
      takt::service_group group;
      group.add("a service with a name that needs memory of its own", one.actions());
      const no_memory here(n);
      try {
        group.start();
      } catch (const std::bad_alloc&) {
        started = false;
      }
      EXPECT_EQ(one.started, started ? 1 : 0);
    }
    EXPECT_EQ(one.shut_down, started ? 1 : 0);
    return started;
  });
}

TEST(service_no_memory, a_scope_stops_and_ends) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  gate begun;
  bool asked = false;
  {
    std::optional<takt::task_scope<void>> scope(std::in_place);
    scope->spawn([&](const takt::sync::stop_token& stop) {
      begun.open();
      takt_test::until_stopped(stop);
      asked = true;
    });
    begun.wait();
    const no_memory here;
    scope->request_stop();
    scope.reset();
  }
  EXPECT_TRUE(asked);
}

// Memory runs out anywhere: an item is completed, or in the queue.
TEST(service_no_memory, a_crawler_stops_and_loses_nothing) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  for (const bool waits : {false, true}) {
    with_ever_more_memory([&](std::size_t n) {
      takt::memory_work_queue list;
      list.enqueue(items{{"a"}, {"b"}});
      takt::manual_executor later;
      takt::crawler crawl(later, list, find_nothing);
      {
        const no_memory here(n);
        crawl.start();
        if (!waits) crawl.shutdown_and_cancel();
      }
      const bool is_good = crawl.error() == nullptr;
      if (waits) {
        crawl.shutdown();
        later.poll();
      }
      EXPECT_TRUE(crawl.is_terminated());
      EXPECT_EQ(crawl.totals().pending(), 0u);
      EXPECT_EQ(list.counts().claimed, 0u);
      EXPECT_EQ(list.counts().waiting + list.counts().completed, 2u);
      if (!is_good) {
        EXPECT_THROW(std::rethrow_exception(crawl.error()), std::bad_alloc);
      }
      return is_good;
    });
  }
}

std::ptrdiff_t entries_of(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

// Memory runs out anywhere: the file is compacted or unchanged. No other file is left beside it or
// open, and items accepted later are in it.
TEST(service_no_memory, a_file_is_compacted_or_left_alone) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::filesystem::path descriptors = "/proc/self/fd";
  const std::ptrdiff_t open_before = entries_of(descriptors);
  std::size_t opened_as_it_was = 0;
  with_ever_more_memory([&](std::size_t n) {
    const takt_test::temporary_folder folder;
    const std::string file = folder / "a list whose name is so long that it is allocated";
    {
      takt::file_work_queue list(file);
      list.enqueue({.key = "a", .data = std::string(1000, 'x')});
      static_cast<void>(list.claim());
      list.complete("a", items{{"b"}});
    }
    items left{{"b"}};
    bool compacted = false;
    try {
      std::optional<no_memory> here(n);
      takt::file_work_queue list(file, {.compact_above = 0});
      here.reset();
      compacted = list.recovery().compacted;
      if (!compacted) ++opened_as_it_was;
      list.enqueue({.key = "c"});
      left.push_back({"c"});
    } catch (const std::bad_alloc&) {
    }
    EXPECT_EQ(entries_of(folder.path()), 1) << n;
    EXPECT_EQ(entries_of(descriptors), open_before) << n;
    EXPECT_EQ(takt::file_work_queue(file).incomplete(), left) << n;
    return compacted;
  });
  EXPECT_GT(opened_as_it_was, 0u) << "it is good enough";
}

TEST(service_no_memory, stopping_needs_none) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  takt::manual_executor later;
  takt::memory_work_queue list;
  list.enqueue(items{{"a"}, {"b"}});
  takt::crawler crawl(later, list, find_nothing);
  crawl.start();
  takt::log_service log(takt::to_function([](std::string_view) {}), {.executor = later});
  log.log("one");
  gate begun;
  takt::pipeline line = takt::pipeline::from<int>([&](auto& out) {
                          out.push(1);
                          out.push(2);
                          begun.open();
                          takt_test::until_stopped(out.stop());
                        }).into([](int) {});
  begun.wait();
  takt::channel<int> channel;
  auto in = channel.make_producer();
  auto out = channel.make_consumer();
  in.push(1);

  const std::size_t before = takt::allocations();
  crawl.shutdown();
  crawl.shutdown_and_cancel();
  log.shutdown();
  const std::list<std::string> rest = log.shutdown_now();
  log.shutdown_and_cancel();
  line.shutdown();
  line.shutdown_and_cancel();
  channel.close();
  const std::list<int> left = channel.abort();
  EXPECT_EQ(takt::allocations(), before);

  EXPECT_EQ(rest.size(), 1u);
  EXPECT_EQ(left.size(), 1u);
  EXPECT_TRUE(crawl.is_terminated());
  line.join();
}

}  // namespace

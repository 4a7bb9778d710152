#include <takt/service/pipeline.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::outlet;
using takt::pipeline;
using takt::stage_failed;
using takt::stage_statistics;
using takt::sync::atomic;
using testing::ElementsAre;
using testing::HasSubstr;

// Produces 0, 1, 2 and so on: `count` values, or fewer if stop is requested.
auto numbers(int count) {
  return [count](outlet<int>& out) {
    for (int i = 0; i < count; ++i) out.push(i);
  };
}
auto numbers_for_ever() {
  return [](outlet<int>& out) {
    for (int i = 0;; ++i) out.push(i);
  };
}

// After any end: each item has one outcome, and nothing is lost between stages.
void expect_balanced(const pipeline& p) {
  EXPECT_TRUE(p.is_terminated());
  const std::vector<stage_statistics> all = p.statistics();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].pending(), 0u) << all[i].name;
    if (i != 0) {
      EXPECT_EQ(all[i].accepted, all[i - 1].produced) << all[i].name;
    }
  }
}

// Waits until a stage has accepted so many items.
void wait_for(const pipeline& p, std::size_t stage, std::uint64_t accepted) {
  while (p.statistics()[stage].accepted < accepted) takt::sync::yield();
}

class counting_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled kind, const std::exception_ptr&) const noexcept override {
    EXPECT_EQ(kind, takt::unhandled::unobserved);
    told.fetch_add(1);
  }
  mutable atomic<int> told{0};
};

TEST(pipeline, passes_items_from_stage_to_stage_in_their_order) {
  std::vector<std::string> got;
  pipeline p = pipeline::from<int>(numbers(100))
                   .then([](const int& i) { return i * i; })
                   .then([](int& i) { return std::to_string(i); }, {.capacity = 1})
                   .into([&](const std::string& s) { got.push_back(s); });
  p.join();
  ASSERT_EQ(got.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], std::to_string(i * i));
  expect_balanced(p);
  EXPECT_EQ(p.error(), std::nullopt);
}

TEST(pipeline, a_stage_makes_none_one_or_many) {
  std::vector<char> got;
  pipeline p = pipeline::from<std::string>([](auto& out) {
                 for (const char* word : {"a", "", "bcd"}) out.push(word);
               })
                   .then<char>(
                       [](const std::string& word, auto& out) {
                         for (const char c : word) out.push(c);
                       },
                       {.name = "split"})
                   .into([&](char c) { got.push_back(c); }, {.name = "collect"});
  p.join();
  EXPECT_THAT(got, ElementsAre('a', 'b', 'c', 'd'));
  const auto all = p.statistics();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "source");
  EXPECT_EQ(all[0].produced, 3u);
  EXPECT_EQ(all[1].name, "split");
  EXPECT_EQ(all[1].accepted, 3u);
  EXPECT_EQ(all[1].finished, 3u);
  EXPECT_EQ(all[1].produced, 4u);
  EXPECT_EQ(all[2].finished, 4u);
  EXPECT_EQ(all[2].produced, 0u);
}

TEST(pipeline, takes_what_can_only_be_moved) {
  int sum = 0;
  pipeline p = pipeline::from<std::unique_ptr<int>>([](auto& out) {
                 for (int i = 1; i <= 3; ++i) out.push(std::make_unique<int>(i));
               }).then([](std::unique_ptr<int>& i) {
                   return std::move(i);
                 }).into([&](const std::unique_ptr<int>& i) { sum += *i; });
  p.join();
  EXPECT_EQ(sum, 6);
}

// Like a task that can be called with and without a token.
TEST(pipeline, a_stage_that_may_be_called_without_a_token_gets_one) {
  atomic<int> with_token = 0;
  pipeline p = pipeline::from<int>(numbers(3))
                   .then([&](int& n, const takt::sync::stop_token& stop = {}) {
                     with_token += stop.stop_possible() ? 1 : 0;
                     return n;
                   })
                   .into([&](int&, const takt::sync::stop_token& stop = {}) {
                     with_token += stop.stop_possible() ? 1 : 0;
                   });
  p.join();
  EXPECT_EQ(with_token, 6);
}

// Many threads in all stages: the end reaches all of them, and each item is processed once.
TEST(pipeline, has_as_many_threads_as_it_is_told) {
  constexpr int each = 300;
  std::vector<atomic<int>> seen(std::size_t{4} * each);
  pipeline p = pipeline::from<int>(
                   [](outlet<int>& out) {
                     const int first = static_cast<int>(out.thread()) * each;
                     for (int i = 0; i < each; ++i) out.push(first + i);
                   },
                   {.name = "make", .threads = 4})
                   .then([](const int& i) { return i; }, {.threads = 3, .capacity = 2})
                   .then([](const int& i) { return i; }, {.threads = 2, .capacity = 1})
                   .into([&](const int& i) { seen[static_cast<std::size_t>(i)].fetch_add(1); },
                         {.threads = 3, .capacity = 5});
  p.join();
  for (const auto& n : seen) EXPECT_EQ(n.load(), 1);
  expect_balanced(p);
  EXPECT_EQ(p.statistics()[1].threads, 3u);
}

TEST(pipeline, a_stage_that_is_slow_slows_down_the_source) {
  takt::promise<void> goes;
  auto go = goes.get_future();
  atomic<int> produced{0};
  pipeline p = pipeline::from<int>([&](auto& out) {
                 for (int i = 0; i < 10; ++i) {
                   out.push(i);
                   produced.fetch_add(1);
                 }
               }).into([&](int) { go.wait(); }, {.capacity = 2});
  wait_for(p, 1, 3);  // one is being processed, two wait
  EXPECT_LE(produced.load(), 3);
  EXPECT_EQ(p.state(), takt::life_state::running);
  goes.set_value();
  p.join();
  EXPECT_EQ(produced.load(), 10);
}

TEST(pipeline, shutdown_stops_at_the_source_and_all_that_was_produced_is_processed) {
  atomic<int> done{0};
  takt::promise<void> some;
  auto some_are_done = some.get_future();
  pipeline p = pipeline::from<int>(numbers_for_ever(), {.threads = 2})
                   .then([](const int& i) { return i; }, {.threads = 2})
                   .into([&](int) {
                     if (done.fetch_add(1) == 9) some.set_value();
                   });
  some_are_done.wait();
  p.shutdown();
  p.shutdown();
  p.join();
  EXPECT_EQ(p.error(), std::nullopt);
  expect_balanced(p);
  const auto all = p.statistics();
  EXPECT_EQ(all[0].produced, static_cast<std::uint64_t>(done.load()));
  EXPECT_EQ(all[2].finished, all[0].produced);
}

TEST(pipeline, a_source_that_does_not_push_heeds_its_token) {
  atomic<bool> stage_asked{false};
  takt::promise<void> begun;
  auto begins = begun.get_future();
  pipeline p = pipeline::from<int>([&](auto& out) {
                 out.push(1);
                 begun.set_value();
                 while (!out.stop().stop_requested()) takt::sync::yield();
               }).into([&](int, const takt::sync::stop_token& stop) {
    stage_asked = stop.stop_requested();
  });
  begins.wait();
  EXPECT_TRUE(p.close(takt::drain));
  EXPECT_FALSE(stage_asked);
  EXPECT_EQ(p.statistics()[1].finished, 1u);
}

TEST(pipeline, cancelling_discards_and_counts_what_is_queued) {
  takt::promise<void> goes;
  auto go = goes.get_future();
  atomic<bool> asked{false};
  pipeline p = pipeline::from<int>(numbers_for_ever())
                   .then([](const int& i) { return i; }, {.capacity = 4})
                   .into(
                       [&](int, const takt::sync::stop_token& stop) {
                         go.wait();
                         asked = stop.stop_requested();
                       },
                       {.capacity = 3});
  wait_for(p, 1, 4 + 1 + 4);  // each stage has an item and a full queue of four
  p.shutdown_and_cancel();
  p.shutdown_and_cancel();
  EXPECT_FALSE(p.await_termination(0s));
  goes.set_value();
  p.join();
  EXPECT_TRUE(asked);
  expect_balanced(p);
  const auto all = p.statistics();
  EXPECT_EQ(all[1].discarded, 4u);
  EXPECT_EQ(all[1].cut_off, 1u);
  EXPECT_EQ(all[2].discarded, 3u);
  EXPECT_EQ(all[2].finished, 1u);
}

TEST(pipeline, an_error_stops_all_and_tells_stage_item_and_cause) {
  pipeline p = pipeline::from<int>(numbers_for_ever())
                   .then(
                       [](const int& i) {
                         if (i == 13) throw std::runtime_error("unlucky");
                         return std::to_string(i);
                       },
                       {.name = "text"})
                   .into([](const std::string&) {}, {.threads = 2});
  try {
    p.join();
    ADD_FAILURE();
  } catch (const stage_failed& e) {
    EXPECT_STREQ(e.what(), "takt::pipeline: stage 'text' has failed: unlucky");
    EXPECT_EQ(e.stage(), "text");
    ASSERT_NE(e.item<int>(), nullptr);
    EXPECT_EQ(*e.item<int>(), 13);
    EXPECT_EQ(e.item<std::string>(), nullptr);
    EXPECT_THROW(std::rethrow_exception(e.cause()), std::runtime_error);
  }
  EXPECT_THROW(p.join(), stage_failed);
  ASSERT_TRUE(p.error());
  expect_balanced(p);
  EXPECT_EQ(p.statistics()[1].failed, 1u);
  EXPECT_EQ(p.statistics()[1].finished, 13u);
}

// Later exceptions, in the same stage or in another one, are counted but not reported.
TEST(pipeline, the_first_error_is_the_one_that_is_told) {
  takt_test::gate both;
  takt_test::gate goes;
  pipeline p = pipeline::from<int>(
                   [&](outlet<int>& out) {
                     for (int i = 0; i < 2; ++i) out.push(i);
                     both.open();
                     takt_test::until_stopped(out.stop());
                     throw std::runtime_error("the source");
                   },
                   {.name = "make"})
                   .into(
                       [&](const int& i, const takt::sync::stop_token& stop) {
                         both.wait();
                         if (i == 0) {
                           goes.wait();
                           throw std::runtime_error("first");
                         }
                         goes.open();
                         takt_test::until_stopped(stop);
                         throw std::runtime_error("second");
                       },
                       {.name = "use", .threads = 2});
  p.await_termination();
  ASSERT_TRUE(p.error());
  EXPECT_STREQ(p.error()->what(), "takt::pipeline: stage 'use' has failed: first");
  ASSERT_NE(p.error()->item<int>(), nullptr);
  EXPECT_EQ(*p.error()->item<int>(), 0);
  EXPECT_EQ(p.statistics().at(1).failed, 2u);
  expect_balanced(p);
}

// The other threads of the stage have not failed, and the source never ends by itself.
TEST(pipeline, an_error_of_one_worker_stops_the_others) {
  pipeline p = pipeline::from<int>(numbers_for_ever())
                   .into(
                       [](const int& i) {
                         if (i == 13) throw std::runtime_error("unlucky");
                       },
                       {.threads = 3});
  EXPECT_THROW(p.join(), stage_failed);
  expect_balanced(p);
}

TEST(pipeline, a_source_that_throws_is_reported_without_an_item) {
  pipeline p = pipeline::from<int>(
                   [](auto& out) {
                     out.push(1);
                     throw 7;  // NOLINT: any type
                   },
                   {.name = "crawl", .threads = 3})
                   .into([](int) {});
  try {
    p.join();
    ADD_FAILURE();
  } catch (const stage_failed& e) {
    EXPECT_EQ(e.stage(), "crawl");
    EXPECT_EQ(e.item<int>(), nullptr);
    EXPECT_THAT(e.what(), HasSubstr("unknown type"));
  }
  expect_balanced(p);
}

TEST(pipeline, an_error_of_the_last_stage_lets_the_others_go) {
  pipeline p = pipeline::from<int>(numbers_for_ever(), {.threads = 2})
                   .then([](const int& i) { return i; }, {.threads = 2, .capacity = 1})
                   .into([](int) { throw std::runtime_error("full"); }, {.capacity = 1});
  EXPECT_THROW(p.join(), stage_failed);
  expect_balanced(p);
  EXPECT_EQ(p.statistics()[2].failed, 1u);
  EXPECT_EQ(p.statistics()[2].finished, 0u);
}

TEST(pipeline, an_error_that_nobody_asks_for_is_told_to_the_hook) {
  const counting_hook hook;
  const auto fail_and = [&](auto then) {
    pipeline p = pipeline::from<int>(numbers(1), {}, {.unhandled = &hook}).into([](int) {
      throw std::runtime_error("no");
    });
    p.await_termination();
    then(p);
  };
  fail_and([](pipeline& p) { EXPECT_TRUE(p.error()); });
  EXPECT_EQ(hook.told.load(), 0);
  fail_and([](pipeline&) {});
  EXPECT_EQ(hook.told.load(), 1);
}

// An exception that a stage throws itself is an error, whatever its type.
TEST(pipeline, a_rejection_by_somebody_else_is_an_error) {
  pipeline p =
      pipeline::from<int>(numbers(1))
          .then([](const int&) -> int { throw takt::rejected(takt::rejection::saturated); })
          .into([](int) {});
  EXPECT_THROW(p.join(), stage_failed);
}

TEST(pipeline, the_destructor_does_not_wait_for_the_source) {
  atomic<int> calls{0};
  {
    const pipeline p = pipeline::from<int>(numbers_for_ever()).into([&](int) { ++calls; });
  }
  const int at_the_end = calls.load();
  EXPECT_EQ(calls.load(), at_the_end);
}

TEST(pipeline, may_be_shut_down_by_a_stage_which_may_not_wait_for_it) {
  takt::promise<pipeline*> made;
  auto self = made.get_future();
  atomic<bool> waited{false};
  pipeline p = pipeline::from<int>(numbers_for_ever()).into([&](int i) {
    if (i != 0) return;
    pipeline* const own = self.get();
    own->shutdown();
    try {
      own->join();
    } catch (const std::system_error&) {
      waited = true;
    }
  });
  made.set_value(&p);
  p.join();
  EXPECT_TRUE(waited);
  expect_balanced(p);
}

// The test does not wait for the thread that destroys it: the objects that it uses are shared.
TEST(pipeline, may_be_destroyed_by_a_stage) {
  struct state {
    std::unique_ptr<pipeline> own;
    takt::promise<void> made;
    takt::promise<void> destroyed;
    takt::future<void> is_made = made.get_future();
  };
  const auto with = std::make_shared<state>();
  const auto gone = with->destroyed.get_future();
  with->own.reset(new pipeline(  // NOLINT: make_unique would have to move it
      pipeline::from<int>(numbers_for_ever(), {.threads = 2}).into([with](int) {
        with->is_made.wait();
        if (with->own == nullptr) return;
        with->own.reset();
        with->destroyed.set_value();
      })));
  with->made.set_value();
  gone.wait();
}

TEST(pipeline, says_what_is_wrong_and_where) {
  const auto said = [](auto make) -> std::string {
    try {
      make();
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "nothing";
  };
  using source = std::function<void(outlet<int>&)>;
  using stage = std::function<int(int&)>;
  using many = std::function<void(int&, outlet<int>&)>;
  EXPECT_EQ(said([] { static_cast<void>(pipeline::from<int>(source(), {.name = "crawl"})); }),
            "takt::pipeline: stage 'crawl': the function is empty");
  EXPECT_EQ(said([] { static_cast<void>(pipeline::from<int>(numbers(1), {.threads = 0})); }),
            "takt::pipeline: stage 'source': threads is 0, and has to be at least 1");
  EXPECT_THAT(
      said([] { static_cast<void>(pipeline::from<int>(numbers(1), {}, {.time = nullptr})); }),
      HasSubstr("time is null"));
  EXPECT_THAT(
      said([] { static_cast<void>(pipeline::from<int>(numbers(1), {}, {.unhandled = nullptr})); }),
      HasSubstr("unhandled is null"));
  EXPECT_EQ(said([] { static_cast<void>(pipeline::from<int>(numbers(1)).then(stage())); }),
            "takt::pipeline: stage 'stage 1': the function is empty");
  EXPECT_THAT(said([] { static_cast<void>(pipeline::from<int>(numbers(1)).then<int>(many())); }),
              HasSubstr("'stage 1': the function is empty"));
  EXPECT_EQ(said([] {
              const pipeline p = pipeline::from<int>(numbers(1)).into([](int) {}, {.capacity = 0});
            }),
            "takt::pipeline: stage 'stage 1': capacity is 0, and has to be at least 1");
  EXPECT_THAT(said([] {
                const pipeline p = pipeline::from<int>(numbers(1)).into([](int) {}, {.threads = 0});
              }),
              HasSubstr("threads is 0"));
}

TEST(pipeline, a_source_that_gives_up_when_asked_loses_nothing) {
  takt_test::gate produced;
  std::vector<int> got;
  takt::pipeline p = takt::pipeline::from<int>([&](auto& out) {
                       out.push(1);
                       out.push(2);
                       produced.open();
                       takt_test::until_stopped(out.stop());
                       throw takt::cancelled();
                     }).into([&](const int& i) { got.push_back(i); });
  produced.wait();
  p.shutdown();
  p.join();
  EXPECT_EQ(got, (std::vector{1, 2}));
  EXPECT_FALSE(p.error());
}

TEST(pipeline, a_stage_that_gives_up_when_asked_has_not_failed) {
  takt_test::gate begun;
  takt::pipeline p = takt::pipeline::from<int>([&](auto& out) {
                       out.push(1);
                     }).into([&](const int&, const takt::sync::stop_token& stop) {
    begun.open();
    takt_test::until_stopped(stop);
    throw takt::cancelled();
  });
  begun.wait();
  p.shutdown_and_cancel();
  p.join();
  EXPECT_FALSE(p.error());
  EXPECT_EQ(p.statistics().at(1).cut_off, 1u);
}

TEST(pipeline, cancelled_is_an_error_if_nobody_asked) {
  takt::pipeline p = takt::pipeline::from<int>([](auto& out) { out.push(1); }).into([](const int&) {
    throw takt::cancelled();
  });
  EXPECT_THROW(p.join(), takt::stage_failed);
}

}  // namespace

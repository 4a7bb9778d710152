// Pipelines under all interleavings: they terminate and account for each item.
#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/service/pipeline.hpp>
#include <takt/task/future.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;

auto numbers(int count) {
  return [count](outlet<int>& out) {
    for (int i = 0; i < count; ++i) out.push(i);
  };
}

class silent_hook final : public unhandled_hook {
  void on_unhandled(unhandled, const std::exception_ptr&) const noexcept override {}
};
const silent_hook silent;

void require_balance(const pipeline& p) {
  const std::vector<stage_statistics> all = p.statistics();
  for (std::size_t i = 0; i < all.size(); ++i) {
    require(all[i].pending() == 0, "each item has one end");
    if (i != 0) require(all[i].accepted == all[i - 1].produced, "nothing is lost between stages");
  }
}

TEST(pipeline_model, comes_to_its_end_by_itself) {
  check({.runs = 3'000}, [] {
    sync::var<int> sum{0};
    pipeline p = pipeline::from<int>(numbers(2))
                     .then([](const int& i) { return i + 1; }, {.capacity = 1})
                     .into([&](int i) { sum.write() += i; }, {.capacity = 1});
    p.join();
    require(sum.read() == 3, "each once");
    require_balance(p);
  });
}

// A push may be refused a little before stop is requested.
TEST(pipeline_model, a_source_that_is_refused_may_give_up) {
  check({.runs = 3'000}, [] {
    pipeline p = pipeline::from<int>([](outlet<int>& out) {
                   try {
                     for (int i = 0; i < 2; ++i) out.push(i);
                   } catch (const rejected&) {
                     throw cancelled();
                   }
                 }).into([](int) {}, {.capacity = 1});
    p.shutdown();
    p.await_termination();
    require(!p.error(), "a shutdown is no error");
    require_balance(p);
  });
}

TEST(pipeline_model, no_account_has_more_than_was_accepted) {
  check({.runs = 3'000}, [] {
    pipeline p = pipeline::from<int>(numbers(2)).into([](int) {}, {.capacity = 1});
    for (const stage_statistics& s : p.statistics()) {
      require(s.finished <= s.accepted, "what has ended was accepted before");
    }
    p.join();
  });
}

TEST(pipeline_model, every_pill_reaches_every_worker) {
  check({.runs = 3'000}, [] {
    sync::atomic<int> done{0};
    pipeline p = pipeline::from<int>(numbers(1), {.threads = 2})
                     .into([&](int) { done.fetch_add(1); }, {.threads = 2, .capacity = 1});
    p.join();
    require(done.load() == 2, "each once");
    require_balance(p);
  });
}

TEST(pipeline_model, shutdown_against_the_source) {
  check({.runs = 3'000}, [] {
    sync::var<std::uint64_t> done{0};
    pipeline p =
        pipeline::from<int>(numbers(3)).into([&](int) { done.write() += 1; }, {.capacity = 1});
    p.shutdown();
    p.join();
    require(done.read() == p.statistics()[0].produced, "all that was produced");
    require_balance(p);
  });
}

TEST(pipeline_model, cancelled_with_everybody_under_way) {
  check({.runs = 3'000}, [] {
    pipeline p = pipeline::from<int>(numbers(3))
                     .then([](const int& i) { return i; }, {.capacity = 1})
                     .into([](int) {}, {.capacity = 1});
    p.shutdown_and_cancel();
    p.join();
    require_balance(p);
  });
}

TEST(pipeline_model, an_error_ends_it) {
  for (const int at : {0, 1}) {  // in the last stage, or in the one before
    check({.runs = 3'000}, [at] {
      pipeline p = pipeline::from<int>(numbers(3))
                       .then(
                           [at](const int& i) {
                             if (at == 1 && i == 1) throw std::runtime_error("no");
                             return i;
                           },
                           {.capacity = 1})
                       .into(
                           [at](int i) {
                             if (at == 0 && i == 1) throw std::runtime_error("no");
                           },
                           {.capacity = 1});
      bool failed = false;
      try {
        p.join();
      } catch (const stage_failed& e) {
        failed = e.item<int>() != nullptr && *e.item<int>() == 1;
      }
      require(failed, "with its item");
      require_balance(p);
    });
  }
}

// The source fails at once, on one thread, while other threads are being started.
TEST(pipeline_model, an_error_while_it_is_being_made) {
  check({.runs = 3'000}, [] {
    pipeline p = pipeline::from<int>([](auto&) { throw std::runtime_error("no"); }, {.threads = 2},
                                     {.unhandled = &silent})
                     .into([](int) {});
    p.await_termination();
    require(p.error().has_value(), "it is known");
    require_balance(p);
  });
}

TEST(pipeline_model, destroyed_while_it_runs) {
  check({.runs = 3'000}, [] {
    sync::var<int> done{0};
    {
      const pipeline p =
          pipeline::from<int>(numbers(3)).into([&](int) { done.write() += 1; }, {.capacity = 1});
    }
    require(done.read() <= 3, "nothing of it runs any more");
  });
}

// join() reads the error after its wait.
TEST(pipeline_model, destroyed_while_another_thread_is_in_join) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::atomic<bool> go_on{false};
    std::unique_ptr<pipeline> p(new pipeline(  // NOLINT: make_unique would have to move it
        pipeline::from<int>(
            [&](outlet<int>&) {
              while (!go_on.load()) sync::yield();
            },
            {}, {.time = &time})
            .into([](int) {}, {.capacity = 1})));
    pipeline& alive = *p;
    sync::thread joins([&] { alive.join(); });
    time.wait_for_waiters(2);  // join(), and the stage that waits for an item
    go_on.store(true);
    p.reset();
    joins.join();
  });
}

// The source fails while a stage destroys the pipeline: the error is reported once.
TEST(pipeline_model, an_error_against_a_stage_that_destroys_it) {
  class counting_hook final : public unhandled_hook {
   public:
    void on_unhandled(unhandled, const std::exception_ptr&) const noexcept override {
      told.fetch_add(1);
    }
    mutable sync::atomic<int> told{0};
  };
  check({.runs = 3'000}, [] {
    const counting_hook hook;
    promise<void> end;  // destroyed with the stages
    const auto ended = end.get_future();
    std::unique_ptr<pipeline> p;
    promise<void> made;
    const auto is_made = made.get_future();
    promise<void> there;
    const auto is_there = there.get_future();
    p.reset(new pipeline(  // NOLINT: make_unique would have to move it
        pipeline::from<int>(
            [&](outlet<int>& out) {
              out.push(1);
              is_there.wait();
              throw std::runtime_error("no");
            },
            {}, {.unhandled = &hook})
            .into([&, kept = std::move(end)](int) {
              is_made.wait();
              there.set_value();
              p.reset();
            })));
    made.set_value();
    ended.wait();
    require(hook.told.load() == 1, "it is told, and once");
  });
}

}  // namespace

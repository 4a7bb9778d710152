// retry() under every kind of interleaving: attempts do not overlap, a cancellation or the end of
// the pool prevents all further ones, and the future gets one result.
#include <chrono>
#include <stdexcept>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/retry.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

TEST(retry_model, attempts_happen_one_after_the_other) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::var<int> attempts{0};
    scheduled_pool pool({.threads = 2, .time = &time});
    auto f = retry(pool,
                   [&] {
                     if (++attempts.write() < 3) throw std::runtime_error("no");
                     return attempts.read();
                   },
                   {.initial = 0ms});
    require(f.get() == 3, "the third attempt");
    pool.close(drain);
    balanced(pool);
  });
}

TEST(retry_model, cancel_against_attempts) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs attempts{0};
    scheduled_pool pool({.threads = 1, .time = &time});
    auto f = retry(pool,
                   [&] {
                     if (attempts.fetch_add(1) == 0) throw std::runtime_error("no");
                   },
                   {.initial = 1ms});
    sync::thread clock([&] { time.advance(1ms); });
    const cancel_result result = f.cancel_and_join();
    require(result != cancel_result::running, "it does not run any more");
    const int before = attempts.load();
    require(f.is_cancelled() || before == 2, "cancelled, or it has succeeded");
    clock.join();
    pool.submit([] {}).get();  // the worker is done with it
    require(pool.statistics().delayed == 0, "nothing waits");
    pool.close(drain);
    require(attempts.load() == before, "nor again");
    balanced(pool);
  });
}

TEST(retry_model, shutdown_against_a_failure) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto f = retry(pool, [] { throw std::runtime_error("no"); }, {.initial = 1h});
    pool.shutdown();
    pool.await_termination();
    require(f.is_cancelled(), "no further attempt");
    balanced(pool);
  });
}

TEST(retry_model, shutdown_now_against_a_failure) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto f = retry(pool, [] { throw std::runtime_error("no"); }, {.initial = 1h});
    auto unstarted = pool.shutdown_now();
    pool.await_termination();
    require(unstarted.size() == (f.is_cancelled() ? 0u : 1u), "given back or cancelled");
    if (!unstarted.empty()) {
      unstarted[0].run();
      try {
        f.get();
        require(false, "it fails");
      } catch (const std::runtime_error&) {
      }
    }
    balanced(pool);
  });
}

}  // namespace

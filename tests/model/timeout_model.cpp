// with_timeout() under every kind of interleaving: the result, the time-out, the cancellation and
// the end of the pool meet, and one of them ends the future, the source and the timer, once.
#include <chrono>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/timeout.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

enum class outcome { value, timed_out, cancelled };

outcome end_of(future<int>& f) {
  try {
    require(f.get() == 7, "what was set");
    return outcome::value;
  } catch (const timeout_error&) {
    return outcome::timed_out;
  } catch (const cancelled&) {
    return outcome::cancelled;
  }
}

TEST(timeout_model, ready_against_time_out) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<int> p;
    auto f = with_timeout(1ms, pool, p.get_future());
    sync::thread setter([&] { p.set_value(7); });
    time.advance(1ms);
    const outcome end = end_of(f);
    require(end != outcome::cancelled, "nobody cancelled it");
    setter.join();
    pool.close(drain);
    balanced(pool);
  });
}

// The future is continued: the continuation is called once, with one result.
TEST(timeout_model, delivers_once) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs called{0};
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<int> p;
    auto f = with_timeout(1ms, pool, p.get_future()).then([&](future<int> g) {
      static_cast<void>(end_of(g));
      called.fetch_add(1);
    });
    sync::thread setter([&] { p.set_value(7); });
    time.advance(1ms);
    f.get();
    setter.join();
    pool.close(drain);
    require(called.load() == 1, "once");
    balanced(pool);
  });
}

TEST(timeout_model, a_result_takes_the_timer_out_at_once) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<int> p;
    auto f = with_timeout(1h, pool, p.get_future());
    sync::thread setter([&] { p.set_value(7); });
    require(end_of(f) == outcome::value, "the only end");
    require(pool.statistics().delayed == 0, "the timer is out");
    setter.join();
    pool.close(drain);
    balanced(pool);
  });
}

TEST(timeout_model, cancel_against_ready_and_time_out) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<int> p;
    auto f = with_timeout(1ms, pool, p.get_future());
    sync::thread setter([&] { p.set_value(7); });
    sync::thread clock([&] { time.advance(1ms); });
    const cancel_result result = f.cancel();
    const outcome end = end_of(f);
    require((result == cancel_result::done) == (end != outcome::cancelled), "as it said");
    // If not prevented: the result is just being delivered, by who takes the timer out, too.
    if (result == cancel_result::prevented) {
      require(pool.statistics().delayed == 0, "the timer is out");
    }
    setter.join();
    clock.join();
    pool.close(drain);
    balanced(pool);
  });
}

// The source is a task: at the end it has ended, or never begins.
TEST(timeout_model, a_task_against_its_time_out) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs ran{0};
    scheduled_pool timers({.threads = 1, .time = &time});
    scheduled_pool pool({.threads = 1, .time = &time});
    auto f = with_timeout(1ms, timers, pool.submit([&] {
      ran.fetch_add(1);
      return 7;
    }));
    time.advance(1ms);
    const outcome end = end_of(f);
    if (end == outcome::value) require(ran.load() == 1, "it ran");
    pool.close(drain);
    timers.close(drain);
    balanced(pool);
    balanced(timers);
  });
}

TEST(timeout_model, the_end_of_the_pool_against_ready) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    promise<int> p;
    future<int> f;
    sync::thread setter;
    {
      scheduled_pool pool({.threads = 1, .time = &time});
      f = with_timeout(1h, pool, p.get_future());
      setter = sync::thread([&] { p.set_value(7); });
    }
    require(end_of(f) != outcome::timed_out, "it is not late");
    setter.join();
  });
}

// Whoever is second, of the pool that drops the timer and the one who has made it, ends it; if it
// was rejected, the source is as it was.
TEST(timeout_model, start_against_the_end_of_the_pool) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<int> p;
    sync::thread closer([&] { pool.shutdown_and_cancel(); });
    future<int> source = p.get_future();
    try {
      auto f = with_timeout(1h, pool, std::move(source));
      closer.join();
      require(f.is_cancelled() && p.is_cancelled(), "cancelled with the pool");
    } catch (const rejected&) {
      closer.join();
      require(source.valid() && !p.is_cancelled(), "as it was");
      p.set_value(7);
      require(end_of(source) == outcome::value, "as it was");
    }
    pool.await_termination();
    balanced(pool);
  });
}

TEST(timeout_model, start_against_time_out) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    promise<int> p;
    auto f = with_timeout(0ms, pool, p.get_future());
    require(end_of(f) == outcome::timed_out, "the only end");
    require(p.is_cancelled(), "the source is cancelled first");
    pool.close(drain);
    balanced(pool);
  });
}

}  // namespace

// The watchdog under every kind of interleaving: who has passed the limit is reported once, whoever
// begins and ends meanwhile, and nobody is after its destruction.
#include <chrono>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/watchdog.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;
using kind = task_event::kind;

// One begins while the watchdog looks at another: neither is missed.
TEST(watchdog_model, a_begin_against_a_look) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    promise<void> both;
    auto reported = both.get_future();
    scheduled_pool timers({.threads = 1, .time = &time});
    {
      int reports = 0;
      watchdog watch({.limit = 1ms, .timers = &timers, .report = [&](const task_event&, auto) {
                        if (++reports == 2) both.set_value();
                      }});
      watch.on_event({.what = kind::started, .id = 1, .when = time.now()});
      sync::thread other([&] {
        watch.on_event({.what = kind::started, .id = 2, .when = time.now()});
        time.advance(1ms);
      });
      time.advance(1ms);
      reported.wait();
      other.join();
    }
    timers.close(drain);
    balanced(timers);
  });
}

TEST(watchdog_model, an_end_against_a_look) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    runs reports{0};
    scheduled_pool timers({.threads = 1, .time = &time});
    {
      watchdog watch({.limit = 1ms, .timers = &timers, .report = [&](const task_event&, auto) {
                        reports.fetch_add(1);
                      }});
      watch.on_event({.what = kind::started, .id = 1, .when = time.now()});
      sync::thread clock([&] { time.advance(1ms); });
      watch.on_event({.what = kind::finished, .id = 1, .when = time.now()});
      clock.join();
    }
    const int before = reports.load();
    require(before <= 1, "once at most");
    time.advance(1h);
    timers.close(drain);
    require(reports.load() == before, "not after its end");
    balanced(timers);
  });
}

TEST(watchdog_model, a_pool_is_watched) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    promise<void> p;
    auto reported = p.get_future();
    scheduled_pool timers({.threads = 1, .time = &time});
    watchdog watch({.limit = 1ms, .timers = &timers, .report = [&](const task_event&, auto) {
                      p.set_value();
                    }});
    scheduled_pool pool({.threads = 1, .time = &time, .observer = &watch});
    promise<void> begun;
    auto has_begun = begun.get_future();
    auto f = pool.submit([&] {
      begun.set_value();
      reported.wait();
    });
    has_begun.wait();
    time.advance(1ms);
    f.get();
    pool.close(drain);
    balanced(pool);
  });
}

}  // namespace

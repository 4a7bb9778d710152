// Actions used by several threads: another thread posts, and cancels pending actions, while the
// loop runs.
#include <chrono>
#include <memory>
#include <stdexcept>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

TEST(action_model, what_is_posted_schedules) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    event_loop loop({.frame = never, .time = &time});
    rx::async_scheduler async(loop);
    sync::var<int> runs{0};
    sync::thread other([&] {
      loop.execute([&] {
        async.schedule(0ms, [&] {
          ++runs.write();
          loop.stop();
        });
      });
    });
    loop.run();
    other.join();
    require(runs.read() == 1, "it runs once");
  });
}

TEST(action_model, another_thread_gives_up_an_interval) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    event_loop loop({.frame = never, .time = &time});
    rx::async_scheduler async(loop);
    sync::var<int> runs{0};
    loop.poll();  // makes this the loop's thread
    const rx::action<void> a = async.schedule(0ms, [&](auto& self) {
      ++runs.write();
      if (runs.read() < 3) self.schedule(0ms);
    });
    sync::thread other([&] { a.unsubscribe(); });
    loop.poll();
    other.join();
    const int before = runs.read();
    loop.poll();
    require(runs.read() == before, "it is closed");
    require(a.is_unsubscribed(), "by the other thread");
    require(loop.next_deadline() == clock::time_point::max(), "nothing is left");
  });
}

TEST(action_model, another_thread_gives_up_one_of_a_batch) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    event_loop loop({.frame = never, .time = &time});
    rx::asap_scheduler asap(loop);
    sync::var<int> runs{0};
    loop.poll();
    const auto count = [&] { ++runs.write(); };
    const rx::action<void> a = asap.schedule(count);
    const rx::action<void> b = asap.schedule(count);
    sync::thread other([&] { a.unsubscribe(); });
    loop.poll();
    other.join();
    loop.poll();
    require(runs.read() >= 1 && runs.read() <= 2, "the other one runs");
    asap.schedule(count);
    const int before = runs.read();
    loop.poll();
    require(runs.read() == before + 1, "and so does the next batch");
  });
}

TEST(action_model, the_end_of_the_scheduler_comes_to_what_was_given_up_elsewhere) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    event_loop loop({.frame = never, .time = &time});
    loop.poll();
    rx::action<void> a;
    {
      rx::async_scheduler async(loop);
      a = async.schedule(1ms, [] {});
      sync::thread other([&] { a.unsubscribe(); });
      loop.poll();
      other.join();
    }
    time.advance(1ms);
    loop.poll();
    require(a.is_unsubscribed(), "it is closed");
  });
}

TEST(action_model, the_end_of_the_loop_against_what_is_pending) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    event_loop loop({.frame = never, .time = &time});
    loop.poll();
    sync::var<int> runs{0};
    rx::action<void> timed;
    rx::action<void> batched;
    {
      rx::async_scheduler async(loop);
      rx::asap_scheduler asap(loop);
      const auto count = [&] { ++runs.write(); };
      async.schedule(1ms, count);  // owned only by the loop and the scheduler
      timed = async.schedule(1ms, count);
      sync::thread ends([&] { loop.shutdown_and_cancel(); });
      sync::thread gives_up([&] { timed.unsubscribe(); });
      batched = asap.schedule(count);
      time.advance(1ms);
      loop.poll();
      ends.join();
      gives_up.join();
      require(asap.schedule(count).is_rejected(), "it takes no more");
    }
    require(timed.is_unsubscribed(), "by the other thread");
    require(batched.is_unsubscribed() || runs.read() >= 1, "it has run, was refused or closed");
    require(runs.read() <= 3, "each once at most");
  });
}

// The loop rejects the other thread's task: the scheduler finds the closed action itself.
TEST(action_model, another_thread_gives_up_an_interval_at_the_end_of_the_loop) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    event_loop loop({.frame = never, .time = &time});
    rx::async_scheduler async(loop);
    loop.poll();
    const auto work = std::make_shared<int>(0);
    const rx::action<void> a = async.schedule(1ms, [work](auto& self) { self.schedule(1ms); });
    sync::thread other([&] {
      loop.shutdown();
      a.unsubscribe();
    });
    time.advance(1ms);
    loop.poll();
    other.join();
    time.advance(1ms);
    loop.poll();
    require(a.is_unsubscribed(), "by one of the two");
    require(work.use_count() == 1, "nothing is left of it");
  });
}

// The same for an action behind one that throws.
TEST(action_model, another_thread_gives_up_what_an_error_leaves_at_the_end_of_the_loop) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    event_loop loop({.frame = never, .time = &time});
    rx::asap_scheduler asap(loop);
    loop.poll();
    const auto work = std::make_shared<int>(0);
    const rx::action<void> a = asap.schedule([](auto&) { throw std::runtime_error("bad day"); });
    const rx::action<void> b = asap.schedule([work](auto&) {});
    sync::thread other([&] {
      loop.shutdown();
      b.unsubscribe();
    });
    try {
      loop.poll();
    } catch (const std::runtime_error&) {
    }
    other.join();
    require(work.use_count() == 1, "nothing is left of it");
  });
}

}  // namespace

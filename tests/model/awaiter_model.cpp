// Every awaiter under every kind of interleaving: its coroutine resumes once, on its executor, even
// if the work that it waits for ends before await_suspend() has returned.
#include <chrono>
#include <utility>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/exec/tracking_executor.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/task/future.hpp>

#include "../support/coroutines.hpp"
#include "../support/nesting.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;
using takt_test::detached;
using takt_test::fully_nested;

// Where a coroutine has been resumed. Outlives the executor.
struct landing {
  sync::var<sync::thread::id> thread;
  sync::var<int> times;
  sync::var<bool> was_cancelled;
  parker landed;
};

template <class MakeAwaiter>
detached travel(MakeAwaiter awaiter, landing& l) {
  try {
    co_await awaiter();
  } catch (const cancelled&) {
    l.was_cancelled.write() = true;
  }
  l.thread.write() = sync::this_thread_id();
  ++l.times.write();
  l.landed.unpark();
}

// `awaiter` makes the awaiter under test. The calling thread belongs to no executor.
template <class MakeAwaiter>
void resumes_on_another_thread(MakeAwaiter awaiter, landing& l) {
  travel(awaiter, l);
  l.landed.park();
  require(!l.was_cancelled.read(), "it has arrived");
  require(l.thread.read() != sync::this_thread_id(), "it resumes on its executor");
}

// The same for a pool; `awaiters` makes one of an awaiter's kinds after the other.
template <class Pool, class Options, class... MakeAwaiter>
void resumes_on_pool(const Options& options, MakeAwaiter... awaiter) {
  check({.runs = 10'000}, [&] {
    landing l;
    Pool pool(options);
    (resumes_on_another_thread([&] { return awaiter(pool); }, l), ...);
    pool.close(drain);
    require(l.times.read() == sizeof...(awaiter), "each once");
  });
}

TEST(awaiter_model, schedule_of_a_thread_pool) {
  resumes_on_pool<thread_pool>(thread_pool::options_type{.core_threads = 1},
                               [](thread_pool& p) { return resume_on(p); });
}

TEST(awaiter_model, schedule_of_a_stealing_pool) {
  resumes_on_pool<stealing_pool>(stealing_pool::options_type{.threads = 2},
                                 [](stealing_pool& p) { return resume_on(p); });
}

TEST(awaiter_model, schedule_of_a_scheduled_pool) {
  resumes_on_pool<scheduled_pool>(scheduled_pool::options_type{.threads = 1},
                                  [](scheduled_pool& p) { return resume_on(p); });
}

TEST(awaiter_model, after_of_a_scheduled_pool) {
  resumes_on_pool<scheduled_pool>(
      scheduled_pool::options_type{.threads = 1}, [](scheduled_pool& p) { return p.after(0s); },
      [](scheduled_pool& p) { return p.after(20us); });
}

TEST(awaiter_model, at_of_a_scheduled_pool) {
  resumes_on_pool<scheduled_pool>(scheduled_pool::options_type{.threads = 1},
                                  [](scheduled_pool& p) { return p.at(p.now()); });
}

// A loop that another thread runs.
template <class MakeAwaiter>
void resumes_on_loop(MakeAwaiter awaiter) {
  check({.runs = 10'000}, [&] {
    landing l;
    event_loop loop;
    sync::thread runner([&] { loop.run(); });
    resumes_on_another_thread([&] { return awaiter(loop); }, l);
    require(l.thread.read() == runner.get_id(), "it resumes on the thread of the loop");
    loop.shutdown();
    runner.join();
    require(l.times.read() == 1, "once");
  });
}

TEST(awaiter_model, schedule_of_a_loop) {
  resumes_on_loop([](event_loop& l) { return resume_on(l); });
}
TEST(awaiter_model, schedule_of_microtasks) {
  resumes_on_loop([](event_loop& l) { return resume_on(l.microtasks()); });
}
TEST(awaiter_model, schedule_of_frames) {
  resumes_on_loop([](event_loop& l) { return resume_on(l.frames()); });
}
TEST(awaiter_model, after_of_a_loop) {
  resumes_on_loop([](event_loop& l) { return l.after(0s); });
}
TEST(awaiter_model, after_of_a_loop_a_little_later) {
  resumes_on_loop([](event_loop& l) { return l.after(10us); });
}

TEST(awaiter_model, schedule_of_a_manual_executor) {
  check({.runs = 10'000}, [] {
    landing l;
    manual_executor manual;
    sync::thread runner([&] {
      while (!manual.poll_one()) sync::yield();
    });
    resumes_on_another_thread([&] { return resume_on(manual); }, l);
    runner.join();
  });
}

TEST(awaiter_model, schedule_of_executors_that_wrap_a_pool) {
  check({.runs = 10'000}, [] {
    landing l;
    thread_pool pool({.core_threads = 1});
    {
      serial_executor strand(pool);
      resumes_on_another_thread([&] { return resume_on(strand); }, l);
      strand.close(drain);
    }
    {
      tracking_executor tracking(pool);
      resumes_on_another_thread([&] { return resume_on(tracking); }, l);
    }
    any_executor any(pool);
    resumes_on_another_thread([&] { return resume_on(any); }, l);
    pool.close(drain);
    require(l.times.read() == 3, "each once");
  });
}

// Few slots, so that a run is short. Its time is the checker's.
const wheel_scheduler::options_type small_wheel{.tick = 1ms, .ticks_per_wheel = 2};

TEST(awaiter_model, after_of_a_wheel) {
  for (const auto delay : {0ms, 1ms}) {
    check({.runs = 10'000}, [&] {
      landing l;
      thread_pool pool({.core_threads = 1});
      wheel_scheduler wheel(small_wheel);
      auto timers = wheel.on(pool);
      resumes_on_another_thread([&] { return timers.after(delay); }, l);
      wheel.shutdown();
      pool.close(drain);
      require(l.times.read() == 1, "once");
    });
  }
}

// Sections of two coroutines do not overlap, whichever threads they come from: `inside` is not
// locked, and the checker looks for races on it.
TEST(awaiter_model, after_of_a_wheel_on_a_strand) {
  check({.runs = 10'000}, [] {
    landing a;
    landing b;
    sync::var<int> inside;
    thread_pool pool({.core_threads = 2});
    serial_executor strand(pool);
    wheel_scheduler wheel(small_wheel);
    const auto section = [&](landing& l) -> detached {
      co_await wheel.on(strand).after(0s);
      ++inside.write();
      l.thread.write() = sync::this_thread_id();
      l.landed.unpark();
    };
    sync::thread other([&] {
      section(b);
      b.landed.park();
      require(b.thread.read() != sync::this_thread_id(), "it resumes on the strand");
    });
    section(a);
    a.landed.park();
    require(a.thread.read() != sync::this_thread_id(), "it resumes on the strand");
    other.join();
    strand.close(drain);
    wheel.shutdown();
    pool.close(drain);
    require(inside.read() == 2, "each once");
  });
}

// If it has arrived, then on the executor. A cancelled one resumes wherever stop is requested.
TEST(awaiter_model, after_against_a_stop_request) {
  for (const auto delay : {0us, 20us}) {
    check({.runs = 10'000}, [&] {
      landing l;
      scheduled_pool pool({.threads = 1});
      sync::stop_source source;
      sync::thread stopping([&] { source.request_stop(); });
      travel([&] { return pool.after(delay, source.get_token()); }, l);
      l.landed.park();
      if (!l.was_cancelled.read()) {
        require(l.thread.read() != sync::this_thread_id(), "it resumes on its executor");
        require(l.thread.read() != stopping.get_id(), "it resumes on its executor");
      }
      stopping.join();
      pool.close(drain);
      require(l.times.read() == 1, "once");
      require(pool.totals().pending() == 0, "the ledger balances");
    });
  }
}

TEST(awaiter_model, after_of_a_wheel_against_a_stop_request) {
  check({.runs = 10'000}, [] {
    landing l;
    thread_pool pool({.core_threads = 1});
    wheel_scheduler wheel(small_wheel);
    sync::stop_source source;
    sync::thread stopping([&] { source.request_stop(); });
    auto timers = wheel.on(pool);
    travel([&] { return timers.after(0s, source.get_token()); }, l);
    l.landed.park();
    if (!l.was_cancelled.read()) {
      require(l.thread.read() != sync::this_thread_id(), "it resumes on its executor");
    }
    stopping.join();
    wheel.shutdown();
    pool.close(drain);
    require(l.times.read() == 1, "once");
  });
}

// A wait that is added while its scheduler ends is rejected or cancelled, and never forgotten.
TEST(awaiter_model, after_against_the_end_of_its_scheduler) {
  check({.runs = 10'000}, [] {
    landing l;
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    sync::thread ending([&] { pool.shutdown_and_cancel(); });
    [](scheduled_pool& p, landing& at) -> detached {
      try {
        co_await p.after(1h);
      } catch (const cancelled&) {
        ++at.times.write();
      } catch (const rejected&) {
        ++at.times.write();
      }
      at.landed.unpark();
    }(pool, l);
    l.landed.park();
    ending.join();
    pool.await_termination();
    require(l.times.read() == 1, "once");
    require(pool.totals().pending() == 0, "the ledger balances");
  });
}

// A coroutine on a pool delivers a result and blocks, by means that takt does not know, until the
// consumer has it: what it delivers is not deferred because a continuation has resumed it.
TEST(awaiter_model, a_resumed_coroutine_delivers_before_it_goes_on) {
  check({.runs = 10'000}, [] {
    parker consumed;
    parker ended;
    promise<int> p;
    thread_pool pool({.core_threads = 1});
    [](future<int> in, parker& done) -> detached {
      require(co_await std::move(in) == 1, "the value");
      done.unpark();
    }(p.get_future(), consumed);
    [](thread_pool& on, promise<int> out, parker& got, parker& done) -> detached {
      co_await resume_on(on);
      out.set_value(1);
      got.park();  // a deadlock if the consumer waits for this coroutine to suspend
      done.unpark();
    }(pool, std::move(p), consumed, ended);
    ended.park();
    pool.close(drain);
  });
}

// Two coroutines on a strand whose drain runs within continuations, as deep as may be: they resume
// within the strand all the same.
TEST(awaiter_model, schedule_of_a_strand_that_is_drained_within_continuations) {
  check({.runs = 10'000}, [] {
    sync::var<int> inside;
    inline_executor here;
    serial_executor strand(here);
    const auto section = [&] {
      [](serial_executor& on, sync::var<int>& in) -> detached {
        co_await resume_on(on);
        ++in.write();  // the checker looks for races on it
      }(strand, inside);
    };
    sync::thread other([&] { fully_nested(section); });
    fully_nested(section);
    other.join();
    strand.close(drain);
    require(inside.read() == 2, "each once");
  });
}

// An executor of the user's, which runs tasks within execute(), one at a time.
struct locked_executor {
  void execute(task t) {
    const detail::mutex_lock lock(mu);
    t.run();
  }
  detail::mutex mu;
};

TEST(awaiter_model, resumes_under_the_lock_of_an_executor_that_runs_tasks_at_once) {
  check({.runs = 10'000}, [] {
    sync::var<int> inside;
    locked_executor on;
    const auto section = [&] {
      [](locked_executor& to, sync::var<int>& in) -> detached {
        co_await resume_on(to);
        ++in.write();  // the checker looks for races on it
      }(on, inside);
    };
    sync::thread other([&] { fully_nested(section); });
    fully_nested(section);
    other.join();
    require(inside.read() == 2, "each once");
  });
}

// A future names no executor: the thread that delivers the result resumes the coroutine, which does
// not suspend if the result is there.
TEST(awaiter_model, a_future_against_its_delivery) {
  check({.runs = 10'000}, [] {
    landing l;
    promise<void> p;
    auto f = p.get_future();
    sync::thread deliverer([&] { p.set_value(); });
    const auto id = deliverer.get_id();
    travel([&f] { return std::move(f).operator co_await(); }, l);
    l.landed.park();
    require(l.thread.read() == id || l.thread.read() == sync::this_thread_id(), "by one of both");
    deliverer.join();
    require(l.times.read() == 1, "once");
  });
}

}  // namespace

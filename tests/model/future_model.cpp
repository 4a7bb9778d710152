// Futures under every kind of interleaving.
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/when_all.hpp>

#include "../support/coroutines.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;
using takt_test::detached;

void check_both_ways(const std::function<void()>& body) {
  check({.runs = 10'000}, body);
  check({.runs = 1'000'000, .how = model::strategy::exhaustive}, body);
}

TEST(future_model, get_against_set) {
  check_both_ways([] {
    promise<int> p;
    auto f = p.get_future();
    sync::thread setter([p = std::move(p)]() mutable { p.set_value(7); });
    require(f.get() == 7, "the value");
    setter.join();
  });
}

TEST(future_model, get_against_the_death_of_the_promise) {
  check_both_ways([] {
    promise<int> p;
    auto f = p.get_future();
    sync::thread dropper([p = std::move(p)]() mutable { promise<int> gone(std::move(p)); });
    try {
      f.get();
      require(false, "there is no value");
    } catch (const broken_promise&) {
    }
    dropper.join();
  });
}

TEST(future_model, set_against_cancel) {
  check_both_ways([] {
    promise<int> p;
    auto f = p.get_future();
    sync::thread setter([&] { p.set_value(7); });
    const cancel_result r = f.cancel();
    f.wait();
    require(f.is_cancelled() == (r == cancel_result::prevented), "cancel() tells what it did");
    setter.join();
  });
}

// The body and its closure refer to what is destroyed right after the join.
TEST(future_model, cancel_and_join_against_finish) {
  check({.runs = 20'000}, [] {
    auto data = std::make_unique<sync::var<int>>(0);
    struct touches {
      sync::var<int>* data;
      explicit touches(sync::var<int>* d) : data(d) {}
      touches(touches&& other) noexcept : data(std::exchange(other.data, nullptr)) {}
      ~touches() {
        if (data != nullptr) ++data->write();
      }
      void operator()() { ++data->write(); }
    };
    future_task<void> task{touches(data.get())};
    auto f = task.get_future();
    sync::thread runner([&] { task.run(); });
    const cancel_result r = f.cancel_and_join();
    require(r != cancel_result::running, "it was joined");
    data.reset();
    require(f.is_ready(), "one end or the other");
    runner.join();
  });
}

TEST(future_model, cancel_and_join_against_periodic_runs) {
  check({.runs = 20'000}, [] {
    auto data = std::make_unique<sync::var<int>>(0);
    future_task task([d = data.get()] { ++d->write(); });
    sync::thread runner([&] {
      for (int i = 0; i < 2 && task.run_and_reset(); ++i) {
      }
    });
    require(task.cancel_and_join() != cancel_result::running, "it was joined");
    data.reset();
    runner.join();
    require(task.is_cancelled(), "the series has ended");
  });
}

TEST(future_model, two_cancellers_and_a_runner) {
  check({.runs = 20'000}, [] {
    sync::atomic<int> ran{0};
    future_task task([&](const sync::stop_token&) { ran.fetch_add(1); });
    sync::atomic<int> prevented{0};
    const auto cancel = [&] {
      if (task.cancel() == cancel_result::prevented) prevented.fetch_add(1);
    };
    sync::thread a(cancel);
    sync::thread b(cancel);
    task.run();
    a.join();
    b.join();
    require(ran.load() + prevented.load() == 1, "it ran or was prevented, once");
    require(task.is_ready(), "and has ended");
  });
}

TEST(future_model, stop_is_requested_of_a_running_body) {
  check({.runs = 10'000}, [] {
    future_task task([](const sync::stop_token& stop) {
      while (!stop.stop_requested()) sync::yield();
    });
    auto f = task.get_future();
    sync::thread runner([&] { task.run(); });
    f.cancel_and_join();
    require(f.is_cancelled(), "only by cancellation can it end");
    runner.join();
  });
}

TEST(future_model, then_against_set) {
  check_both_ways([] {
    promise<int> p;
    auto f = p.get_future();
    sync::thread setter([p = std::move(p)]() mutable { p.set_value(1); });
    auto g = std::move(f).then([](int n) { return n + 1; });
    require(g.get() == 2, "continued once");
    setter.join();
  });
}

TEST(future_model, then_against_cancel) {
  check({.runs = 20'000}, [] {
    promise<int> p;
    sync::var<int> calls{0};
    auto g = p.get_future().then([&calls](int) { ++calls.write(); });
    sync::thread setter([p = std::move(p)]() mutable { p.set_value(1); });
    const cancel_result r = g.cancel_and_join();
    require(r != cancel_result::running, "joined");
    require(calls.read() == (r == cancel_result::prevented ? 0 : 1), "cancel() tells what it did");
    setter.join();
  });
}

TEST(future_model, waiters_with_a_deadline_and_a_stop_request) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    promise<int> p({.time = &time});
    auto f = p.get_future();
    sync::stop_source stop;
    sync::thread setter([&] { p.set_value(1); });
    sync::thread others([&] {
      time.advance(1s);
      stop.request_stop();
    });
    const bool ready = f.wait_for(1s, stop.get_token());
    if (!ready) require(time.now().time_since_epoch() == 1s || stop.stop_requested(), "a reason");
    require(f.get() == 1, "nothing is lost");
    setter.join();
    others.join();
  });
}

TEST(future_model, co_await_against_set) {
  check_both_ways([] {
    promise<int> p;
    sync::atomic<int> out{0};
    auto f = p.get_future();
    sync::thread setter([p = std::move(p)]() mutable { p.set_value(3); });
    [](future<int> in, sync::atomic<int>& result) -> detached {
      result.store(co_await std::move(in));
    }(std::move(f), out);
    setter.join();
    require(out.load() == 3, "resumed once");
  });
}

// The awaiter goes while the result comes: it unlinks itself, or the frame is resumed.
TEST(future_model, awaiter_destroyed_against_resume) {
  check({.runs = 20'000}, [] {
    promise<int> p;
    auto f = p.get_future();
    auto awaiter = std::make_unique<detail::future_awaiter<int>>(std::move(f));
    struct noop_frame {
      struct promise_type {
        noop_frame get_return_object() {
          return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
      };
      std::coroutine_handle<promise_type> frame;
    };
    sync::atomic<int> resumed{0};
    const auto made = [](sync::atomic<int>& count) -> noop_frame {
      count.fetch_add(1);
      co_return;
    }(resumed);
    const bool suspended = awaiter->await_suspend(made.frame);
    require(suspended, "nothing is there yet");
    sync::atomic<bool> gone{false};
    sync::thread setter([&] {
      const bool too_late = gone.load();
      p.set_value(1);
      require(resumed.load() <= (too_late ? 0 : 1), "once, but not when the awaiter is gone");
    });
    awaiter.reset();  // unlinks itself, or the resumption is already on its way
    gone.store(true);
    setter.join();
    require(made.frame.done() == (resumed.load() == 1), "resumed or left alone");
    made.frame.destroy();
  });
}

TEST(future_model, when_all_against_its_futures) {
  check({.runs = 10'000}, [] {
    promise<int> a;
    promise<int> b;
    auto all = when_all(a.get_future(), b.get_future());
    sync::thread first([&] { a.set_value(1); });
    sync::thread second([&] { b.set_value(2); });
    auto [x, y] = all.get();
    require(x.get() + y.get() == 3, "both");
    first.join();
    second.join();
  });
}

TEST(future_model, when_any_against_its_futures) {
  check({.runs = 20'000}, [] {
    promise<int> a;
    promise<int> b;
    std::vector<future<int>> both;
    both.push_back(a.get_future());
    both.push_back(b.get_future());
    sync::thread first([&] { a.set_value(0); });
    sync::thread second([&] { b.set_value(1); });
    auto [index, futures] = when_any(std::move(both)).get();
    require(futures[index].get() == static_cast<int>(index), "the first");
    auto other = std::move(futures[1 - index]).then([](int n) { return n; });
    require(other.get() == static_cast<int>(1 - index), "the other is still to be had");
    first.join();
    second.join();
  });
}

// A request that has returned is over: a run that begins later has a token of its own.
TEST(future_model, request_stop_of_a_series_never_reaches_a_later_run) {
  check({.runs = 10'000}, [] {
    sync::atomic<bool> returned{false};
    bool too_late = false;  // the request had returned before the run began
    future_task<void> task([&](const sync::stop_token& stop) {
      require(!too_late || !stop.stop_requested(), "the request was meant for an earlier run");
    });
    auto series = task.get_future();
    sync::thread stopper([&] {
      series.request_stop();  // between two runs it cancels the series
      returned.store(true);
    });
    bool again = true;
    for (int i = 0; i < 3 && again; ++i) {
      too_late = returned.load();
      again = task.run_and_reset();
    }
    stopper.join();
  });
}

}  // namespace

// What a future publishes, and what may be destroyed when: results, closures, promises.
#include <chrono>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/when_all.hpp>

#include "../support/nesting.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using model::require;
using takt_test::fully_nested;

// Plain data that is checked for races, and can be moved.
class tracked {
 public:
  explicit tracked(int n) : value_(std::make_unique<sync::var<int>>(n)) {}
  [[nodiscard]] int get() const { return value_->read(); }

 private:
  std::unique_ptr<sync::var<int>> value_;
};

// Touches its data when it is destroyed, as a closure or a value may.
class touches {
 public:
  explicit touches(sync::var<int>* data) : data_(data) {}
  touches(touches&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  touches(const touches&) = delete;
  touches& operator=(const touches&) = delete;
  touches& operator=(touches&&) = delete;
  ~touches() {
    if (data_ != nullptr) ++data_->write();
  }
  void operator()() const {}
  void touch() const { ++data_->write(); }

 private:
  sync::var<int>* data_;
};

// A poll that says yes is enough: the result is complete, and what precedes it is seen.
TEST(future_lifetime_model, polled_result_is_complete) {
  check({.runs = 5'000}, [] {
    promise<tracked> p;
    auto f = p.get_future();
    sync::thread setter([&] { p.set_value(tracked(7)); });
    while (!f.is_ready()) sync::yield();
    require(f.get().get() == 7, "the value");
    setter.join();
  });
  check({.runs = 5'000}, [] {
    future_task<tracked> task([] { return tracked(7); });
    auto f = task.get_future();
    sync::thread runner([&] { task.run(); });
    while (!f.state().has_value()) sync::yield();
    require(f.state().take().get() == 7, "the value of a body");
    runner.join();
  });
}

TEST(future_lifetime_model, cancellation_publishes_what_precedes_it) {
  check({.runs = 5'000}, [] {
    sync::var<int> data{0};
    promise<void> p;
    auto f = p.get_future();
    sync::thread canceller([&] {
      data.write() = 1;
      f.cancel();
    });
    while (!p.is_cancelled()) sync::yield();
    require(data.read() == 1, "seen with the cancellation");
    canceller.join();
  });
  check({.runs = 5'000}, [] {
    sync::var<int> data{0};
    future_task<void>* self = nullptr;
    future_task<void> task([&] {
      while (!self->is_cancelled()) sync::yield();
      require(data.read() == 1, "seen by the running body, too");
    });
    self = &task;
    sync::thread runner([&] { task.run(); });
    data.write() = 1;
    task.cancel();
    runner.join();
  });
}

// Its body goes on until `end` is unparked.
struct held_task {
  parker begun;
  parker end;
  future_task<void> task{[this] {
    begun.unpark();
    end.park();
  }};
};

TEST(future_lifetime_model, cancel_wakes_waiters_while_the_body_goes_on) {
  check({.runs = 5'000}, [] {
    held_task held;
    auto f = held.task.get_future();
    sync::thread runner([&] { held.task.run(); });
    sync::thread waiter([&] {
      f.wait();
      held.end.unpark();
    });
    held.begun.park();
    held.task.cancel();
    waiter.join();
    runner.join();
  });
}

TEST(future_lifetime_model, cancel_continues_while_the_body_goes_on) {
  check({.runs = 5'000}, [] {
    held_task held;
    auto g = held.task.get_future().then([&](const future<void>&) { held.end.unpark(); });
    sync::thread runner([&] { held.task.run(); });
    held.begun.park();
    held.task.cancel();
    g.get();
    runner.join();
  });
}

TEST(future_lifetime_model, each_periodic_run_happens_before_the_next) {
  check({.runs = 5'000}, [] {
    sync::var<int> runs{0};
    future_task task([&] { ++runs.write(); });
    const auto run = [&] { static_cast<void>(task.run_and_reset()); };
    sync::thread a(run);
    sync::thread b(run);
    a.join();
    b.join();
  });
  check({.runs = 5'000}, [] {
    auto data = std::make_unique<sync::var<int>>(0);
    future_task task([d = data.get()] { ++d->write(); });
    sync::thread runner([&] { static_cast<void>(task.run_and_reset()); });
    if (task.cancel() == cancel_result::prevented) data.reset();
    runner.join();
  });
}

TEST(future_lifetime_model, join_waits_for_another_canceller_to_destroy_the_closure) {
  check({.runs = 10'000}, [] {
    auto data = std::make_unique<sync::var<int>>(0);
    future_task<void> task{touches(data.get())};
    sync::thread other([&] { task.cancel(); });
    require(task.cancel_and_join() != cancel_result::running, "joined");
    data.reset();
    other.join();
  });
}

TEST(future_lifetime_model, join_waits_for_a_late_value_to_be_destroyed) {
  check({.runs = 10'000}, [] {
    auto data = std::make_unique<sync::var<int>>(0);
    future_task<touches> task([d = data.get()] { return touches(d); });
    auto f = task.get_future();
    sync::thread runner([&] { task.run(); });
    f.cancel_and_join();
    if (f.is_cancelled()) data.reset();
    runner.join();
    f = {};
  });
}

TEST(future_lifetime_model, join_waits_for_a_late_error_to_be_destroyed) {
  check({.runs = 10'000}, [] {
    auto data = std::make_unique<sync::var<int>>(0);
    future_task<void> task([d = data.get()] { throw touches(d); });
    auto f = task.get_future();
    sync::thread runner([&] { task.run(); });
    f.cancel_and_join();
    if (f.is_cancelled()) {
      data.reset();
    } else {
      static_cast<void>(f.state().take_error());
    }
    runner.join();
  });
}

// A join that gives up says so; one that does not has seen the end.
TEST(future_lifetime_model, join_with_a_deadline_and_a_token_tells_whether_the_body_has_ended) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::stop_source stop;
    auto data = std::make_unique<sync::var<int>>(0);
    future_task<void> task([d = data.get()] { ++d->write(); }, {.time = &time});
    sync::thread runner([&] { task.run(); });
    sync::thread others([&] {
      time.advance(std::chrono::seconds(1));
      stop.request_stop();
    });
    const cancel_result r = task.cancel_and_join_for(std::chrono::seconds(1), stop.get_token());
    if (r == cancel_result::running) {
      require(time.now().time_since_epoch() == std::chrono::seconds(1) || stop.stop_requested(),
              "it has a reason to give up");
    } else {
      data.reset();
    }
    require(task.is_ready(), "cancelled, or at its end");
    runner.join();
    others.join();
  });
}

// Two join at once, each of whom may be told that the other one prevented it.
TEST(future_lifetime_model, two_joiners_both_see_the_end) {
  check({.runs = 10'000}, [] {
    sync::var<int> uses{0};
    future_task<void> task{touches(&uses)};
    sync::thread runner([&] { task.run(); });
    const auto join = [&] {
      require(task.cancel_and_join() != cancel_result::running, "joined");
      static_cast<void>(uses.read());
    };
    sync::thread other(join);
    join();
    other.join();
    runner.join();
  });
}

TEST(future_lifetime_model, cancelled_while_an_error_passes_by) {
  check({.runs = 5'000}, [] {
    promise<int> p;
    auto g = p.get_future().then([](int) {});
    sync::thread setter([&] { p.set_exception(std::make_exception_ptr(1)); });
    if (g.cancel() != cancel_result::done) {
      try {
        g.get();
        require(false, "there is no value");
      } catch (const cancelled&) {
      }
    } else {
      g.wait();
      static_cast<void>(g.state().take_error());
    }
    setter.join();
  });
}

TEST(future_lifetime_model, promise_may_be_destroyed_by_who_got_the_value) {
  check({.runs = 10'000}, [] {
    auto p = std::make_unique<promise<int>>();
    auto f = p->get_future();
    sync::thread setter([q = p.get()] { q->set_value(1); });
    f.get();
    p.reset();
    setter.join();
  });
}

// An executor may let go of a series while another thread runs it.
TEST(future_lifetime_model, abandoned_series_ends_after_its_run) {
  check({.runs = 10'000}, [] {
    sync::var<int> uses{0};
    future_task<void> task([d = std::make_unique<touches>(&uses)] { d->touch(); });
    auto f = task.get_future();
    const auto state = task.release();
    sync::thread runner([&] { static_cast<void>(state->run_and_reset()); });
    state->abandon();
    f.wait();
    static_cast<void>(uses.read());  // the closure is gone
    runner.join();
  });
}

// The continuation lets go of the task, and the body ends, while cancel_and_join() is under way.
TEST(future_lifetime_model, joined_state_may_lose_its_owners) {
  check({.runs = 10'000}, [] {
    future_task<void> task([] {});
    auto f = task.get_future();
    auto state = task.release();
    auto g = std::move(f).then([&, canceller = sync::this_thread_id()](const future<void>&) {
      if (sync::this_thread_id() == canceller) state = {};
    });
    detail::future_state<void>* const raw = state.get();
    sync::thread runner([mine = state.share()]() mutable {
      mine->run();
      mine = {};
    });
    raw->cancel_and_join(clock::time_point::max(), {});
    g.wait();
    runner.join();
  });
}

// It goes with the closure, whoever destroys that.
TEST(future_lifetime_model, closure_may_own_the_last_reference) {
  check({.runs = 1'000}, [] {
    for (const int how : {0, 1, 2, 3}) {
      struct owner {
        detail::intrusive_ptr<detail::future_state<void>> state;
      };
      auto o = std::make_shared<owner>();
      o->state = future_task<void>([o] {}).release();
      detail::future_state<void>* const raw = o->state.get();
      o.reset();
      if (how == 0) raw->run();
      if (how == 1) raw->cancel();
      if (how == 2) raw->abandon();
      if (how == 3) {
        require(raw->run_and_reset(), "it may be run again");
        raw->cancel_and_join(clock::time_point::max(), {});
      }
    }
  });
}

TEST(future_lifetime_model, closure_is_destroyed_once_by_cancel_or_by_abandoning) {
  check({.runs = 5'000}, [] {
    sync::var<int> destroyed{0};
    auto task = std::make_unique<future_task<void>>(touches(&destroyed));
    auto f = task->get_future();
    sync::thread dropper([t = std::move(task)]() mutable { t.reset(); });
    f.cancel();
    dropper.join();
    require(destroyed.read() == 1, "once");
  });
}

TEST(future_lifetime_model, when_any_cancelled_and_dropped_while_its_futures_end) {
  check({.runs = 5'000}, [] {
    promise<int> a;
    promise<int> b;
    auto fa = a.get_future();
    auto fb = b.get_future();
    sync::thread first([&] { a.set_value(1); });
    sync::thread second([&] { b.set_value(2); });
    {
      auto any = when_any(std::move(fa), std::move(fb));
      any.cancel();
      any.wait();
    }
    first.join();
    second.join();
  });
}

// One thread has deferred a future whose continuation was taken back; another continues it, and
// whoever calls that releases the future.
TEST(future_lifetime_model, future_deferred_elsewhere_may_go_while_it_is_continued_here) {
  check({.runs = 10'000}, [] {
    promise<int> a;
    promise<int> b;
    sync::atomic<bool> deferred{false};
    sync::atomic<bool> go_on{false};
    auto any = when_any(a.get_future(), b.get_future());
    sync::thread other([&] {
      fully_nested([&] {
        {
          promise<int> gone(std::move(a));
          gone.set_value(1);
        }
        deferred.store(true);
        while (!go_on.load()) sync::yield();
      });
    });
    while (!deferred.load()) sync::yield();
    b.set_value(2);
    auto first = std::move(std::get<0>(any.get().futures));
    go_on.store(true);
    auto g = std::move(first).then([](int n) { return n; });
    require(g.get() == 1, "continued by one of them");
    other.join();
  });
}

// One thread waits within continuations for the other, which continues a future that the first one
// has deferred.
TEST(future_lifetime_model, future_deferred_elsewhere_is_continued_here) {
  check({.runs = 5'000}, [] {
    promise<int> a;
    promise<int> b;
    sync::atomic<bool> deferred{false};
    parker done;
    auto any = when_any(a.get_future(), b.get_future());
    sync::thread other([&] {
      fully_nested([&] {
        a.set_value(1);
        deferred.store(true);
        done.park();
      });
    });
    while (!deferred.load()) sync::yield();
    b.set_value(2);
    auto result = any.get();
    auto g = std::move(std::get<0>(result.futures)).then([](int n) { return n; });
    require(g.get() == 1, "continued by this thread");
    done.unpark();
    other.join();
  });
}

// The same on one thread: what it has deferred waits for its turn, whoever else took the
// continuation back.
TEST(future_lifetime_model, future_deferred_here_waits_for_its_turn) {
  check({.runs = 10'000}, [] {
    promise<int> a;
    promise<int> b;
    auto any = when_any(a.get_future(), b.get_future());
    sync::thread other([&] { b.set_value(2); });
    bool within = false;
    bool called = false;
    future<void> inner;
    fully_nested([&] {
      within = true;
      a.set_value(1);
      while (!any.is_ready()) sync::yield();
      inner = std::move(std::get<0>(any.get().futures)).then([&](int) {
        require(!within, "not within another continuation");
        called = true;
      });
      within = false;
    });
    require(called, "but right after it");
    inner.get();
    other.join();
  });
}

}  // namespace

#include <takt/task/future_task.hpp>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>

#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::future;
using takt::future_task;
using takt::parker;
using takt::sync::stop_token;
using takt::sync::thread;

TEST(future_task, runs_once) {
  int calls = 0;
  future_task task([&] { return ++calls; });
  auto f = task.get_future();
  EXPECT_FALSE(task.is_ready());
  task.run();
  task.run();
  EXPECT_TRUE(task.is_ready());
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(calls, 1);
}

TEST(future_task, gets_a_token_only_if_it_takes_one) {
  future_task plain([] { return 1; });
  future_task with_token([](const stop_token& stop) { return stop.stop_possible() ? 2 : 0; });
  auto a = plain.get_future();
  auto b = with_token.get_future();
  plain();
  with_token();
  EXPECT_EQ(a.get() + b.get(), 3);
}

TEST(future_task, one_shot_is_called_as_an_rvalue_and_periodic_work_as_an_lvalue) {
  struct both {
    int operator()() & { return 1; }
    int operator()() && { return 2; }
  };
  future_task task{both{}};
  auto f = task.get_future();
  EXPECT_TRUE(task.run_and_reset());
  task.run();
  EXPECT_EQ(f.get(), 2);
  struct once {
    void operator()() && {}
  };
  future_task single{once{}};
  EXPECT_THROW(static_cast<void>(single.run_and_reset()), std::logic_error);
}

TEST(future_task, callable_that_can_be_called_only_as_an_lvalue_is_called_as_one) {
  struct plain {
    int operator()() & { return 1; }
  };
  struct with_token {
    int operator()(const stop_token& stop) & { return stop.stop_possible() ? 2 : 0; }
    int operator()() && { return 0; }
  };
  future_task a{plain{}};
  future_task b{with_token{}};
  auto fa = a.get_future();
  auto fb = b.get_future();
  EXPECT_TRUE(a.run_and_reset());
  EXPECT_TRUE(b.run_and_reset());
  a.run();
  b.run();
  EXPECT_EQ(fa.get(), 1);
  EXPECT_EQ(fb.get(), 2) << "a token, if it takes one at all";
  EXPECT_EQ(takt::make_ready_future().then(plain{}).get(), 1) << "continuations, too";
}

TEST(future_task, is_made_only_of_what_gives_its_result) {
  using number = int (*)();
  using nothing = void (*)();
  using lvalue = int& (*)();
  static_assert(std::is_constructible_v<future_task<long>, number>);
  static_assert(std::is_constructible_v<future_task<void>, number>);
  static_assert(std::is_constructible_v<future_task<const int&>, lvalue>);
  static_assert(!std::is_constructible_v<future_task<int>, nothing>);
  static_assert(!std::is_constructible_v<future_task<std::string>, number>);
  static_assert(!std::is_constructible_v<future_task<std::unique_ptr<int>>, int* (*)()>);
  static_assert(!std::is_constructible_v<future_task<const int&>, number>, "would dangle");
  static_assert(!std::is_constructible_v<future_task<const long&>, lvalue>, "would dangle");
  static_assert(!std::is_constructible_v<future_task<int>, int>);
  int n = 1;
  future_task<const int&> task([&]() -> int& { return n; });
  auto f = task.get_future();
  task.run();
  EXPECT_EQ(&f.get(), &n);
}

TEST(future_task, closure_is_gone_before_the_future_is_ready) {
  auto captured = std::make_shared<int>(0);
  future_task task([captured] { return 1; });
  long uses_at_ready = 0;
  auto f = task.get_future().then(
      [&captured, &uses_at_ready](int) { uses_at_ready = captured.use_count(); });
  task.run();
  f.get();
  EXPECT_EQ(uses_at_ready, 1);
}

TEST(future_task, cancelled_closure_dies_with_the_canceller) {
  auto captured = std::make_shared<int>(0);
  future_task task([captured] { return 1; });
  EXPECT_EQ(task.cancel(), cancel_result::prevented);
  EXPECT_EQ(captured.use_count(), 1);
  task.run();
  EXPECT_TRUE(task.is_cancelled());
}

// Whatever ends a task, its closure is destroyed before the future is ready.
TEST(future_task, closure_is_gone_before_a_cancelled_or_abandoned_future_is_ready) {
  for (const bool cancels : {true, false}) {
    auto captured = std::make_shared<int>(0);
    std::optional<future_task<int>> task(std::in_place, [captured] { return 1; });
    long uses_at_ready = 0;
    auto f =
        task->get_future().then([&](const future<int>&) { uses_at_ready = captured.use_count(); });
    if (cancels) {
      EXPECT_EQ(task->cancel(), cancel_result::prevented);
    } else {
      task.reset();
    }
    f.get();
    EXPECT_EQ(uses_at_ready, 1);
  }
}

TEST(future_task, error_after_the_cancellation_is_dropped) {
  class counting final : public takt::unhandled_hook {
   public:
    void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override {
      ++count;
    }
    mutable int count = 0;
  } hook;
  {
    future_task<void>* self = nullptr;
    future_task<void> task(
        [&] {
          EXPECT_EQ(self->cancel(), cancel_result::running);
          throw std::runtime_error("late");
        },
        {.unhandled = &hook});
    self = &task;
    auto f = task.get_future();
    task.run();
    EXPECT_TRUE(f.is_cancelled());
  }
  EXPECT_EQ(hook.count, 0);
}

// Stop callbacks run on the cancelling thread, which holds no lock.
TEST(future_task, stop_callback_may_use_the_future) {
  parker begun;
  parker go_on;
  future<void>* f = nullptr;
  int calls = 0;
  future_task task([&](const stop_token& stop) {
    const takt::sync::stop_callback callback(stop, [&] {
      ++calls;
      EXPECT_TRUE(f->is_cancelled()) << "cancelled before stop is requested";
      EXPECT_EQ(f->cancel_and_join_until(takt::clock::time_point::min()), cancel_result::running);
    });
    begun.unpark();
    go_on.park();
  });
  auto got = task.get_future();
  f = &got;
  thread runner([&] { task.run(); });
  begun.park();
  EXPECT_EQ(got.cancel(), cancel_result::running);
  EXPECT_EQ(calls, 1);
  go_on.unpark();
  runner.join();
}

TEST(future_task, that_is_dropped_ends_its_future) {
  future<int> f;
  {
    future_task task([] { return 1; });
    f = task.get_future();
  }
  EXPECT_THROW(f.get(), takt::broken_promise);
}

TEST(future_task, empty_callables_and_empty_tasks_are_errors) {
  EXPECT_THROW(future_task<void>(std::function<void()>()), std::invalid_argument);
  EXPECT_THROW(future_task<void>(static_cast<void (*)()>(nullptr)), std::invalid_argument);
  EXPECT_THROW(future_task<void>(takt::move_only_function<void()>()), std::invalid_argument);
  future_task task([] {});
  const future_task moved = std::move(task);
  EXPECT_THROW(task.run(), std::future_error);  // NOLINT(bugprone-use-after-move): the point
  EXPECT_THROW(static_cast<void>(task.get_future()), std::future_error);
  EXPECT_THROW(task.cancel(), std::future_error);
}

TEST(future_task, cancel_while_running_tells_so_and_requests_stop) {
  parker begun;
  parker go_on;
  takt::sync::atomic<bool> stop_seen{false};
  future_task task([&](const stop_token& stop) {
    begun.unpark();
    go_on.park();
    stop_seen.store(stop.stop_requested());
    return 1;
  });
  auto f = task.get_future();
  thread runner([&] { task.run(); });
  begun.park();
  EXPECT_EQ(f.cancel(), cancel_result::running);
  EXPECT_TRUE(f.is_cancelled()) << "at once, while the body continues";
  EXPECT_FALSE(stop_seen.load());
  EXPECT_EQ(f.cancel(), cancel_result::done);
  EXPECT_EQ(f.cancel_and_join_until(takt::clock::time_point::min()), cancel_result::running);
  go_on.unpark();
  EXPECT_EQ(f.cancel_and_join(), cancel_result::done);
  EXPECT_TRUE(stop_seen.load());
  runner.join();
  EXPECT_THROW(f.get(), takt::cancelled) << "the value came too late";
}

TEST(future_task, cancel_and_join_waits_on_the_clock_and_heeds_a_stop_request) {
  takt::manual_clock time;
  parker begun;
  parker go_on;
  future_task task(
      [&] {
        begun.unpark();
        go_on.park();
      },
      {.time = &time});
  const auto f = task.get_future();
  thread runner([&] { task.run(); });
  begun.park();
  takt::sync::stop_source stop;
  thread joiner([&] {
    EXPECT_EQ(f.cancel_and_join_until(time.now() + 1s), cancel_result::running);
    EXPECT_EQ(f.cancel_and_join_for(1s), cancel_result::running);
    EXPECT_EQ(task.cancel_and_join_for(1s), cancel_result::running);
    EXPECT_EQ(f.cancel_and_join(stop.get_token()), cancel_result::running);
    EXPECT_EQ(task.cancel_and_join(stop.get_token()), cancel_result::running);
    EXPECT_EQ(f.cancel_and_join_for(1h, stop.get_token()), cancel_result::running);
    EXPECT_EQ(task.cancel_and_join_until(takt::clock::time_point::max(), stop.get_token()),
              cancel_result::running);
  });
  for (int i = 0; i < 3; ++i) {
    time.wait_for_waiters(1);
    time.advance(1s);
  }
  time.wait_for_waiters(1);
  stop.request_stop();
  joiner.join();
  EXPECT_EQ(task.cancel_and_join_for(-1h), cancel_result::running) << "polls";
  go_on.unpark();
  runner.join();
}

TEST(future_task, knows_itself) {
  future<void>* self = nullptr;
  cancel_result joined = cancel_result::done;
  std::error_code waited;
  future_task task([&] {
    try {
      self->wait();
    } catch (const std::system_error& e) {
      waited = e.code();
    }
    future_task inner([&] { joined = self->cancel_and_join(); });
    inner.run();
  });
  auto f = task.get_future();
  self = &f;
  task.run();
  EXPECT_EQ(waited, std::errc::resource_deadlock_would_occur);
  EXPECT_EQ(joined, cancel_result::running) << "also from a task within the task";
  EXPECT_TRUE(f.is_cancelled());
}

TEST(future_task, closure_may_own_its_task_or_join_it) {
  struct owner {
    std::optional<future_task<void>> task;
  };
  for (const bool run : {true, false}) {
    auto o = std::make_shared<owner>();
    o->task.emplace([o] {});
    owner* const raw = o.get();
    o.reset();  // the closure has the last reference
    run ? raw->task->run() : static_cast<void>(raw->task->cancel());
  }
  struct state_owner {
    takt::detail::intrusive_ptr<takt::detail::future_state<void>> state;
  };
  auto entry = std::make_shared<state_owner>();
  entry->state = future_task<void>([entry] {}).release();
  state_owner* const only = entry.get();
  entry.reset();
  only->state->abandon();

  std::optional<future_task<void>> resets_itself;
  resets_itself.emplace([&] { resets_itself.reset(); });
  resets_itself->run();
  resets_itself.emplace([&] { resets_itself.reset(); });
  auto series = resets_itself->get_future();
  EXPECT_FALSE(resets_itself->run_and_reset());
  EXPECT_THROW(series.get(), takt::broken_promise) << "the series will not run again";

  struct joiner {
    explicit joiner(cancel_result& result) : joined(&result) {}
    joiner(const joiner&) = delete;
    joiner& operator=(const joiner&) = delete;
    ~joiner() { *joined = f.cancel_and_join(); }
    future<void> f;
    cancel_result* joined;
  };
  for (const int how : {0, 1, 2}) {
    cancel_result joined = cancel_result::done;
    auto j = std::make_shared<joiner>(joined);
    joiner* const raw = j.get();
    std::optional<future_task<void>> task(std::in_place, [j] {});
    raw->f = task->get_future();
    j.reset();
    if (how == 0) task->run();
    if (how == 1) task->cancel();
    task.reset();
    EXPECT_EQ(joined, cancel_result::running) << "from within itself";
  }
}

// The body's thread destroys a late result while other threads still wait for the body.
TEST(future_task, late_result_may_join_its_task) {
  struct joins {
    explicit joins(const future_task<joins>* t) : task(t) {}
    joins(joins&& other) noexcept : task(std::exchange(other.task, nullptr)) {}
    joins& operator=(joins&&) = delete;
    ~joins() {
      if (task == nullptr) return;
      EXPECT_EQ(task->cancel_and_join(), cancel_result::running);
    }
    const future_task<joins>* task;
  };
  const future_task<joins>* self = nullptr;
  const auto too_late = [&] { EXPECT_EQ(self->cancel(), cancel_result::running); };
  future_task<joins> value([&] {
    too_late();
    return joins(self);
  });
  future_task<joins> error([&]() -> joins {
    too_late();
    throw joins(self);
  });
  future_task<joins> periodic([&]() -> joins {
    too_late();
    throw joins(self);
  });
  self = &value;
  value.run();
  self = &error;
  error.run();
  self = &periodic;
  EXPECT_FALSE(periodic.run_and_reset());
  EXPECT_TRUE(value.is_cancelled() && error.is_cancelled() && periodic.is_cancelled());
}

TEST(future_task, of_void_drops_what_the_callable_returns) {
  future_task<void> task([] { return 1; });
  auto f = task.get_future();
  task.run();
  f.get();
}

TEST(future_task, periodic_work_runs_until_it_throws_or_is_cancelled) {
  int calls = 0;
  future_task task([&] {
    if (++calls == 3) throw std::runtime_error("third");
  });
  auto f = task.get_future();
  EXPECT_TRUE(task.run_and_reset());
  EXPECT_TRUE(task.run_and_reset());
  EXPECT_FALSE(f.is_ready());
  EXPECT_FALSE(task.run_and_reset());
  EXPECT_FALSE(task.run_and_reset());
  EXPECT_THROW(f.get(), std::runtime_error);
  EXPECT_EQ(calls, 3);

  auto captured = std::make_shared<int>(0);
  future_task other([captured] { ++*captured; });
  EXPECT_TRUE(other.run_and_reset());
  EXPECT_EQ(other.cancel(), cancel_result::prevented);
  EXPECT_FALSE(other.run_and_reset());
  EXPECT_EQ(*captured, 1);
  EXPECT_EQ(captured.use_count(), 1);

  future_task<void>* self = nullptr;
  future_task ends_itself([&] { self->cancel(); });
  self = &ends_itself;
  EXPECT_FALSE(ends_itself.run_and_reset());
  EXPECT_TRUE(ends_itself.is_cancelled());

  future_task gives_up([] { throw takt::cancelled(); });
  EXPECT_FALSE(gives_up.run_and_reset());
  EXPECT_TRUE(gives_up.is_cancelled());
}

TEST(future_task, allocates_once) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::size_t before = takt::allocations();
  future_task task([n = 1] { return n; });
  auto f = task.get_future();
  task.run();
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(takt::allocations() - before, 1U);
  future_task other([] {});
  other.cancel();
  EXPECT_EQ(takt::allocations() - before, 2U) << "cancelling allocates nothing";
  const future_task with_token([](const stop_token&) {});
  EXPECT_EQ(takt::allocations() - before, 4U) << "a stop_source is one more";
}

// The report of the unobserved error shows when the state is destroyed.
TEST(future_task, is_there_until_its_stop_callbacks_have_returned) {
  struct scene final : takt::unhandled_hook {
    void on_unhandled(takt::unhandled /*kind*/,
                      const std::exception_ptr& /*error*/) const noexcept override {
      gone_within_callback = within_callback;
    }
    bool within_callback = false;
    mutable std::optional<bool> gone_within_callback;
    parker begun;
    parker go_on;
    thread runs;
    std::optional<future<void>> last;
    std::optional<takt::sync::stop_callback<std::function<void()>>> on_stop;
  } s;
  future_task<void> task(
      [&](const stop_token& stop) {
        s.on_stop.emplace(stop, [at = &s] {
          scene& here = *at;  // the callback destroys itself
          here.within_callback = true;
          here.go_on.unpark();
          here.runs.join();
          here.last.reset();
          here.on_stop.reset();
          here.within_callback = false;
        });
        s.begun.unpark();
        s.go_on.park();
        throw std::runtime_error("by intent");
      },
      {.unhandled = &s});
  s.last = task.get_future();
  s.runs = thread([own = std::move(task)]() mutable { own.run(); });
  s.begun.park();
  s.last->request_stop();
  EXPECT_EQ(s.gone_within_callback, false);
}

// A series that shutdown_now() returns runs once more, by run(), and can be stopped there.
TEST(future_task, the_last_run_of_a_series_can_be_stopped) {
  std::optional<future<void>> series;
  std::vector<bool> stopped;
  future_task<void> task([&](const stop_token& stop) {
    if (!stopped.empty()) series->cancel();
    stopped.push_back(stop.stop_requested());
  });
  series = task.get_future();
  EXPECT_TRUE(task.run_and_reset());
  task.run();
  EXPECT_EQ(stopped, (std::vector<bool>{false, true}));
}

TEST(future_task, a_run_that_takes_no_effect_does_not_keep_another_from_being_stopped) {
  std::optional<future<void>> series;
  bool stopped = false;
  std::optional<future_task<void>> task;
  task.emplace([&](const stop_token& stop) {
    EXPECT_FALSE(task->run_and_reset());
    series->cancel();
    stopped = stop.stop_requested();
  });
  series = task->get_future();
  EXPECT_FALSE(task->run_and_reset());
  EXPECT_TRUE(stopped);
}

TEST(future_task, request_stop_stops_one_run_of_a_series) {
  std::optional<future<void>> series;
  std::vector<bool> stopped;
  future_task<void> task([&](const stop_token& stop) {
    if (stopped.empty()) series->request_stop();
    stopped.push_back(stop.stop_requested());
  });
  series = task.get_future();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(task.run_and_reset());
  EXPECT_EQ(stopped, (std::vector<bool>{true, false, false}));
  EXPECT_FALSE(series->is_ready());
}

}  // namespace

// Completion queues under all interleavings.
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/completion_queue.hpp>
#include <takt/exec/invoke.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/task.hpp>
#include <takt/task/unhandled.hpp>

#include "../support/nesting.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

// Keeps tasks until a thread of the check runs them.
class held_executor {
 public:
  void execute(task t) { tasks.push_back(std::move(t)); }
  // Runs a task and destroys it, as a worker does.
  void run(std::size_t i) {
    tasks[i].run();
    tasks[i] = task();
  }
  std::deque<task> tasks;
};

// Starts a thread for each task.
class thread_executor {
 public:
  ~thread_executor() {
    for (sync::thread& t : threads_) t.join();
  }
  void execute(task t) {
    threads_.emplace_back([t = std::move(t)]() mutable { t.run(); });
  }
  [[nodiscard]] takt::future_options future_options() const { return options; }

  takt::future_options options{};

 private:
  std::vector<sync::thread> threads_;
};

class counting_hook final : public unhandled_hook {
 public:
  void on_unhandled(unhandled, const std::exception_ptr&) const noexcept override {
    told.fetch_add(1);
  }
  mutable sync::atomic<int> told{0};
};

TEST(completion_model, submit_and_complete_against_take) {
  check({.runs = 20'000}, [] {
    thread_executor e;
    completion_queue<int> done{e};
    sync::var<int> data{0};
    done.submit([&] { return data.write() = 7; });
    require(done.take().get() == 7, "the value");
    require(data.read() == 7, "what the task did happens before");
    require(done.empty(), "nothing else");
  });
}

TEST(completion_model, two_completions_against_two_takers) {
  check({.runs = 20'000}, [] {
    held_executor e;
    completion_queue<int> done{e};
    done.submit([] { return 1; });
    done.submit([] { return 2; });
    sync::atomic<int> sum{0};
    sync::thread taker([&] { sum.fetch_add(done.take().get()); });
    sync::thread runner([&] { e.run(0); });
    e.run(1);
    sum.fetch_add(done.take().get());
    taker.join();
    runner.join();
    require(sum.load() == 3, "each is taken once");
  });
}

TEST(completion_model, submit_against_take) {
  check({.runs = 20'000}, [] {
    held_executor e;
    completion_queue<int> done{e};
    sync::thread submitter([&] {
      done.submit([] { return 1; });
      e.run(0);
    });
    require(done.take().get() == 1, "the value");
    submitter.join();
  });
}

TEST(completion_model, complete_against_the_destructor) {
  check({.runs = 20'000}, [] {
    held_executor e;
    int ran = 0;
    std::optional<completion_queue<int>> done(std::in_place, e);
    done->submit([&] { return ++ran; });
    sync::thread runner([&] { e.run(0); });
    done.reset();
    runner.join();
    require(ran == 1, "neither waits nor cancels");
  });
  check({.runs = 20'000}, [] {
    thread_executor e;
    completion_queue<int> done{e};
    done.submit([] { return 1; });
    done.submit([] { return 1; });
  });
}

TEST(completion_model, cancel_pending_against_completion) {
  check({.runs = 20'000}, [] {
    held_executor e;
    completion_queue<int> done{e};
    done.submit([] { return 1; });
    done.submit([] { return 1; });
    sync::thread runner([&] { e.run(0); });
    done.cancel_pending();
    future<int> first = done.take();
    future<int> second = done.take();
    require(first.is_ready() && second.is_ready(), "both have ended");
    require(first.is_cancelled() || second.is_cancelled(), "the second was not run");
    require(done.empty(), "nothing else");
    runner.join();
  });
}

TEST(completion_model, cancel_pending_against_itself_and_submit) {
  check({.runs = 20'000}, [] {
    held_executor e;
    completion_queue<int> done{e};
    done.submit([] { return 1; });
    done.submit([] { return 1; });
    sync::thread canceller([&] { done.cancel_pending(); });
    done.cancel_pending();
    for (int i = 0; i < 2; ++i) require(done.take().is_cancelled(), "cancelled by either thread");
    done.submit([] { return 1; });
    canceller.join();
    done.cancel_pending();
    require(done.take().is_cancelled(), "one or the other");
    require(done.empty(), "once");
  });
}

TEST(completion_model, time_out_against_completion) {
  check({.runs = 20'000}, [] {
    held_executor e;
    completion_queue<int> done{e};
    done.submit([] { return 1; });
    sync::thread runner([&] { e.run(0); });
    std::optional<future<int>> taken = done.take_for(1ms);
    if (!taken) taken = done.take();
    require(taken->get() == 1, "nothing is lost");
    runner.join();
  });
}

TEST(completion_model, stop_against_completion) {
  check({.runs = 20'000}, [] {
    held_executor e;
    completion_queue<int> done{e};
    done.submit([] { return 1; });
    sync::stop_source stop;
    sync::thread runner([&] { e.run(0); });
    sync::thread stopper([&] { stop.request_stop(); });
    std::optional<future<int>> taken = done.take(stop.get_token());
    if (!taken) taken = done.take();
    require(taken->get() == 1, "nothing is lost");
    runner.join();
    stopper.join();
  });
}

TEST(completion_model, discard_against_failure) {
  check({.runs = 20'000}, [] {
    const counting_hook hook;
    {
      thread_executor e;
      e.options.unhandled = &hook;
      completion_queue<int> done{e};
      done.submit([]() -> int { throw std::runtime_error("x"); });
      done.discard();
      require(done.empty(), "the result is discarded");
    }
    require(hook.told.load() == 0, "the hook is not called");
  });
}

TEST(completion_model, taken_within_a_continuation) {
  check({.runs = 10'000}, [] {
    held_executor e;
    completion_queue<int> done{e};
    done.submit([] { return 1; });
    sync::thread runner([&] { e.run(0); });
    takt_test::fully_nested([&] {
      done.cancel_pending();
      require(done.take().is_ready(), "what this thread has deferred is not waited for");
    });
    runner.join();
  });
}

TEST(completion_model, invoke_any_takes_the_first_value) {
  check({.runs = 10'000}, [] {
    const counting_hook hook;
    {
      thread_executor e;
      e.options.unhandled = &hook;
      const std::vector<std::function<int()>> calls{[]() -> int { throw std::runtime_error("x"); },
                                                    [] { return 1; }};
      require(invoke_any(e, calls) == 1, "the value");
    }
    require(hook.told.load() == 0, "the hook is not called for the others");
  });
}

TEST(completion_model, invoke_all_times_out) {
  check({.runs = 10'000}, [] {
    thread_executor e;
    const std::vector<std::function<int()>> calls{[] { return 1; }, [] { return 2; }};
    std::vector<future<int>> all = invoke_all_for(1ms, e, calls);
    for (future<int>& f : all) {
      require(f.is_ready(), "all are ready");
      require(f.is_cancelled() || f.get() > 0, "in one way or the other");
    }
  });
}

}  // namespace

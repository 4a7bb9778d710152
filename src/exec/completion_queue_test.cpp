#include <takt/exec/completion_queue.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/task.hpp>
#include <takt/task/unhandled.hpp>

#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using takt::completion_queue;
using takt::future;
using takt::sync::stop_source;
using takt::sync::stop_token;
using takt::sync::thread;

// Keeps tasks until the test runs them.
class held_executor {
 public:
  explicit held_executor(const takt::future_options& options = {}) : options_(options) {}
  void execute(takt::task t) {
    if (refuse) throw std::runtime_error("refused");
    tasks.push_back(std::move(t));
  }
  [[nodiscard]] takt::future_options future_options() const { return options_; }

  std::deque<takt::task> tasks;
  bool refuse = false;

 private:
  takt::future_options options_;
};

class counting_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override { ++told; }
  mutable takt::sync::atomic<int> told{0};
};

TEST(completion_queue, gives_results_in_the_order_in_which_they_come) {
  held_executor e;
  completion_queue<int> done{e};
  for (int i = 0; i < 4; ++i) done.submit([i] { return i; });
  for (const std::size_t i : {2u, 0u, 3u, 1u}) e.tasks[i].run();
  for (const int expected : {2, 0, 3, 1}) EXPECT_EQ(done.take().get(), expected);
}

TEST(completion_queue, gives_all_that_a_pool_does) {
  takt::thread_pool pool{{.core_threads = 3}};
  completion_queue<int> done{pool};
  for (int i = 1; i <= 100; ++i) done.submit([i] { return i; });
  int sum = 0;
  int count = 0;
  for (; !done.empty(); ++count) {
    future<int> next = done.take();
    ASSERT_TRUE(next.is_ready());
    sum += next.get();
  }
  EXPECT_EQ(count, 100);
  EXPECT_EQ(sum, 5050);
}

TEST(completion_queue, gives_errors_and_cancellations_as_they_are) {
  completion_queue<int> done{takt::inline_executor()};
  done.submit([]() -> int { throw std::out_of_range("x"); });
  done.submit([]() -> int { throw takt::cancelled(); });
  EXPECT_THROW(done.take().get(), std::out_of_range);
  EXPECT_TRUE(done.take().is_cancelled());
}

TEST(completion_queue, takes_what_becomes_its_type) {
  completion_queue<std::string> texts{takt::inline_executor()};
  texts.submit([] { return "a"; });
  EXPECT_EQ(texts.take().get(), "a");

  completion_queue<void> ends{takt::inline_executor()};
  ends.submit([] { return 1; });
  ends.take().get();

  int n = 0;
  completion_queue<int&> references{takt::inline_executor()};
  references.submit([&n]() -> int& { return n; });
  EXPECT_EQ(&references.take().get(), &n);

  completion_queue<std::unique_ptr<int>> owners{takt::inline_executor()};
  owners.submit([p = std::make_unique<int>(7)]() mutable { return std::move(p); });
  EXPECT_EQ(*owners.take().get(), 7);
}

TEST(completion_queue, counts_what_has_not_ended) {
  held_executor e;
  completion_queue<int> done{e};
  EXPECT_TRUE(done.empty());
  done.submit([] { return 1; });
  done.submit([] { return 2; });
  EXPECT_EQ(done.pending(), 2u);
  EXPECT_FALSE(done.try_take().has_value());
  e.tasks[0].run();
  EXPECT_EQ(done.pending(), 1u);
  e.tasks[1].run();
  EXPECT_EQ(done.pending(), 0u);
  EXPECT_FALSE(done.empty());
  EXPECT_EQ(done.try_take()->get(), 1);
  EXPECT_FALSE(done.empty());
  EXPECT_EQ(done.try_take()->get(), 2);
  EXPECT_TRUE(done.empty());
  EXPECT_FALSE(done.try_take().has_value());
}

TEST(completion_queue, takes_for_as_long_as_told_by_the_clock_of_the_executor) {
  takt::manual_clock time;
  held_executor e{{.time = &time}};
  completion_queue<int> done{e};
  done.submit([] { return 1; });
  EXPECT_FALSE(done.take_for(-1s).has_value());
  EXPECT_FALSE(done.take_for(0s).has_value());
  EXPECT_FALSE(done.take_until(time.now()).has_value());

  std::optional<future<int>> taken;
  thread taker([&] { taken = done.take_for(3s); });
  time.wait_for_waiters(1);
  time.advance(3s - 1ns);
  EXPECT_EQ(time.waiters(), 1u);
  time.advance(1ns);
  taker.join();
  EXPECT_FALSE(taken.has_value());

  thread other([&] { taken = done.take_until(time.now() + 3s); });
  time.wait_for_waiters(1);
  e.tasks[0].run();
  other.join();
  EXPECT_EQ(taken->get(), 1);
}

TEST(completion_queue, takes_until_stop_is_requested) {
  takt::manual_clock time;
  held_executor e{{.time = &time}};
  completion_queue<int> done{e};
  done.submit([] { return 1; });
  stop_source stop;
  std::optional<future<int>> taken;
  thread taker([&] { taken = done.take(stop.get_token()); });
  time.wait_for_waiters(1);
  stop.request_stop();
  taker.join();
  EXPECT_FALSE(taken.has_value());
  EXPECT_FALSE(done.take_for(1s, stop.get_token()).has_value());
  e.tasks[0].run();
  EXPECT_TRUE(done.take(stop.get_token()).has_value());  // a ready future is returned
}

TEST(completion_queue, keeps_nothing_of_what_was_rejected) {
  takt::thread_pool pool{{.core_threads = 1}};
  completion_queue<int> done{pool};
  pool.shutdown();
  EXPECT_THROW(done.submit([] { return 1; }), takt::rejected);
  EXPECT_TRUE(done.empty());
  EXPECT_FALSE(done.try_take().has_value());

  held_executor e;
  e.refuse = true;
  completion_queue<int> other{e};
  auto owned = std::make_shared<int>(1);
  EXPECT_THROW(other.submit([owned] { return *owned; }), std::runtime_error);
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(owned.use_count(), 1);

  EXPECT_THROW(other.submit(std::function<int()>()), std::invalid_argument);
  EXPECT_TRUE(other.empty());
}

TEST(completion_queue, gives_what_was_dropped_later) {
  takt::thread_pool pool{{.core_threads = 1, .rejection = takt::rejection_policy::drop()}};
  completion_queue<int> done{pool};
  pool.shutdown();
  done.submit([] { return 1; });
  EXPECT_THROW(done.take().get(), takt::rejected);

  held_executor e;
  completion_queue<int> other{e};
  other.submit([] { return 1; });
  e.tasks.clear();
  EXPECT_THROW(other.take().get(), takt::broken_promise);
}

TEST(completion_queue, cancels_what_has_not_ended_the_last_first) {
  held_executor e;
  completion_queue<int> done{e};
  std::vector<int> dropped;
  struct tells {
    tells(std::vector<int>& d, int n) : dropped(&d), number(n) {}
    tells(tells&& other) noexcept
        : dropped(std::exchange(other.dropped, nullptr)), number(other.number) {}
    ~tells() {
      if (dropped != nullptr) dropped->push_back(number);
    }
    int operator()() const { return number; }
    std::vector<int>* dropped;
    int number;
  };
  for (int i = 0; i < 4; ++i) done.submit(tells(dropped, i));
  e.tasks[1].run();
  dropped.clear();
  done.cancel_pending();
  EXPECT_EQ(dropped, (std::vector{3, 2, 0}));
  EXPECT_EQ(done.pending(), 0u);
  EXPECT_EQ(done.take().get(), 1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(done.take().is_cancelled());
  EXPECT_TRUE(done.empty());
  for (takt::task& t : e.tasks) t.run();
  EXPECT_TRUE(done.empty());
}

TEST(completion_queue, holds_no_lock_while_it_cancels) {
  takt::thread_pool pool{{.core_threads = 1}};
  completion_queue<int> done{pool};
  takt::parker begun;
  takt::parker stopped;
  std::size_t seen = 7;
  done.submit([&](const stop_token& stop) {
    const auto look = [&] {
      seen = done.pending();
      done.cancel_pending();
      stopped.unpark();
    };
    const takt::sync::stop_callback on_stop(stop, look);
    begun.unpark();
    stopped.park();
    return 1;
  });
  begun.park();
  done.cancel_pending();
  EXPECT_LE(seen, 1u);
  future<int> taken = done.take();
  EXPECT_TRUE(taken.is_cancelled());
  EXPECT_EQ(taken.cancel_and_join(), takt::cancel_result::done);
}

TEST(completion_queue, can_go_while_it_cancels) {
  held_executor e;
  std::optional<completion_queue<int>> done(std::in_place, e);
  struct destroys {
    explicit destroys(std::optional<completion_queue<int>>& d) : done(&d) {}
    destroys(destroys&& other) noexcept : done(std::exchange(other.done, nullptr)) {}
    ~destroys() {
      if (done != nullptr) done->reset();
    }
    int operator()() const { return 1; }
    std::optional<completion_queue<int>>* done;
  };
  done->submit([] { return 1; });
  done->submit(destroys(done));
  done->submit([] { return 1; });
  done->cancel_pending();
  EXPECT_FALSE(done.has_value());
  for (const takt::task& t : e.tasks) EXPECT_TRUE(t.is_cancelled());
}

// Continuations are deferred while the thread runs a continuation, unless it waits.
TEST(completion_queue, finds_what_this_thread_has_ended_within_a_continuation) {
  held_executor e;
  completion_queue<int> done{e};
  for (int i = 0; i < 3; ++i) done.submit([] { return 1; });
  takt::promise<void> p;
  auto continued = p.get_future().then([&] {
    done.cancel_pending();
    EXPECT_TRUE(done.take().is_cancelled());
    EXPECT_TRUE(done.try_take()->is_cancelled());
    EXPECT_TRUE(done.take_for(-1s)->is_cancelled());
    EXPECT_TRUE(done.empty());
    e.refuse = true;
    EXPECT_THROW(done.submit([] { return 1; }), std::runtime_error);
  });
  p.set_value();
  continued.get();
  EXPECT_TRUE(done.empty());
}

TEST(completion_queue, neither_waits_nor_cancels_when_it_goes) {
  held_executor e;
  int ran = 0;
  {
    completion_queue<int> done{e};
    for (int i = 0; i < 3; ++i) done.submit([&] { return ++ran; });
    e.tasks[0].run();
  }
  EXPECT_EQ(ran, 1);
  e.tasks[1].run();
  EXPECT_EQ(ran, 2);
  e.tasks.clear();
}

TEST(completion_queue, leaves_errors_that_nobody_takes_to_the_hook) {
  counting_hook hook;
  held_executor e{{.unhandled = &hook}};
  {
    completion_queue<int> done{e};
    for (int i = 0; i < 2; ++i) done.submit([]() -> int { throw std::runtime_error("x"); });
    e.tasks[0].run();
    e.tasks.pop_front();
    EXPECT_EQ(hook.told, 0);
  }
  EXPECT_EQ(hook.told, 1);
  e.tasks[0].run();
  e.tasks.clear();
  EXPECT_EQ(hook.told, 2);
}

TEST(completion_queue, discards_what_nobody_wants) {
  counting_hook hook;
  takt::thread_pool pool{{.core_threads = 1, .unhandled = &hook}};
  completion_queue<int> done{pool};
  takt::parker begun;
  takt::parker go_on;
  done.submit([]() -> int { throw std::runtime_error("before"); });
  done.submit([&]() -> int {
    begun.unpark();
    go_on.park();
    throw std::runtime_error("while");
  });
  bool ran = false;
  done.submit([&] { return (ran = true) ? 1 : 0; });
  begun.park();
  done.discard();
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(done.pending(), 0u);
  EXPECT_FALSE(done.try_take().has_value());
  go_on.unpark();

  done.submit([] { return 4; });  // later results are not discarded
  EXPECT_EQ(done.take().get(), 4);
  EXPECT_TRUE(done.empty());
  EXPECT_FALSE(ran);
  pool.close(takt::drain);
  EXPECT_EQ(hook.told, 0);
}

TEST(completion_queue, finds_out_that_it_would_wait_for_ever) {
  takt::thread_pool pool{{.core_threads = 1}};
  auto outer = pool.submit([&] {
    completion_queue<int> done{pool};
    done.submit([] { return 1; });
    try {
      static_cast<void>(done.take());
      ADD_FAILURE() << "there is no thread that could run it";
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
    }
    EXPECT_EQ(done.pending(), 1u);
  });
  outer.get();

  takt::thread_pool two{{.core_threads = 2}};
  auto inner = two.submit([&] {
    completion_queue<int> done{two};
    done.submit([] { return 1; });
    return done.take().get();
  });
  EXPECT_EQ(inner.get(), 1);
}

TEST(completion_queue, allocates_once_beside_the_future) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const takt::inline_executor e;
  completion_queue<int> done{e};
  const std::size_t before = takt::allocations();
  static_cast<void>(takt::submit(e, [] { return 1; }));
  const std::size_t of_future = takt::allocations() - before;
  done.submit([] { return 1; });
  EXPECT_EQ(takt::allocations() - before, 2 * of_future + 1);
  EXPECT_EQ(done.take().get(), 1);
  done.cancel_pending();
  EXPECT_EQ(takt::allocations() - before, 2 * of_future + 1);
}

TEST(completion_queue, serves_many_threads) {
  takt::thread_pool pool{{.core_threads = 2}};
  completion_queue<int> done{pool};
  constexpr int each = 200;
  takt::sync::atomic<int> sum{0};
  std::vector<thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < each; ++k) done.submit([] { return 1; });
    });
    threads.emplace_back([&] {
      for (int k = 0; k < each; ++k) sum += done.take().get();
    });
  }
  for (thread& t : threads) t.join();
  EXPECT_EQ(sum, 3 * each);
  EXPECT_TRUE(done.empty());
}

}  // namespace

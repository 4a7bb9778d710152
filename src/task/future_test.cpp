#include <takt/task/future.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
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
#include <takt/clock/manual_clock.hpp>

#include "../base/counting_new.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::promise;
using takt::sync::stop_source;
using takt::sync::thread;

template <class F>
std::error_code future_error_of(F&& f) {
  try {
    f();
  } catch (const std::future_error& e) {
    return e.code();
  }
  return {};
}
std::error_code code(std::future_errc e) { return std::make_error_code(e); }

TEST(future, gives_the_value) {
  promise<std::string> p;
  future<std::string> f = p.get_future();
  EXPECT_TRUE(f.valid());
  EXPECT_FALSE(f.is_ready());
  p.set_value("takt");
  EXPECT_TRUE(f.is_ready());
  EXPECT_EQ(f.get(), "takt");
  EXPECT_FALSE(f.valid()) << "moved out";
}

TEST(future, of_void_of_references_and_of_move_only_types) {
  promise<void> nothing;
  auto done = nothing.get_future();
  nothing.set_value();
  done.get();

  int n = 1;
  promise<int&> by_reference;
  auto ref = by_reference.get_future();
  by_reference.set_value(n);
  ref.get() = 2;
  EXPECT_EQ(n, 2);

  promise<std::unique_ptr<int>> move_only;
  auto owner = move_only.get_future();
  move_only.set_value(std::make_unique<int>(3));
  EXPECT_EQ(*owner.get(), 3);
  static_assert(std::is_same_v<decltype(std::declval<future<int&>>().get()), int&>);
}

template <class T, class... U>
concept settable =
    requires(promise<T>& p, U&&... value) { p.set_value(std::forward<U>(value)...); };

TEST(promise, takes_a_list_in_braces_but_no_reference_to_a_temporary) {
  promise<std::vector<int>> list;
  auto f = list.get_future();
  list.set_value({1, 2, 3});
  EXPECT_EQ(f.get(), (std::vector<int>{1, 2, 3}));
  promise<std::pair<int, std::string>> pair;
  auto g = pair.get_future();
  pair.set_value({1, "one"});
  EXPECT_EQ(g.get().second, "one");

  static_assert(settable<const int&, int&> && settable<const int&, const int&>);
  static_assert(!settable<const int&, int> && !settable<const int&, const int>);
  static_assert(!settable<const long&, int&>, "a temporary long");
  static_assert(!settable<int&, const int&> && !settable<int&>);
  static_assert(settable<void> && !settable<void, int> && !settable<int>);
  static_assert(!settable<std::string, std::unique_ptr<int>>);
}

TEST(future, gives_the_error) {
  promise<int> p;
  auto f = p.get_future();
  p.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_TRUE(f.is_ready());
  EXPECT_THROW(f.get(), std::runtime_error);
}

TEST(future, value_whose_construction_throws_is_an_error) {
  struct picky {
    explicit picky(int) { throw std::domain_error("picky"); }
  };
  promise<picky> p;
  auto f = p.get_future();
  p.set_value(1);
  EXPECT_THROW(f.get(), std::domain_error);
}

TEST(future, blocks_until_the_result_is_there) {
  for (int i = 0; i < 200; ++i) {
    promise<int> p;
    auto f = p.get_future();
    thread t([p = std::move(p), i]() mutable { p.set_value(i); });
    EXPECT_EQ(f.get(), i);
    t.join();
  }
}

TEST(future, empty_ones_say_so) {
  future<int> f;
  EXPECT_FALSE(f.valid());
  const auto none = code(std::future_errc::no_state);
  EXPECT_EQ(future_error_of([&] { f.get(); }), none);
  EXPECT_EQ(future_error_of([&] { f.wait(); }), none);
  EXPECT_EQ(future_error_of([&] { f.wait_for(1s); }), none);
  EXPECT_EQ(future_error_of([&] { f.wait_until(takt::clock::time_point::min()); }), none);
  EXPECT_EQ(future_error_of([&] { f.get(stop_source().get_token()); }), none);
  EXPECT_EQ(future_error_of([&] { f.cancel(); }), none);
  EXPECT_EQ(future_error_of([&] { f.cancel_and_join(); }), none);
  EXPECT_EQ(future_error_of([&] { f.cancel_and_join_for(1s); }), none);
  EXPECT_EQ(future_error_of([&] { f.cancel_and_join_until(takt::clock::time_point::min()); }),
            none);
  EXPECT_EQ(future_error_of([&] { static_cast<void>(f.is_ready()); }), none);
  EXPECT_EQ(future_error_of([&] { static_cast<void>(f.is_cancelled()); }), none);
  EXPECT_EQ(future_error_of([&] { static_cast<void>(std::move(f).operator co_await()); }), none);
  EXPECT_EQ(future_error_of([&] { static_cast<void>(std::move(f).then([](int) {})); }), none);
  promise<int> moved_from;
  const promise<int> other = std::move(moved_from);
  // NOLINTNEXTLINE(bugprone-use-after-move): the point
  EXPECT_EQ(future_error_of([&] { moved_from.set_value(1); }), none);
  EXPECT_EQ(future_error_of([&] { static_cast<void>(moved_from.get_future()); }), none);
  EXPECT_EQ(future_error_of([&] { static_cast<void>(moved_from.is_cancelled()); }), none);
}

TEST(promise, second_result_and_second_future_are_errors) {
  promise<int> p;
  auto f = p.get_future();
  EXPECT_EQ(future_error_of([&] { static_cast<void>(p.get_future()); }),
            code(std::future_errc::future_already_retrieved));
  p.set_value(1);
  EXPECT_EQ(future_error_of([&] { p.set_value(2); }),
            code(std::future_errc::promise_already_satisfied));
  EXPECT_EQ(future_error_of([&] { p.set_exception(std::make_exception_ptr(1)); }),
            code(std::future_errc::promise_already_satisfied));
  EXPECT_EQ(f.get(), 1);
  EXPECT_THROW(promise<int>().set_exception(nullptr), std::invalid_argument);
}

TEST(promise, that_dies_ends_its_future) {
  future<int> f;
  {
    promise<int> p;
    f = p.get_future();
  }
  EXPECT_TRUE(f.is_ready());
  EXPECT_THROW(f.get(), takt::broken_promise);

  promise<int> p;
  f = p.get_future();
  p = promise<int>();
  EXPECT_THROW(f.get(), takt::broken_promise) << "assignment drops it too";
}

TEST(future, waits_on_the_clock_it_was_given) {
  takt::manual_clock time;
  promise<int> p({.time = &time});
  const auto f = p.get_future();
  takt::sync::atomic<int> answers{0};
  thread waiter([&] {
    answers.fetch_add(f.wait_for(10ms) ? 100 : 1);
    answers.fetch_add(f.wait_until(time.now() + 10ms) ? 100 : 1);
    answers.fetch_add(f.wait_for(std::chrono::hours::max()) ? 100 : 1);
  });
  time.wait_for_waiters(1);
  time.advance(9ms);
  EXPECT_EQ(answers.load(), 0);
  time.advance(1ms);
  time.wait_for_waiters(1);
  EXPECT_EQ(answers.load(), 1);
  time.advance(10ms);
  time.wait_for_waiters(1);
  EXPECT_EQ(answers.load(), 2);
  p.set_value(1);
  waiter.join();
  EXPECT_EQ(answers.load(), 102);
  EXPECT_TRUE(f.wait_for(0s));
  EXPECT_TRUE(f.wait_for(-1h));
}

TEST(future, negative_and_zero_timeouts_poll) {
  promise<int> p;
  auto f = p.get_future();
  EXPECT_FALSE(f.wait_for(0s));
  EXPECT_FALSE(f.wait_for(-1h));
  EXPECT_FALSE(f.wait_for(std::chrono::hours::min()));
  EXPECT_FALSE(f.wait_until(takt::clock::time_point::min()));
  EXPECT_THROW(f.wait_for(std::chrono::duration<double>(std::nan(""))), std::invalid_argument);
}

TEST(future, wait_ends_by_a_stop_request) {
  takt::manual_clock time;
  promise<int> p({.time = &time});
  auto f = p.get_future();
  stop_source stop;
  thread waiter([&] {
    EXPECT_FALSE(f.wait(stop.get_token()));
    EXPECT_FALSE(f.wait_for(1h, stop.get_token()));
    EXPECT_THROW(f.get(stop.get_token()), takt::wait_stopped);
  });
  time.wait_for_waiters(1);
  stop.request_stop();
  waiter.join();
  EXPECT_TRUE(f.valid()) << "the result can still be retrieved";
  p.set_value(3);
  EXPECT_EQ(f.get(stop.get_token()), 3) << "ready wins";
}

// No other thread will make the future ready.
TEST(future, value_that_waits_for_itself_while_it_is_made_is_told_so) {
  struct waits {
    explicit waits(const future<waits>* self) {
      EXPECT_EQ(self->cancel_and_join(), takt::cancel_result::running);
      self->wait();
    }
  };
  promise<waits> p;
  auto f = p.get_future();
  p.set_value(&f);
  try {
    f.get();
    FAIL() << "there is no value";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
  }
}

TEST(future, many_threads_may_wait) {
  promise<int> p;
  const auto f = p.get_future();
  std::vector<thread> threads;
  takt::sync::atomic<int> ready{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      f.wait();
      ready.fetch_add(1);
    });
  }
  p.set_value(1);
  for (thread& t : threads) t.join();
  EXPECT_EQ(ready.load(), 4);
}

TEST(future, cancel_of_a_promise) {
  promise<int> p;
  auto f = p.get_future();
  EXPECT_FALSE(p.is_cancelled());
  EXPECT_EQ(f.cancel(), takt::cancel_result::prevented);
  EXPECT_EQ(f.cancel(), takt::cancel_result::done);
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_TRUE(f.is_ready());
  EXPECT_TRUE(p.is_cancelled());
  p.set_value(1);  // too late, and no error
  EXPECT_THROW(f.get(), takt::cancelled);

  promise<int> q;
  auto g = q.get_future();
  q.set_value(1);
  EXPECT_EQ(g.cancel(), takt::cancel_result::done);
  EXPECT_EQ(g.cancel_and_join(), takt::cancel_result::done);
  EXPECT_FALSE(g.is_cancelled());
  EXPECT_EQ(g.get(), 1);
}

TEST(promise, may_pass_on_a_cancellation) {
  promise<int> p;
  auto f = p.get_future().then([](int n) { return n; });
  p.set_cancelled();
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_THROW(p.set_cancelled(), std::future_error);
}

// By set_exception() and by an exception from a value's constructor.
TEST(promise, cancelled_as_an_error_is_a_cancellation) {
  promise<int> p;
  auto f = p.get_future();
  p.set_exception(std::make_exception_ptr(takt::cancelled()));
  EXPECT_TRUE(f.is_cancelled());
  EXPECT_THROW(f.get(), takt::cancelled);

  struct gives_up {
    explicit gives_up(int) { throw takt::cancelled(); }
  };
  promise<gives_up> q;
  auto g = q.get_future();
  q.set_value(1);
  EXPECT_TRUE(g.is_cancelled());
}

TEST(promise, continuation_runs_outside_the_handler_of_its_error) {
  struct picky {
    explicit picky(int) { throw std::domain_error("picky"); }
  };
  promise<picky> p;
  bool handling = true;
  auto f = p.get_future().then([&](future<picky> failed) {
    handling = std::current_exception() != nullptr;
    EXPECT_THROW(failed.get(), std::domain_error);
  });
  p.set_value(1);
  f.get();
  EXPECT_FALSE(handling);
}

TEST(promise, null_options_are_errors) {
  EXPECT_THROW(promise<int>({.time = nullptr}), std::invalid_argument);
  EXPECT_THROW(promise<int>({.unhandled = nullptr}), std::invalid_argument);
}

// Futures that become ready after the thread-local data has been destroyed.
TEST(promise, may_end_with_its_thread) {
  struct holder {
    std::optional<promise<int>> p;
    future<int> continued;
    holder() = default;
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    ~holder() {
      p.reset();
      EXPECT_THROW(continued.get(), takt::broken_promise);
    }
  };
  thread t([] {
    static thread_local holder h;
    h.p.emplace();
    h.continued = h.p->get_future().then([](int n) { return n; });
    EXPECT_EQ(takt::make_ready_future(1).then([](int n) { return n; }).get(), 1);
  });
  t.join();
}

TEST(future, allocates_once_per_promise_and_per_then) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const std::size_t before = takt::allocations();
  promise<int> p;
  auto f = p.get_future();
  EXPECT_EQ(takt::allocations() - before, 1U);
  auto g = std::move(f).then([](int n) { return n; });
  EXPECT_EQ(takt::allocations() - before, 2U);
  p.set_value(1);
  EXPECT_EQ(g.get(), 1);
  EXPECT_EQ(takt::allocations() - before, 2U);
}

}  // namespace

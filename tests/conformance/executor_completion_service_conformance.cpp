// java.util.concurrent's ExecutorCompletionServiceTest, with its names.
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/completion_queue.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/future.hpp>

namespace {

using namespace std::chrono_literals;
using takt::completion_queue;
using takt::future;
using takt::thread_pool;

std::string test_string() { return "a test string"; }

// There is no null executor, and no queue that could be null: the completion queue owns it.
TEST(ExecutorCompletionServiceTest, testConstructorNPE) {
  static_assert(std::is_constructible_v<completion_queue<int>, thread_pool&>);
  static_assert(!std::is_constructible_v<completion_queue<int>, std::nullptr_t>);
  static_assert(!std::is_constructible_v<completion_queue<int>, thread_pool*>);
}
TEST(ExecutorCompletionServiceTest, testConstructorNPE2) {
  static_assert(!std::is_constructible_v<completion_queue<int>, thread_pool&, std::nullptr_t>);
}

TEST(ExecutorCompletionServiceTest, testSubmitNullCallable) {
  thread_pool pool{thread_pool::cached()};
  completion_queue<int> done{pool};
  EXPECT_THROW(done.submit(std::function<int()>()), std::invalid_argument);
}

TEST(ExecutorCompletionServiceTest, testSubmitNullRunnable) {
  thread_pool pool{thread_pool::cached()};
  completion_queue<void> done{pool};
  EXPECT_THROW(done.submit(static_cast<void (*)()>(nullptr)), std::invalid_argument);
}

// take() returns a completed future.
TEST(ExecutorCompletionServiceTest, testTake) {
  thread_pool pool{thread_pool::cached()};
  completion_queue<std::string> done{pool};
  done.submit(test_string);
  future<std::string> f = done.take();
  EXPECT_TRUE(f.is_ready());
  EXPECT_EQ(f.get(), test_string());
}

// take() returns the future of the submitted task. Upstream compares it with the future of
// submit(); here it is the only future, and its result identifies the task.
TEST(ExecutorCompletionServiceTest, testTake2) {
  thread_pool pool{thread_pool::cached()};
  completion_queue<const std::string*> done{pool};
  const std::string own = test_string();
  done.submit([&] { return &own; });
  EXPECT_EQ(done.take().get(), &own);
  EXPECT_TRUE(done.empty());
}

// poll(), here try_take(), returns a completed future.
TEST(ExecutorCompletionServiceTest, testPoll1) {
  thread_pool pool{thread_pool::cached()};
  completion_queue<std::string> done{pool};
  EXPECT_FALSE(done.try_take().has_value());
  done.submit(test_string);
  std::optional<future<std::string>> f;
  while (!(f = done.try_take())) takt::sync::yield();
  EXPECT_TRUE(f->is_ready());
  EXPECT_EQ(f->get(), test_string());
}

// The same with a time-out.
TEST(ExecutorCompletionServiceTest, testPoll2) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .time = &time}};
  completion_queue<std::string> done{pool};
  EXPECT_FALSE(done.take_for(0s).has_value());
  done.submit(test_string);
  std::optional<future<std::string>> f = done.take_for(10s);
  ASSERT_TRUE(f.has_value());
  EXPECT_TRUE(f->is_ready());
  EXPECT_EQ(f->get(), test_string());
}

TEST(ExecutorCompletionServiceTest, testPollReturnsNullBeforeCompletion) {
  takt::manual_clock time;
  thread_pool pool{{.core_threads = 1, .time = &time}};
  completion_queue<std::string> done{pool};
  takt::parker proceed;
  done.submit([&] {
    proceed.park();
    return test_string();
  });
  EXPECT_FALSE(done.try_take().has_value());
  EXPECT_FALSE(done.take_for(0s).has_value());
  EXPECT_FALSE(done.take_until(takt::clock::time_point::min()).has_value());
  std::optional<future<std::string>> early;
  takt::sync::thread taker([&] { early = done.take_for(1s); });
  time.wait_for_waiters(1);
  time.advance(1s);
  taker.join();
  EXPECT_FALSE(early.has_value());
  proceed.unpark();
  EXPECT_EQ(done.take().get(), test_string());
}

// take() returns successful and failed tasks.
TEST(ExecutorCompletionServiceTest, testTaskAssortment) {
  thread_pool pool{thread_pool::cached()};
  completion_queue<std::string> done{pool};
  constexpr int rounds = 2;
  for (int i = 0; i < rounds; ++i) {
    done.submit(test_string);
    done.submit([]() -> std::string { throw std::domain_error("callable"); });
    done.submit([](const takt::sync::stop_token&) -> std::string {
      throw std::domain_error("with a token");
    });
  }
  int normal = 0;
  int exceptional = 0;
  for (int i = 0; i < 3 * rounds; ++i) {
    try {
      EXPECT_EQ(done.take().get(), test_string());
      ++normal;
    } catch (const std::domain_error&) {
      ++exceptional;
    }
  }
  EXPECT_EQ(normal, 1 * rounds);
  EXPECT_EQ(exceptional, 2 * rounds);
  EXPECT_FALSE(done.try_take().has_value());
}

}  // namespace

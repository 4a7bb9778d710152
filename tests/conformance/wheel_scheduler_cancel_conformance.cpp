// wheel_scheduler: cancelling, also while other threads use the scheduler in every way.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../support/pools.hpp"
#include "../support/wheels.hpp"

namespace {

using namespace std::chrono_literals;
using takt::cancel_result;
using takt::manual_executor;
using takt::timer_stamp;
using takt_test::expect_balance;
using takt_test::log;
using takt_test::wheel_bench;
using testing::IsEmpty;

TEST(wheel_cancel, prevents_a_task_exactly_once) {
  wheel_bench b;
  const auto handle = b.wheel.execute(10ms, b.here, b.say("ran"));
  const auto copy = handle;  // NOLINT(performance-unnecessary-copy-initialization): names the same
  EXPECT_EQ(handle.cancel(), cancel_result::prevented);
  EXPECT_EQ(handle.cancel(), cancel_result::done);
  EXPECT_EQ(copy.cancel(), cancel_result::done);
  b.pass(10ms);
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_EQ(b.wheel.totals().cancelled, 1u);
  expect_balance(b.wheel);
}

TEST(wheel_cancel, is_done_after_the_task_was_handed_over) {
  wheel_bench b;
  manual_executor later;
  const auto inside = b.wheel.execute(10ms, b.here, [] {});
  const auto with_executor = b.wheel.execute(10ms, later, [] {});
  auto with_future = b.wheel.schedule(10ms, b.here, [] { return 1; });
  b.pass(10ms);
  EXPECT_EQ(inside.cancel(), cancel_result::done);
  EXPECT_EQ(with_executor.cancel(), cancel_result::done);
  EXPECT_EQ(with_future.cancel(), cancel_result::done);
  EXPECT_EQ(with_future.get(), 1);
  EXPECT_EQ(later.queued(), 1u);
  EXPECT_EQ(b.wheel.totals().finished, 3u);
}

TEST(wheel_cancel, of_a_future_works_also_when_the_executor_has_the_task) {
  wheel_bench b;
  manual_executor later;
  auto f = b.wheel.schedule(10ms, later, b.say("ran"));
  b.pass(10ms);
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  later.poll();
  EXPECT_THAT(b.said, IsEmpty());
  EXPECT_EQ(b.wheel.totals().finished, 1u);  // for the wheel the task had finished
}

TEST(wheel_cancel, from_inside_of_the_task_is_done) {
  wheel_bench b;
  takt::timer_handle handle;
  auto result = cancel_result::prevented;
  handle = b.wheel.execute(10ms, b.here, [&] { result = handle.cancel(); });
  b.pass(10ms);
  EXPECT_EQ(result, cancel_result::done);
}

TEST(wheel_cancel, destroys_the_closure_at_once_and_where_it_is_called) {
  wheel_bench b;
  std::thread::id destroyed_on;
  auto owner = std::shared_ptr<int>(new int(0), [&](const int* p) {
    destroyed_on = std::this_thread::get_id();
    delete p;
  });
  const std::weak_ptr<int> watched = owner;
  const auto handle = b.wheel.execute(1h, b.here, [held = std::move(owner)] {});
  b.settle();
  EXPECT_EQ(handle.cancel(), cancel_result::prevented);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(destroyed_on, std::this_thread::get_id());
  auto shared = std::make_shared<int>();
  auto f = b.wheel.schedule(1h, b.here, [shared] {});
  auto series = b.wheel.schedule_at_fixed_rate(1h, 1h, b.here, [shared] {});
  EXPECT_EQ(shared.use_count(), 3);
  EXPECT_EQ(f.cancel(), cancel_result::prevented);
  EXPECT_EQ(series.cancel(), cancel_result::prevented);
  EXPECT_EQ(shared.use_count(), 1);
}

// A callable that counts its runs and its calls of cancelled().
struct counted {
  std::atomic<std::size_t>* ran;
  std::atomic<std::size_t>* told;
  void operator()() const { ++*ran; }
  void cancelled() const noexcept { ++*told; }
};

TEST(wheel_cancel, is_told_to_a_task_that_wants_to_know) {
  wheel_bench b;
  std::atomic<std::size_t> ran{0};
  std::atomic<std::size_t> told{0};
  const auto first = b.wheel.execute(10ms, b.here, counted{&ran, &told});
  const auto second = b.wheel.execute(10ms, b.here, counted{&ran, &told});
  first.cancel();
  EXPECT_EQ(told, 1u);
  first.cancel();
  b.pass(10ms);
  second.cancel();
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(ran, 1u);
  b.wheel.execute(10ms, b.here, counted{&ran, &told});
  b.wheel.close(takt::at_close::cancel);
  EXPECT_EQ(told, 2u);
}

TEST(wheel_cancel, within_cancelled_the_wheel_may_be_used) {
  struct reacting {
    wheel_bench* b;
    void operator()() const {}
    void cancelled() const noexcept { b->wheel.execute(10ms, b->here, b->say("instead")); }
  };
  wheel_bench b;
  b.wheel.execute(5ms, b.here, reacting{&b}).cancel();
  b.pass(10ms);
  EXPECT_EQ(b.said, (log{"instead"}));
}

// --- several threads

TEST(wheel_cancel, by_several_threads_prevents_it_once) {
  constexpr std::size_t count = 500;
  wheel_bench b;
  std::atomic<std::size_t> ran{0};
  std::atomic<std::size_t> told{0};
  std::atomic<std::size_t> prevented{0};
  std::vector<takt::timer_handle> handles;
  for (std::size_t i = 0; i < count; ++i) {
    handles.push_back(b.wheel.execute(1h, b.here, counted{&ran, &told}));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (const auto& each : handles) {
        if (each.cancel() == cancel_result::prevented) ++prevented;
      }
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_EQ(prevented, count);
  EXPECT_EQ(told, count);
  EXPECT_EQ(b.wheel.totals().cancelled, count);
  expect_balance(b.wheel);
}

TEST(wheel_cancel, while_tasks_come_due_either_prevents_or_is_too_late) {
  constexpr std::size_t count = 1000;
  wheel_bench b({.tick = 1ms});
  std::atomic<std::size_t> ran{0};
  std::atomic<std::size_t> told{0};
  std::vector<takt::timer_handle> handles;
  for (std::size_t i = 0; i < count; ++i) {
    handles.push_back(b.wheel.execute(1ms + i * 1us, b.here, counted{&ran, &told}));
  }
  std::atomic<std::size_t> prevented{0};
  std::thread other([&] {
    for (const auto& each : handles) prevented += each.cancel() == cancel_result::prevented ? 1 : 0;
  });
  b.time.advance(1s);
  other.join();
  b.settle();
  EXPECT_EQ(ran + prevented, count);
  EXPECT_EQ(told, prevented);
  EXPECT_EQ(b.wheel.totals().cancelled, prevented);
  EXPECT_EQ(b.wheel.totals().finished, ran);
  expect_balance(b.wheel);
}

class wheel_storm : public testing::TestWithParam<std::pair<timer_stamp, bool>> {};

TEST_P(wheel_storm, of_tasks_from_several_threads_loses_none) {
  constexpr std::size_t per_thread = 3000;
  constexpr std::size_t threads = 3;
  wheel_bench b(
      {.tick = 1ms, .ticks_per_wheel = 16, .stamp = GetParam().first, .exact = GetParam().second});
  std::atomic<std::size_t> ran{0};
  std::atomic<std::size_t> told{0};
  std::atomic<std::size_t> prevented{0};
  std::atomic<std::size_t> busy{threads};
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<takt::timer_handle> handles;
      for (std::size_t i = 0; i < per_thread; ++i) {
        const std::chrono::microseconds delay(random() % 40'000);
        handles.push_back(b.wheel.execute(delay, b.here, counted{&ran, &told}));
        const auto& one = handles[random() % handles.size()];
        switch (random() % 8) {
          case 0:
          case 1:
          case 2:
            prevented += one.cancel() == cancel_result::prevented ? 1 : 0;
            break;
          case 3:
            one.reschedule(std::chrono::microseconds(random() % 20'000));
            break;
          case 4:
            one.pause();
            break;
          case 5:
            one.resume();
            break;
          default:
            break;
        }
      }
      for (const auto& each : handles) each.resume();
      --busy;
    });
  }
  while (busy != 0) {
    b.time.advance(100us);
    std::this_thread::yield();
  }
  for (auto& each : running) each.join();
  for (int i = 0; i < 10; ++i) b.pass(10ms);
  EXPECT_EQ(ran + prevented, threads * per_thread);
  EXPECT_EQ(told, prevented);
  EXPECT_EQ(b.wheel.totals().submitted, threads * per_thread);
  EXPECT_EQ(b.wheel.totals().finished, ran);
  EXPECT_EQ(b.wheel.totals().cancelled, prevented);
  expect_balance(b.wheel);
}

INSTANTIATE_TEST_SUITE_P(wheel, wheel_storm,
                         testing::Values(std::pair(timer_stamp::caller, false),
                                         std::pair(timer_stamp::timer, false),
                                         std::pair(timer_stamp::caller, true),
                                         std::pair(timer_stamp::timer, true)));

// All threads race for the same few handles.
TEST(wheel_cancel, of_handles_that_others_move_and_pause_is_exact) {
  constexpr std::size_t rounds = 200;
  wheel_bench b({.tick = 1ms});
  std::atomic<std::size_t> ran{0};
  std::atomic<std::size_t> told{0};
  std::atomic<std::size_t> prevented{0};
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto handle = b.wheel.execute(1ms, b.here, counted{&ran, &told});
    std::thread mover([handle] {
      for (int n = 0; n < 10; ++n) {
        handle.pause();
        handle.reschedule(1ms);
        handle.pause();
        handle.resume();
      }
    });
    std::thread canceller([handle, &prevented] {
      if (handle.cancel() == cancel_result::prevented) ++prevented;
    });
    b.time.advance(1ms);
    mover.join();
    canceller.join();
  }
  b.pass(10ms);
  EXPECT_EQ(ran + prevented, rounds);
  EXPECT_EQ(told, prevented);
  expect_balance(b.wheel);
}

}  // namespace

// What happens to actions when their loop, their scheduler or another action ends.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/rx/action_scheduler.hpp>
#include <takt/rx/animation_frame_scheduler.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/queue_scheduler.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/task/errors.hpp>

namespace {

using namespace std::chrono_literals;
using namespace takt;

struct action_ends : testing::Test {
  auto says(std::string word) {
    return [this, word = std::move(word)] { log += word; };
  }

  manual_clock time;
  event_loop loop{{.frame = 10ms, .time = &time}};
  std::string log;
};

// --- the loop ends

TEST_F(action_ends, what_the_loop_drops_is_closed_with_the_scheduler) {
  std::optional<rx::async_scheduler> async(loop);
  const auto held = std::make_shared<int>(0);
  async->schedule(10ms, [held] {}).add(says("tidied"));
  const rx::action<void> kept = async->schedule(10ms, [held] {});
  loop.shutdown_and_cancel();
  EXPECT_FALSE(kept.is_unsubscribed());
  EXPECT_EQ(log, "");
  async.reset();
  EXPECT_TRUE(kept.is_unsubscribed());
  EXPECT_EQ(log, "tidied");
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(action_ends, what_another_thread_closes_after_the_end_of_the_loop) {
  std::optional<rx::async_scheduler> async(loop);
  const auto held = std::make_shared<int>(0);
  loop.poll();  // makes this the loop's thread
  rx::action<void> a = async->schedule(10ms, [held, this] { log += 'x'; });
  loop.shutdown();
  std::thread other([mine = std::move(a)] { mine.unsubscribe(); });
  other.join();
  time.advance(10ms);
  loop.poll();
  EXPECT_EQ(log, "");
  EXPECT_EQ(held.use_count(), 1) << "its timer has come to it";
}

TEST_F(action_ends, what_another_thread_closes_in_the_last_batch) {
  std::optional<rx::asap_scheduler> asap(loop);
  const auto held = std::make_shared<int>(0);
  loop.poll();
  rx::action<void> a = asap->schedule([held, this] { log += 'a'; });
  asap->schedule(says("b"));
  loop.shutdown();
  std::thread other([mine = std::move(a)] { mine.unsubscribe(); });
  other.join();
  loop.poll();
  EXPECT_EQ(log, "b");
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(action_ends, what_another_thread_closes_while_it_runs_for_the_last_time) {
  std::optional<rx::async_scheduler> async(loop);
  const auto held = std::make_shared<int>(0);
  async->schedule(1ms, [held, this](auto& self) {
    log += 'x';
    self.schedule(1ms);
    loop.shutdown();
    std::thread other([&self] { self.unsubscribe(); });
    other.join();
  });
  time.advance(1ms);
  loop.poll();
  EXPECT_EQ(log, "x");
  EXPECT_EQ(held.use_count(), 1);
}

// Calls a function before or after its next action runs, or when it next reads its clock.
class interrupted final : public rx::async_scheduler {
 public:
  using async_scheduler::async_scheduler;
  ~interrupted() override { close(); }
  clock::time_point now() const noexcept override {
    call(at_clock);
    return async_scheduler::now();
  }
  bool has_pending() { return static_cast<bool>(first_pending()); }

  std::function<void()> before;
  std::function<void()> after;
  mutable std::function<void()> at_clock;

 private:
  static void call(std::function<void()>& once) {
    if (const auto f = std::exchange(once, nullptr)) f();
  }
  void flush_from(rx::action_node& due) override {
    call(before);
    async_scheduler::flush_from(due);
    call(after);
  }
};

// The loop rejects the other thread's task, so the scheduler finds the closed action later.
TEST_F(action_ends, what_another_thread_closes_when_it_is_about_to_run_or_to_be_armed) {
  using event = std::function<void()>;
  for (event interrupted::* const when :
       {&interrupted::before, &interrupted::after, &interrupted::at_clock}) {
    event_loop ending{{.frame = never, .time = &time}};
    interrupted async{ending};
    const auto held = std::make_shared<int>(0);
    ending.poll();  // makes this the loop's thread
    const rx::action<void> a = async.schedule(1ms, [held](auto& self) { self.schedule(1ms); });
    async.*when = [&] {
      ending.shutdown();
      std::thread([&] { a.unsubscribe(); }).join();
    };
    time.advance(1ms);
    ending.poll();
    EXPECT_TRUE(a.is_unsubscribed());
    EXPECT_FALSE(async.has_pending());
    EXPECT_EQ(held.use_count(), 1);
  }
}

TEST_F(action_ends, what_another_thread_closes_while_it_is_scheduled_after_the_end_of_the_loop) {
  interrupted async{loop};
  const auto held = std::make_shared<int>(0);
  loop.poll();
  const rx::action<void> a = async.schedule(1ms, [held] {});
  time.advance(1ms);
  loop.poll();
  async.at_clock = [&] {
    loop.shutdown();
    std::thread([&] { a.unsubscribe(); }).join();
  };
  a.schedule(1ms);
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_FALSE(async.has_pending());
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(action_ends, a_batch_that_the_loop_drops_takes_no_more) {
  rx::asap_scheduler asap{loop};
  rx::animation_frame_scheduler frames{loop};
  asap.schedule(says("a"));
  frames.schedule(says("f"));
  loop.shutdown_and_cancel();
  EXPECT_TRUE(asap.schedule(says("b")).is_rejected());
  EXPECT_TRUE(frames.schedule(says("g")).is_rejected());
  loop.poll();
  EXPECT_EQ(log, "");
}

TEST_F(action_ends, a_frame_that_the_shutdown_drops_takes_no_more) {
  rx::animation_frame_scheduler frames{loop};
  frames.schedule(says("f"));
  loop.shutdown();
  EXPECT_TRUE(frames.schedule(says("g")).is_rejected());
}

// --- the scheduler is destroyed

TEST_F(action_ends, what_outlives_its_scheduler_lets_go_of_its_work) {
  std::optional<rx::async_scheduler> async(loop);
  const auto held = std::make_shared<int>(0);
  const rx::action<void> idle = async->schedule(0ms, [held] {});
  loop.poll();
  async.reset();
  EXPECT_FALSE(idle.is_unsubscribed());
  EXPECT_EQ(held.use_count(), 2);
  idle.unsubscribe();
  EXPECT_EQ(held.use_count(), 1);
}

// --- another action of the queue throws

TEST_F(action_ends, what_the_work_of_a_queue_throws_is_no_refusal_of_the_loop) {
  rx::queue_scheduler queue{loop};
  EXPECT_THROW(queue.schedule([] { throw rejected(rejection::saturated); }), rejected);
  rx::action<void> outer;
  EXPECT_THROW(queue.schedule([&](auto& self) {
    outer = self;
    queue.schedule([] { throw rejected(rejection::saturated); });
  }),
               rejected);
  EXPECT_FALSE(outer.is_unsubscribed());
  EXPECT_FALSE(outer.is_rejected());
}

TEST_F(action_ends, an_error_on_a_queue_leaves_a_timer_pending) {
  rx::queue_scheduler queue{loop};
  rx::action<int> a;
  EXPECT_THROW(queue.schedule(
                   0ms,
                   [&](auto& self, int n) {
                     log += std::to_string(n);
                     if (n != 0) return;
                     a = self;
                     self.schedule(5ms, 1);
                     queue.schedule([] { throw std::runtime_error("bad"); });
                   },
                   0),
               std::runtime_error);
  time.advance(3ms);
  a.schedule(5ms, 2);  // replaces the pending timer
  time.advance(2ms);
  loop.poll();
  EXPECT_EQ(log, "0");
  time.advance(3ms);
  loop.poll();
  EXPECT_EQ(log, "02");
}

// Runs each action twice.
class doubling_scheduler final : public rx::action_scheduler {
 public:
  ~doubling_scheduler() override { close(); }
  [[nodiscard]] clock::time_point now() const noexcept override { return {}; }
  void run() { drain(); }

 private:
  void request(rx::action_node& a, std::chrono::nanoseconds /*delay*/) override {
    enqueue(a);
    enqueue(a);
  }
  bool recycle(rx::action_node& a, rx::action_delay delay) noexcept override {
    if (delay) dequeue(a);
    return false;
  }
};

TEST_F(action_ends, dequeue_takes_all_places) {
  doubling_scheduler twice;
  const auto a = twice.schedule(says("a"));
  a.schedule(0ms);
  twice.schedule(says("b"));
  twice.run();
  EXPECT_EQ(log, "aabb");
}

}  // namespace

#include <takt/rx/action_scheduler.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/clock.hpp>
#include <takt/rx/action.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/task/errors.hpp>

#include "../../tests/support/actions_on_loop.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt;
using takt_test::actions;

TEST_F(actions, closed_ones_do_nothing) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(10ms, says("x"));
  a.unsubscribe();
  a.schedule(10ms);
  pass(20ms);
  EXPECT_EQ(log, "");
  const rx::action<void> none;
  none.schedule(10ms);
  EXPECT_TRUE(none.is_unsubscribed());
}

TEST_F(actions, what_is_added_is_unsubscribed_with_them) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(10ms, [] { throw std::runtime_error("bad"); });
  a.add(says("tidied"));
  time.advance(10ms);
  EXPECT_THROW(loop.poll(), std::runtime_error);
  EXPECT_EQ(log, "tidied");
}

TEST_F(actions, work_is_destroyed_when_the_action_is_closed_or_gone) {
  rx::async_scheduler async{loop};
  const auto held = std::make_shared<int>(0);
  auto a = async.schedule(10ms, [held] {});
  EXPECT_EQ(held.use_count(), 2);
  a.unsubscribe();
  EXPECT_EQ(held.use_count(), 1);
  a = async.schedule(10ms, [held] {});
  pass(10ms);
  EXPECT_EQ(held.use_count(), 2) << "it may be scheduled again";
  a = {};
  EXPECT_EQ(held.use_count(), 1);
  async.schedule(10ms, [held](auto& self) { self.unsubscribe(); });
  EXPECT_EQ(held.use_count(), 2) << "what is pending is kept";
  pass(10ms);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(actions, an_empty_work_is_refused) {
  rx::async_scheduler async{loop};
  EXPECT_THROW(async.schedule(std::function<void()>()), std::invalid_argument);
}

TEST_F(actions, the_end_of_a_scheduler_closes_what_is_pending) {
  auto async = std::make_unique<rx::async_scheduler>(loop);
  auto asap = std::make_unique<rx::asap_scheduler>(loop);
  const auto pending = async->schedule(10ms, says("x"));
  const auto queued = asap->schedule(says("y"));
  const auto idle = async->schedule(0ms, says("idle"));
  EXPECT_TRUE(loop.run_one());  // the batch
  log.clear();
  EXPECT_TRUE(loop.run_one());
  const auto again = asap->schedule(says("z"));
  async.reset();
  asap.reset();
  EXPECT_TRUE(pending.is_unsubscribed());
  EXPECT_TRUE(again.is_unsubscribed());
  EXPECT_FALSE(idle.is_unsubscribed());
  idle.schedule(0ms);
  pass(20ms);
  EXPECT_EQ(log, "idle");
}

TEST_F(actions, a_loop_that_is_shut_down_refuses) {
  rx::async_scheduler async{loop};
  rx::asap_scheduler asap{loop};
  const auto interval = async.schedule(10ms, [&](auto& self) {
    log += 'x';
    self.schedule(10ms);
  });
  loop.shutdown();
  EXPECT_TRUE(async.schedule(10ms, says("y")).is_rejected());
  const auto late = asap.schedule(says("z"));
  EXPECT_TRUE(late.is_rejected());
  EXPECT_TRUE(late.is_unsubscribed());
  pass(50ms);
  EXPECT_EQ(log, "x") << "what was delayed runs, and not again";
  EXPECT_TRUE(interval.is_rejected());
}

TEST_F(actions, schedule_is_for_the_thread_of_the_loop) {
  rx::async_scheduler async{loop};
  loop.execute([&] {
    std::thread other([&] {
      EXPECT_THROW(async.schedule([] {}), std::logic_error);
      loop.execute([&] { async.schedule(says("posted")); });
    });
    other.join();
  });
  pass(0ms);
  EXPECT_EQ(log, "posted");
}

TEST_F(actions, unsubscribe_is_for_any_thread) {
  rx::async_scheduler async{loop};
  const auto held = std::make_shared<int>(0);
  loop.poll();  // makes this the loop's thread
  const auto a = async.schedule(10ms, [held, this] { log += 'x'; });
  std::thread other([&] { a.unsubscribe(); });
  other.join();
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(held.use_count(), 2) << "it is destroyed by the thread of the loop";
  pass(20ms);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(log, "");
}

// --- schedulers of users

// Does not cancel its request when the action is recycled.
class careless_scheduler final : public rx::action_scheduler {
 public:
  ~careless_scheduler() override { close(); }
  [[nodiscard]] clock::time_point now() const noexcept override { return {}; }
  void run() {
    if (const std::exception_ptr error = execute(*asked_)) std::rethrow_exception(error);
  }

 private:
  void request(rx::action_node& a, std::chrono::nanoseconds /*delay*/) override {
    asked_ = rx::action_ref(a);
  }
  bool recycle(rx::action_node& /*a*/, rx::action_delay /*delay*/) noexcept override {
    return false;
  }
  rx::action_ref asked_;
};

TEST_F(actions, executing_a_closed_one_is_an_error) {
  careless_scheduler careless;
  const auto a = careless.schedule(says("a"));
  careless.run();
  a.schedule(0ms);
  a.unsubscribe();
  EXPECT_THROW(careless.run(), std::logic_error);
  EXPECT_EQ(log, "a");
}

// Throws from request() if the test says so.
class moody_scheduler final : public rx::action_scheduler {
 public:
  ~moody_scheduler() override { close(); }
  [[nodiscard]] clock::time_point now() const noexcept override { return {}; }
  void run() { drain(); }
  [[nodiscard]] std::size_t asked_for() { return pending().size(); }
  using rx::action_scheduler::pending;

  std::exception_ptr refusal;

 private:
  void request(rx::action_node& a, std::chrono::nanoseconds /*delay*/) override {
    if (refusal != nullptr) std::rethrow_exception(std::exchange(refusal, nullptr));
    enqueue(a);
  }
  bool recycle(rx::action_node& a, rx::action_delay /*delay*/) noexcept override {
    dequeue(a);
    return false;
  }
};

TEST_F(actions, what_could_not_be_asked_for_is_not_pending) {
  moody_scheduler moody;
  const auto held = std::make_shared<int>(0);
  moody.refusal = std::make_exception_ptr(std::runtime_error("full"));
  EXPECT_THROW(moody.schedule([held] {}), std::runtime_error);
  EXPECT_EQ(moody.asked_for(), 0U);
  EXPECT_EQ(held.use_count(), 1) << "it is gone";

  const auto a = moody.schedule(says("a"));
  moody.refusal = std::make_exception_ptr(std::runtime_error("full"));
  EXPECT_THROW(a.schedule(0ms), std::runtime_error);
  EXPECT_EQ(moody.asked_for(), 0U) << "what was pending was taken back";
  EXPECT_FALSE(a.is_unsubscribed());
  moody.run();
  EXPECT_EQ(log, "");
  a.schedule(0ms);
  EXPECT_EQ(moody.asked_for(), 1U);
  moody.run();
  EXPECT_EQ(log, "a");
}

TEST_F(actions, what_is_rejected_is_closed_and_not_pending) {
  moody_scheduler moody;
  const auto held = std::make_shared<int>(0);
  moody.refusal = std::make_exception_ptr(rejected(rejection::shut_down));
  const auto a = moody.schedule([held] {});
  EXPECT_TRUE(a.is_rejected());
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(moody.asked_for(), 0U);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(actions, one_that_cannot_ask_again_while_it_runs_is_idle_or_closed) {
  moody_scheduler moody;
  const auto asks_again = [&](bool catches) {
    return [&moody, catches](auto& self) {
      moody.refusal = std::make_exception_ptr(std::runtime_error("full"));
      try {
        self.schedule(0ms);
      } catch (const std::runtime_error&) {
        if (!catches) throw;
      }
    };
  };
  const auto idle = moody.schedule(asks_again(true));
  moody.run();
  EXPECT_FALSE(idle.is_unsubscribed());
  EXPECT_EQ(moody.asked_for(), 0U);
  const auto closed = moody.schedule(asks_again(false));
  EXPECT_THROW(moody.run(), std::runtime_error);
  EXPECT_TRUE(closed.is_unsubscribed());
  EXPECT_EQ(moody.asked_for(), 0U);
}

TEST_F(actions, pending_ones_are_in_the_order_of_schedule) {
  moody_scheduler moody;
  const auto a = moody.schedule(5ms, says("a"));
  const auto b = moody.schedule(6ms, says("b"));
  a.schedule(7ms);  // moves it behind the other action
  const auto delays = [&] {
    std::vector<std::chrono::nanoseconds> all;
    for (const rx::action_ref& each : moody.pending()) all.push_back(each->delay());
    return all;
  };
  EXPECT_EQ(delays(), (std::vector<std::chrono::nanoseconds>{6ms, 7ms}));
  b.unsubscribe();
  EXPECT_EQ(delays(), std::vector<std::chrono::nanoseconds>{7ms});
}

TEST_F(actions, a_drain_ends_with_the_batch_and_an_error_closes_the_rest_of_it) {
  class batches final : public rx::action_scheduler {
   public:
    ~batches() override { close(); }
    [[nodiscard]] clock::time_point now() const noexcept override { return {}; }
    using rx::action_scheduler::drain;
    using rx::action_scheduler::has_queued;

   private:
    void request(rx::action_node& a, std::chrono::nanoseconds delay) override {
      enqueue(a, static_cast<std::uint64_t>(delay.count()));
    }
    bool recycle(rx::action_node& a, rx::action_delay /*delay*/) noexcept override {
      dequeue(a);
      return false;
    }
  } mine;
  mine.schedule(1ns, says("a"));
  mine.schedule(1ns, [] { throw std::runtime_error("bad"); });
  const auto rest = mine.schedule(1ns, says("rest"));
  const auto next = mine.schedule(2ns, says("next"));
  EXPECT_FALSE(mine.has_queued(1)) << "the last one counts";
  EXPECT_TRUE(mine.has_queued(2));
  mine.drain(2);
  EXPECT_EQ(log, "") << "it is not at the front";
  EXPECT_THROW(mine.drain(1), std::runtime_error);
  EXPECT_EQ(log, "a");
  EXPECT_TRUE(rest.is_unsubscribed());
  EXPECT_FALSE(next.is_unsubscribed());
  mine.drain(2);
  EXPECT_EQ(log, "anext");
  EXPECT_FALSE(mine.has_queued(2));
}

TEST_F(actions, the_state_stays_until_the_next_schedule) {
  rx::async_scheduler async{loop};
  const auto first = std::make_shared<int>(1);
  const auto second = std::make_shared<int>(2);
  std::shared_ptr<int>* seen = nullptr;
  const auto a = async.schedule(0ms, [&](std::shared_ptr<int>& state) { seen = &state; }, first);
  pass(0ms);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(*seen, first) << "an lvalue, and it is still there";
  a.schedule(1ms, second);
  EXPECT_EQ(first.use_count(), 1);
  pass(1ms);
  EXPECT_EQ(*seen, second);
  a.unsubscribe();
  EXPECT_EQ(second.use_count(), 1);
}

TEST_F(actions, a_negative_delay_is_none) {
  rx::async_scheduler async{loop};
  rx::asap_scheduler asap{loop};
  time.advance(1s);
  async.schedule(0ms, says("first "));
  async.schedule(-5ms, says("second "));
  asap.schedule(-5ms, says("asap "));
  loop.poll();
  EXPECT_EQ(log, "asap first second ");
}

}  // namespace

#include <takt/rx/action_scheduler.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/rx/animation_frame_scheduler.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/loop_requests.hpp>
#include <takt/rx/queue_scheduler.hpp>
#include <takt/rx/virtual_time_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace {

using namespace std::chrono_literals;
using namespace takt;

struct actions : testing::Test {
  // Runs what is due, moment by moment.
  void pass(std::chrono::milliseconds t) {
    const clock::time_point end = time.now() + t;
    for (;;) {
      loop.poll();
      const clock::time_point next = loop.next_deadline();
      if (next > end) break;
      if (next > time.now()) time.advance_to(next);
    }
    time.advance_to(end);
  }
  auto says(std::string word) {
    return [this, word = std::move(word)] { log += word; };
  }

  manual_clock time;
  event_loop loop{{.frame = 10ms, .time = &time}};
  std::string log;
};

// --- async

TEST_F(actions, async_counts_every_second) {
  rx::async_scheduler async{loop};
  std::vector<int> seen;
  const rx::action<int> a = async.schedule(
      1s,
      [&](auto& self, int n) {
        seen.push_back(n);
        self.schedule(1s, n + 1);
      },
      1);
  pass(3500ms);
  EXPECT_EQ(seen, (std::vector{1, 2, 3}));
  EXPECT_FALSE(a.is_unsubscribed());
  a.unsubscribe();
  pass(3s);
  EXPECT_EQ(seen.size(), 3U);
}

TEST_F(actions, async_runs_once_with_the_newest_state) {
  rx::async_scheduler async{loop};
  std::vector<std::string> seen;
  const auto a =
      async.schedule(10ms, [&](const std::string& s) { seen.push_back(s); }, std::string("first"));
  a.schedule(20ms, "second");
  pass(15ms);
  EXPECT_TRUE(seen.empty());
  pass(100ms);
  EXPECT_EQ(seen, std::vector<std::string>{"second"});
  a.schedule(5ms, "third");
  pass(5ms);
  EXPECT_EQ(seen, (std::vector<std::string>{"second", "third"}));
}

TEST_F(actions, async_errors_leave_the_loop_and_close_the_action) {
  rx::async_scheduler async{loop};
  const auto bad = async.schedule(1ms, [] { throw std::runtime_error("bad"); });
  const auto good = async.schedule(1ms, says("good"));
  time.advance(1ms);
  EXPECT_THROW(loop.run_one(), std::runtime_error);
  EXPECT_TRUE(bad.is_unsubscribed());
  EXPECT_FALSE(good.is_unsubscribed());
  loop.poll();
  EXPECT_EQ(log, "good");
}

// --- queue

TEST_F(actions, queue_orders_as_documented) {
  rx::queue_scheduler queue{loop};
  const auto a = [&] {
    log += 'a';
    queue.schedule([&] {
      log += 'c';
      queue.schedule(says("e"));
    });
    queue.schedule(says("d"));
  };
  a();
  log.clear();
  queue.schedule([&] {
    queue.schedule(a);
    queue.schedule(says("b"));
  });
  EXPECT_EQ(log, "abcde");
  log.clear();
  queue.schedule(a);
  queue.schedule(says("b"));
  EXPECT_EQ(log, "acdeb");
}

// --- asap

TEST_F(actions, asap_is_a_microtask_and_later_ones_are_for_the_next_batch) {
  rx::asap_scheduler asap{loop};
  asap.schedule(
      0ms,
      [&](auto& self, int n) {
        log += std::to_string(n);
        if (n < 3) self.schedule(0ms, n + 1);
      },
      1);
  EXPECT_EQ(log, "");
  loop.poll();
  EXPECT_EQ(log, "123");
}

TEST_F(actions, asap_errors_close_the_rest_of_the_batch_only) {
  rx::asap_scheduler asap{loop};
  rx::action<void> next;
  asap.schedule([&] { next = asap.schedule(says("next")); });
  const auto bad = asap.schedule([] { throw std::runtime_error("bad"); });
  const auto rest = asap.schedule(says("rest"));
  EXPECT_THROW(loop.poll(), std::runtime_error);
  EXPECT_TRUE(bad.is_unsubscribed());
  EXPECT_TRUE(rest.is_unsubscribed());
  EXPECT_FALSE(next.is_unsubscribed());
  loop.poll();
  EXPECT_EQ(log, "next");
}

TEST_F(actions, asap_a_delayed_one_does_not_take_over_a_batch) {
  rx::asap_scheduler asap{loop};
  asap.schedule(5ms, says("delayed "));
  time.advance(5ms);
  loop.execute([&] { asap.schedule(says("batch ")); });
  loop.poll();
  EXPECT_EQ(log, "delayed batch ");
}

TEST_F(actions, asap_an_action_that_is_scheduled_again_has_one_place) {
  rx::asap_scheduler asap{loop};
  const auto a = asap.schedule(0ms, [&](int n) { log += std::to_string(n); }, 1);
  a.schedule(0ms, 2);
  loop.poll();
  EXPECT_EQ(log, "2");
  a.schedule(0ms, 3);
  a.schedule(5ms, 4);  // from a batch to a timer
  loop.poll();
  EXPECT_EQ(log, "2");
  pass(5ms);
  EXPECT_EQ(log, "24");
}

TEST_F(actions, frames_run_with_the_grid_or_when_the_render_loop_says_so) {
  rx::animation_frame_scheduler frames{loop};
  const auto a = frames.schedule([&](auto& self) {
    log += std::to_string(time.now().time_since_epoch() / 1ms) + " ";
    self.schedule(0ms);
  });
  pass(25ms);
  EXPECT_EQ(log, "10 20 ");
  EXPECT_TRUE(loop.wants_frame());
  loop.run_frame();
  EXPECT_EQ(log, "10 20 25 ");
  a.unsubscribe();
}

// --- more of async

TEST_F(actions, async_an_interval_does_not_drift_and_leaves_out_what_has_passed) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(10ms, [&](auto& self) {
    log += std::to_string(time.now().time_since_epoch() / 1ms) + " ";
    self.schedule(10ms);
  });
  pass(10ms);
  time.advance(3ms);  // 13
  pass(7ms);
  time.advance(25ms);  // 45: 30 and 40 have passed
  pass(10ms);
  EXPECT_EQ(log, "10 20 45 50 ");
}

TEST_F(actions, async_an_interval_is_armed_again_after_its_work) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(
      10ms,
      [&](auto& self, int n) {
        log += 'a';
        if (n > 1) return;
        self.schedule(10ms, n + 1);
        async.schedule(10ms, says("b"));
      },
      1);
  pass(20ms);
  EXPECT_EQ(log, "aba");
}

TEST_F(actions, async_a_finished_action_may_be_scheduled_later) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(10ms, says("x"));
  pass(100ms);
  EXPECT_EQ(loop.next_deadline(), clock::time_point::max()) << "no timer is left";
  a.schedule(10ms);
  pass(10ms);
  EXPECT_EQ(log, "xx");
}

TEST_F(actions, async_never_is_never) {
  rx::async_scheduler async{loop};
  const auto a = async.schedule(never, says("x"));
  pass(10h);
  EXPECT_EQ(log, "");
  a.schedule(0ms);
  pass(0ms);
  EXPECT_EQ(log, "x");
}

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
  loop.poll();  // it is this thread's now
  const auto a = async.schedule(10ms, [held, this] { log += 'x'; });
  std::thread other([&] { a.unsubscribe(); });
  other.join();
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(held.use_count(), 2) << "it is destroyed by the thread of the loop";
  pass(20ms);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(log, "");
}

TEST_F(actions, a_batch_leaves_out_what_another_thread_has_closed) {
  rx::asap_scheduler asap{loop};
  loop.poll();
  asap.schedule([&] {
    log += 'a';
    std::thread other([b = asap.schedule(0ms, says("later"))] { b.unsubscribe(); });
    other.join();
  });
  const auto b = asap.schedule(says("b"));
  std::thread other([&] { b.unsubscribe(); });
  other.join();
  loop.poll();
  EXPECT_EQ(log, "a");
}

// --- more of queue

TEST_F(actions, queue_scheduled_twice_runs_twice_with_the_later_state) {
  rx::queue_scheduler queue{loop};
  queue.schedule(
      0ms,
      [&](auto& self, int n) {
        log += std::to_string(n);
        if (n != 0) return;
        self.schedule(0ms, 1);
        self.schedule(0ms, 2);
      },
      0);
  EXPECT_EQ(log, "022");
}

TEST_F(actions, queue_unsubscribe_takes_all_places) {
  rx::queue_scheduler queue{loop};
  queue.schedule([&] {
    const auto a = queue.schedule(says("a"));
    a.schedule(0ms);
    a.schedule(0ms);
    queue.schedule(says("b"));
    a.unsubscribe();
  });
  EXPECT_EQ(log, "b");
}

TEST_F(actions, queue_without_a_delay_takes_back_a_timer) {
  rx::queue_scheduler queue{loop};
  const auto a = queue.schedule(10ms, says("a"));
  a.schedule(0ms);
  EXPECT_EQ(log, "a");
  pass(50ms);
  EXPECT_EQ(log, "a");
}

TEST_F(actions, queue_drains_a_million_without_a_stack) {
  rx::queue_scheduler queue{loop};
  int runs = 0;
  queue.schedule([&](auto& self) {
    if (++runs < 1'000'000) self.schedule(0ms);
  });
  EXPECT_EQ(runs, 1'000'000);
}

TEST_F(actions, queue_is_usable_from_what_is_closed_by_an_error) {
  rx::queue_scheduler queue{loop};
  EXPECT_THROW(queue.schedule([&] {
    queue.schedule(says("never")).add([&] { queue.schedule(says("tidied")); });
    throw std::runtime_error("bad");
  }),
               std::runtime_error);
  EXPECT_EQ(log, "tidied");
}

// --- a scheduler of one's own

// Forgets to take back what was asked for.
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

// --- loop_requests

TEST_F(actions, requests_are_gone_with_their_owner) {
  {
    rx::loop_requests immediate{loop.microtasks()};
    immediate.set(says("x"));
  }
  loop.poll();
  EXPECT_EQ(log, "");
}

TEST_F(actions, requests_errors_leave_the_loop) {
  rx::loop_requests immediate{loop.microtasks()};
  immediate.set([] { throw std::runtime_error("bad"); });
  EXPECT_THROW(loop.poll(), std::runtime_error);
  EXPECT_EQ(immediate.pending(), 0U);
  loop.shutdown();
  EXPECT_THROW(immediate.set([] {}), rejected);
  EXPECT_EQ(immediate.pending(), 0U);
}

// --- virtual time

TEST(virtual_time_scheduler, an_error_closes_the_rest_and_leaves_the_time_at_it) {
  rx::virtual_time_scheduler v;
  std::string log;
  const auto later = v.schedule(20ms, [] {});
  const auto sooner = v.schedule(15ms, [] {});
  later.add([&] { log += "later "; });
  sooner.add([&] { log += "sooner "; });
  v.schedule(10ms, [] { throw std::runtime_error("bad"); });
  EXPECT_THROW(v.flush(), std::runtime_error);
  EXPECT_EQ(log, "sooner later ") << "in the order of time";
  EXPECT_EQ(v.elapsed(), 10ms);
  EXPECT_EQ(v.time().now(), v.now());
  v.schedule(1ms, [&] { log += "usable"; });
  EXPECT_EQ(v.flush(), 1U);
  EXPECT_EQ(v.elapsed(), 11ms);
}

TEST(virtual_time_scheduler, a_nested_flush_runs_what_is_left) {
  rx::virtual_time_scheduler v;
  std::string log;
  v.schedule(1ms, [&] {
    log += "(";
    EXPECT_EQ(v.flush(), 2U);
    log += ")";
  });
  v.schedule(2ms, [&] { log += 'a'; });
  v.schedule(3ms, [&] { log += 'b'; });
  EXPECT_EQ(v.flush(), 1U);
  EXPECT_EQ(log, "(ab)");
}

TEST(virtual_time_scheduler, never_is_never_and_time_does_not_go_back) {
  rx::virtual_time_scheduler v;
  std::string log;
  const auto a = v.schedule(never, [&] { log += "never"; });
  v.schedule(10ms, [&] {
    v.schedule(0ms, [&] { log += "now "; });
    v.schedule(-5ms, [&] {
      log += "past ";
      EXPECT_EQ(v.elapsed(), 10ms);
    });
  });
  v.flush();
  EXPECT_EQ(log, "past now ");
  EXPECT_FALSE(a.is_unsubscribed());
}

TEST(virtual_time_scheduler, unsubscribed_and_moved_ones_leave_no_turn) {
  rx::virtual_time_scheduler v;
  std::string log;
  const auto a = v.schedule(1ms, [&](const std::string& s) { log += s; }, std::string("a"));
  const auto b = v.schedule(1ms, [&] { log += 'b'; });
  a.schedule(1ms, "A");  // behind b
  EXPECT_EQ(v.flush(), 2U);
  EXPECT_EQ(log, "bA");
  const auto c = v.schedule(1ms, [&] { log += 'c'; });
  c.unsubscribe();
  EXPECT_EQ(v.flush(), 0U);
}

}  // namespace

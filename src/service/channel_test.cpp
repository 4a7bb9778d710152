#include <takt/service/channel.hpp>

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>

namespace {

using namespace std::chrono_literals;
using takt::channel;
using takt::push_result;
using takt::rejected;
using takt::rejection;
using takt::when_full;
using takt::sync::stop_source;
using takt::sync::thread;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto never = takt::clock::time_point::max();

template <class F>
rejection reason_of(F f) {
  try {
    f();
  } catch (const rejected& e) {
    return e.reason();
  }
  ADD_FAILURE() << "nothing was thrown";
  return rejection::dropped;
}

// accepted = taken + discarded + queued
template <class T>
void expect_balanced(const takt::channel<T>& c) {
  const takt::channel_statistics s = c.statistics();
  EXPECT_EQ(s.accepted, s.taken + s.discarded + s.queued);
}

TEST(channel, gives_values_in_their_order_and_then_the_end) {
  channel<int> c;
  auto in = c.make_consumer();
  {
    auto out = c.make_producer();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(out.push(i));
    EXPECT_FALSE(c.is_closed());
  }
  EXPECT_TRUE(c.is_closed());
  EXPECT_FALSE(c.is_at_end());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(in.pop(), i);
  EXPECT_EQ(in.pop(), std::nullopt);
  EXPECT_EQ(in.pop(), std::nullopt);
  EXPECT_TRUE(c.is_at_end());
  const auto s = c.statistics();
  EXPECT_EQ(s.accepted, 3u);
  EXPECT_EQ(s.taken, 3u);
  expect_balanced(c);
}

TEST(channel, ends_with_its_last_producer_and_takes_no_later_one) {
  channel<int> c;
  auto in = c.make_consumer();
  auto first = c.make_producer();
  auto second = c.make_producer();
  first.end();
  first.end();
  EXPECT_TRUE(second.push(1));
  second = {};
  EXPECT_EQ(reason_of([&] { static_cast<void>(c.make_producer()); }), rejection::shut_down);
  EXPECT_EQ(in.pop(), 1);
  EXPECT_EQ(in.pop(), std::nullopt);
}

TEST(channel, a_throw_is_an_end) {
  channel<int> c;
  auto in = c.make_consumer();
  try {
    auto out = c.make_producer();
    out.push(1);
    throw std::runtime_error("no more");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(in.pop(), 1);
  EXPECT_EQ(in.pop(), std::nullopt);
}

TEST(channel, a_moved_handle_ends_once) {
  channel<int> c;
  auto in = c.make_consumer();
  auto out = c.make_producer();
  auto moved = std::move(out);
  EXPECT_FALSE(c.is_closed());
  moved = c.make_producer();  // the new handle exists before the old one ends
  EXPECT_FALSE(c.is_closed());
  auto also_in = std::move(in);
  EXPECT_FALSE(c.is_closed());
  moved.end();
  EXPECT_TRUE(c.is_closed());
}

TEST(channel, all_consumers_get_the_end) {
  takt::manual_clock time;
  channel<int> c({.time = &time});
  auto out = c.make_producer();
  std::vector<thread> consumers;
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([in = c.make_consumer()]() mutable {
      while (in.pop()) {
      }
    });
  }
  time.wait_for_waiters(3);
  out.push(1);
  time.wait_for_waiters(3);
  out.end();
  for (thread& t : consumers) t.join();
  EXPECT_EQ(c.statistics().taken, 1u);
}

TEST(channel, a_producer_waits_for_room) {
  takt::manual_clock time;
  channel<int> c({.capacity = 1, .time = &time});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  out.push(1);
  thread other([&] { EXPECT_TRUE(out.push(2)); });
  time.wait_for_waiters(1);
  EXPECT_EQ(c.statistics().waiting, 1u);
  EXPECT_EQ(in.pop(), 1);
  EXPECT_EQ(in.pop(), 2);
  other.join();
  EXPECT_EQ(c.statistics().waiting, 0u);
}

// Promised room is not given to a producer that comes later.
TEST(channel, nobody_overtakes_who_waits_for_room) {
  takt::manual_clock time;
  channel<int> c({.capacity = 1, .time = &time});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  out.push(1);
  thread first([&] { out.push(2); });
  time.wait_for_waiters(1);
  thread second([&] { out.push(3); });
  time.wait_for_waiters(2);
  EXPECT_EQ(in.pop(), 1);
  int late = 4;
  EXPECT_EQ(out.try_push(late), push_result::full);
  EXPECT_EQ(in.pop(), 2);
  EXPECT_EQ(in.pop(), 3);
  first.join();
  second.join();
}

TEST(channel, waiting_ends_with_the_deadline_and_the_value_stays) {
  takt::manual_clock time;
  channel<std::string> c({.capacity = 1, .time = &time});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  std::string value = "first";
  EXPECT_EQ(out.try_push(value), push_result::accepted);
  value = "second";
  EXPECT_EQ(out.try_push(value), push_result::full);
  thread other([&] {
    EXPECT_EQ(out.push_until(time.now() + 1s, value), push_result::full);
    EXPECT_EQ(value, "second");
  });
  time.wait_for_waiters(1);
  time.advance(1s);
  other.join();
  EXPECT_EQ(in.pop(), "first");
  thread taker([&] { EXPECT_EQ(in.pop_for(1s), std::nullopt); });
  time.wait_for_waiters(1);
  time.advance(1s);
  taker.join();
  EXPECT_FALSE(c.is_at_end());
  EXPECT_EQ(c.statistics().refused, 2u);
}

TEST(channel, waiting_ends_with_the_stop_request) {
  takt::manual_clock time;
  channel<int> c({.capacity = 1, .time = &time});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  stop_source stop;
  thread taker([&] { EXPECT_EQ(in.pop(stop.get_token()), std::nullopt); });
  time.wait_for_waiters(1);
  stop.request_stop();
  taker.join();
  EXPECT_TRUE(out.push(1, stop.get_token()));  // there is room: does not wait
  EXPECT_EQ(in.pop(stop.get_token()), 1);      // does not wait either
  EXPECT_TRUE(out.push(2));
  EXPECT_FALSE(out.push(3, stop.get_token()));
  int value = 4;
  EXPECT_EQ(out.push_until(never, value, stop.get_token()), push_result::stopped);
  EXPECT_EQ(value, 4);
}

TEST(channel, who_waits_for_room_when_it_closes_is_let_in) {
  takt::manual_clock time;
  channel<int> c({.capacity = 1, .time = &time});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  out.push(1);
  thread reserved([&] { EXPECT_TRUE(out.push(2)); });
  time.wait_for_waiters(1);
  c.close();
  c.close();
  EXPECT_EQ(reason_of([&] { out.push(3); }), rejection::shut_down);
  EXPECT_EQ(in.pop(), 1);
  EXPECT_EQ(in.pop(), 2);
  EXPECT_EQ(in.pop(), std::nullopt);
  reserved.join();
}

// The fault of the log service in Java Concurrency in Practice: the end must not wait for a
// reservation of a producer that has stopped waiting.
TEST(channel, a_reservation_that_is_given_up_does_not_keep_it_from_ending) {
  takt::manual_clock time;
  channel<int> c({.capacity = 1, .time = &time});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  out.push(1);
  stop_source stop;
  thread reserved([&] { EXPECT_FALSE(out.push(2, stop.get_token())); });
  time.wait_for_waiters(1);
  c.close();
  stop.request_stop();
  reserved.join();
  EXPECT_EQ(in.pop(), 1);
  EXPECT_EQ(in.pop(), std::nullopt);
}

TEST(channel, abort_lets_everybody_go_and_gives_back_what_is_queued) {
  takt::manual_clock time;
  channel<int> c({.capacity = 2, .time = &time});
  channel<int> idle({.time = &time});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  out.push(1);
  out.push(2);
  thread producer([&] { EXPECT_EQ(reason_of([&] { out.push(3); }), rejection::shut_down); });
  thread consumer([in = idle.make_consumer()]() mutable { EXPECT_EQ(in.pop(), std::nullopt); });
  time.wait_for_waiters(2);
  EXPECT_THAT(c.abort(), ElementsAre(1, 2));
  EXPECT_THAT(idle.abort(), ElementsAre());
  producer.join();
  consumer.join();
  EXPECT_EQ(in.pop(), std::nullopt);
  EXPECT_THAT(c.abort(), ElementsAre());
  const auto s = c.statistics();
  EXPECT_EQ(s.accepted, 2u);
  EXPECT_EQ(s.discarded, 2u);
  EXPECT_EQ(s.refused, 1u);
  expect_balanced(c);
}

TEST(channel, nobody_waits_for_a_dead_consumer) {
  takt::manual_clock time;
  channel<std::shared_ptr<int>> c({.capacity = 1, .time = &time});
  auto first = c.make_consumer();
  auto last = c.make_consumer();
  auto out = c.make_producer();
  const auto value = std::make_shared<int>(1);
  out.push(value);
  first.end();
  thread producer([&] { EXPECT_EQ(reason_of([&] { out.push(value); }), rejection::shut_down); });
  time.wait_for_waiters(1);
  last.end();
  producer.join();
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_EQ(c.statistics().discarded, 1u);
}

TEST(channel, drops_or_fails_if_told_so) {
  channel<int> drops({.capacity = 1, .rejection = when_full::drop()});
  channel<int> fails({.capacity = 1, .rejection = when_full::fail()});
  auto to_drops = drops.make_producer();
  auto to_fails = fails.make_producer();
  EXPECT_TRUE(to_drops.push(1));
  EXPECT_FALSE(to_drops.push(2));
  EXPECT_EQ(drops.statistics().dropped, 1u);
  EXPECT_EQ(drops.statistics().refused, 0u);
  EXPECT_TRUE(to_fails.push(1));
  EXPECT_EQ(reason_of([&] { to_fails.push(2); }), rejection::saturated);
  EXPECT_EQ(fails.statistics().dropped, 0u);
  EXPECT_EQ(fails.statistics().refused, 1u);
}

TEST(channel, waits_as_long_as_it_is_told) {
  takt::manual_clock time;
  channel<int> c({.capacity = 1, .rejection = when_full::wait(2s), .time = &time});
  auto out = c.make_producer();
  out.push(1);
  thread other([&] { EXPECT_EQ(reason_of([&] { out.push(2); }), rejection::timed_out); });
  time.wait_for_waiters(1);
  time.advance(2s);
  other.join();
}

TEST(channel, takes_what_can_only_be_moved) {
  channel<std::unique_ptr<int>> c({.capacity = 1});
  auto in = c.make_consumer();
  auto out = c.make_producer();
  auto value = std::make_unique<int>(1);
  EXPECT_EQ(out.try_push(value), push_result::accepted);
  EXPECT_EQ(value, nullptr);
  value = std::make_unique<int>(2);
  EXPECT_EQ(out.try_push(value), push_result::full);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(**in.try_pop(), 1);
  EXPECT_EQ(in.try_pop(), std::nullopt);
}

// The destructor of a value may use the channel.
TEST(channel, values_are_destroyed_without_the_lock) {
  struct nosy {
    channel<nosy>* in;
    explicit nosy(channel<nosy>& c) : in(&c) {}
    nosy(nosy&& other) noexcept : in(std::exchange(other.in, nullptr)) {}
    nosy& operator=(nosy&& other) noexcept {
      in = std::exchange(other.in, nullptr);
      return *this;
    }
    ~nosy() {
      if (in != nullptr && !in->is_closed()) ADD_FAILURE() << "not yet";
    }
  };
  channel<nosy> c;
  auto in = c.make_consumer();
  auto out = c.make_producer();
  out.push(nosy(c));
  in.end();
  EXPECT_EQ(c.statistics().discarded, 1u);
}

TEST(channel, says_what_is_wrong_with_its_options) {
  try {
    const channel<int> c({.capacity = 0});
    ADD_FAILURE();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("capacity is 0"));
    EXPECT_THAT(e.what(), HasSubstr("at least 1"));
  }
  EXPECT_THROW(channel<int>({.time = nullptr}), std::invalid_argument);
}

// Many threads on both sides: each value is popped once, and values of one producer in their order.
TEST(channel, loses_and_doubles_nothing) {
  constexpr int producers = 4;
  constexpr int consumers = 3;
  constexpr int each = 500;
  channel<std::pair<int, int>> c({.capacity = 3});
  std::vector<thread> threads;
  std::vector<std::vector<std::pair<int, int>>> got(consumers);
  for (int i = 0; i < consumers; ++i) {
    threads.emplace_back(
        [&mine = got[static_cast<std::size_t>(i)], in = c.make_consumer()]() mutable {
          while (auto v = in.pop()) mine.push_back(*v);
        });
  }
  std::vector<channel<std::pair<int, int>>::producer> handles;
  handles.reserve(producers);
  for (int p = 0; p < producers; ++p) handles.push_back(c.make_producer());
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([p, out = std::move(handles[static_cast<std::size_t>(p)])]() mutable {
      for (int i = 0; i < each; ++i) out.push({p, i});
    });
  }
  for (thread& t : threads) t.join();
  std::vector<int> count(producers, 0);
  for (const auto& mine : got) {
    std::vector<int> last(producers, -1);
    for (const auto& [p, i] : mine) {
      EXPECT_GT(i, last[static_cast<std::size_t>(p)]);
      last[static_cast<std::size_t>(p)] = i;
      ++count[static_cast<std::size_t>(p)];
    }
  }
  for (const int n : count) EXPECT_EQ(n, each);
  expect_balanced(c);
}

}  // namespace

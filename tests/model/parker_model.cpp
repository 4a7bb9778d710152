// Parking under every kind of interleaving, with virtual time: no lost wake-up, no return without
// a token, and what unpark() publishes is seen.
#include <chrono>
#include <functional>
#include <memory>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using std::chrono::milliseconds;

// By sampling, which also has spurious returns of the futex, and exhaustively, which does not.
void check_both_ways(const std::function<void()>& body) {
  check({.runs = 20'000}, body);
  check({.runs = 1'000'000, .how = model::strategy::exhaustive}, body);
}

TEST(parker, unpark_is_never_lost_and_publishes) {
  check_both_ways([] {
    parker p;
    sync::var<int> data(0);
    sync::thread waker([&] {
      data.write() = 1;
      p.unpark();
    });
    p.park();
    model::require(data.read() == 1, "what came before unpark() is seen after park()");
    waker.join();
  });
}

// Two unparks may leave one token or two, one after the other; in both cases whoever takes a token
// has seen all that was unparked before it.
TEST(parker, every_unpark_is_followed_by_a_look) {
  check_both_ways([] {
    parker p;
    sync::atomic<int> posted{0};
    const auto post = [&] {
      posted.fetch_add(1, std::memory_order_relaxed);  // relaxed: unpark() publishes it
      p.unpark();
    };
    sync::thread a(post);
    sync::thread b(post);
    while (posted.load(std::memory_order_relaxed) < 2) p.park();  // relaxed: park() received it
    a.join();
    b.join();
  });
}

// A token that covers two unparks carries what both of them published.
TEST(parker, one_token_publishes_for_all_who_left_it) {
  check_both_ways([] {
    parker p;
    sync::var<int> first(0);
    sync::var<int> second(0);
    sync::atomic<int> left{0};
    sync::thread a([&] {
      first.write() = 1;
      p.unpark();
      left.fetch_add(1, std::memory_order_relaxed);  // relaxed: orders nothing on purpose
    });
    sync::thread b([&] {
      second.write() = 1;
      p.unpark();
      left.fetch_add(1, std::memory_order_relaxed);  // relaxed: orders nothing on purpose
    });
    if (left.load(std::memory_order_relaxed) == 2) {  // relaxed: orders nothing on purpose
      p.park();
      model::require(first.read() + second.read() == 2, "both are seen");
    }
    a.join();
    b.join();
  });
}

TEST(parker, never_returns_without_a_token) {
  check_both_ways([] {
    parker p;
    sync::var<int> turns(0);
    sync::thread waker([&] {
      turns.write() = 1;
      p.unpark();
    });
    p.park();
    model::require(turns.read() == 1, "woken by the token");
    waker.join();
    model::require(!p.park_until(sync::clock::time_point{}), "which was taken");
  });
}

TEST(parker, hands_over_to_and_fro) {
  check({.runs = 20'000}, [] {
    constexpr int rounds = 3;
    parker ping;
    parker pong;
    sync::var<int> ball(0);
    sync::thread other([&] {
      for (int i = 0; i < rounds; ++i) {
        ping.park();
        ++ball.write();
        pong.unpark();
      }
    });
    for (int i = 0; i < rounds; ++i) {
      ++ball.write();
      ping.unpark();
      pong.park();
      model::require(ball.read() == 2 * i + 2, "the other side has had its turn");
    }
    other.join();
  });
}

// The deadline races with the token. Whichever wins, the token is not lost, and false is never
// early.
TEST(parker, deadline_and_token_race_without_loss) {
  check_both_ways([] {
    parker p;
    sync::var<int> data(0);
    const sync::clock::time_point deadline = sync::clock::now() + milliseconds(1);
    sync::thread waker([&] {
      data.write() = 1;
      p.unpark();
    });
    if (!p.park_until(deadline)) {
      model::require(sync::clock::now() >= deadline, "not before the deadline");
      p.park();
    }
    model::require(data.read() == 1, "the token was taken in the end");
    waker.join();
    model::require(!p.park_until(sync::clock::time_point{}), "and only once");
  });
}

TEST(parker, deadline_without_a_token) {
  check_both_ways([] {
    parker p;
    const sync::clock::time_point deadline = sync::clock::now() + milliseconds(1);
    model::require(!p.park_until(deadline), "nobody left a token");
    model::require(sync::clock::now() >= deadline, "not before the deadline");
    p.unpark();
    p.park();
  });
}

// The waiter destroys the parker when park() returns; unpark() may still be on its way out.
TEST(parker, may_be_destroyed_after_park) {
  check_both_ways([] {
    auto p = std::make_unique<parker>();
    sync::thread waker([raw = p.get()] { raw->unpark(); });
    p->park();
    p.reset();
    waker.join();
  });
}

}  // namespace

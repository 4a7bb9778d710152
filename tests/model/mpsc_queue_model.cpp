// The MPSC queue under every kind of interleaving: nothing lost, order kept, payloads published,
// and elements and the queue itself gone as early as the documentation allows.
#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include <takt/base/detail/mpsc_queue.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>

#include "support.hpp"

namespace {

using namespace takt;

// By sampling, and every interleaving that can be told apart.
void check_both_ways(const std::function<void()>& body) {
  check({.runs = 20'000}, body);
  check({.runs = 1'000'000, .how = model::strategy::exhaustive}, body);
}

struct message : detail::mpsc_node {
  message(std::size_t f, int n) : from(f), number(n) {}
  std::size_t from;
  sync::var<int> number;  // plain data, checked for races
};

using queue_type = detail::mpsc_queue<message>;

void push_new(queue_type& queue, std::size_t from, int number) {
  queue.push(*std::make_unique<message>(from, number).release());
}

// Pops until `count` have come, destroys each at once, and checks the order of each producer.
template <std::size_t Producers>
void take_all(queue_type& queue, int count) {
  std::array<int, Producers> next{};
  while (count > 0) {
    const std::unique_ptr<message> m(queue.pop());
    if (m == nullptr) {
      sync::yield();
      continue;
    }
    model::require(m->number.read() == next[m->from]++, "each producer's order is kept");
    --count;
  }
}

void two_producers(int each) {
  queue_type queue;
  const auto produce = [&queue, each](std::size_t from) {
    for (int n = 0; n < each; ++n) push_new(queue, from, n);
  };
  sync::thread a(produce, 0U);
  sync::thread b(produce, 1U);
  take_all<2>(queue, 2 * each);
  model::require(queue.empty(), "all that was pushed has come");
  a.join();
  b.join();
}

TEST(mpsc_queue, loses_nothing_and_keeps_the_order_of_each_producer) {
  check({.runs = 20'000}, [] { two_producers(3); });
}

// Without waiting: what the consumer does not see while the producers run is there when they are
// done.
void pop_twice_beside(int producers) {
  queue_type queue;
  int got = 0;
  const auto pop = [&] {
    const std::unique_ptr<message> m(queue.pop());
    if (m == nullptr) return false;
    model::require(m->number.read() == 7, "the element is complete");
    ++got;
    return true;
  };
  const auto produce = [&queue](std::size_t from) { push_new(queue, from, 7); };
  {
    sync::thread a(produce, 0U);
    sync::thread b;
    if (producers == 2) b = sync::thread(produce, 1U);
    pop();
    pop();
    a.join();
    if (producers == 2) b.join();
  }
  model::require(queue.empty() == (got == producers), "empty() is exact");
  while (pop()) {
  }
  model::require(got == producers, "no push under way, no gap");
  model::require(queue.empty(), "and nothing is left");
}

TEST(mpsc_queue, one_producer_and_a_consumer) {
  check_both_ways([] { pop_twice_beside(1); });
}

TEST(mpsc_queue, two_producers_and_a_consumer) {
  check_both_ways([] { pop_twice_beside(2); });
}

// A popped element goes back at once, into the queue that it came from, while others push.
TEST(mpsc_queue, popped_element_may_be_pushed_at_once) {
  check({.runs = 20'000}, [] {
    queue_type queue;
    message a(0, 0);
    message b(1, 0);
    sync::thread producer([&] {
      queue.push(a);
      queue.push(b);
    });
    for (int pops = 0; pops < 6;) {
      message* const m = queue.pop();
      if (m == nullptr) {
        sync::yield();
        continue;
      }
      ++pops;
      ++m->number.write();
      if (pops <= 4) queue.push(*m);
    }
    producer.join();
    model::require(queue.empty(), "both elements have come out for good");
    model::require(a.number.read() + b.number.read() == 6, "each pop was of one push");
  });
}

// The queue dies with the last pop; a push that has not yet returned must not notice.
void destroy_after_the_last_pop(int producers) {
  auto queue = std::make_unique<queue_type>();
  const auto produce = [&q = *queue](std::size_t from) { push_new(q, from, 0); };
  sync::thread a(produce, 0U);
  sync::thread b;
  if (producers == 2) b = sync::thread(produce, 1U);
  take_all<2>(*queue, producers);
  queue.reset();
  a.join();
  if (producers == 2) b.join();
}

TEST(mpsc_queue, may_be_destroyed_after_the_last_pop) {
  check_both_ways([] { destroy_after_the_last_pop(1); });
  check({.runs = 20'000}, [] { destroy_after_the_last_pop(2); });
}

// Every producer unparks after each push; the consumer looks, and parks if it sees nothing. A
// consumer that slept on a gap, and was not woken for it, would be a deadlock here.
TEST(mpsc_queue, consumer_that_parks_misses_nothing) {
  check_both_ways([] {
    queue_type queue;
    parker ready;
    const auto produce = [&](std::size_t from) {
      push_new(queue, from, 0);
      ready.unpark();
    };
    sync::thread a(produce, 0U);
    sync::thread b(produce, 1U);
    for (int got = 0; got < 2;) {
      if (const std::unique_ptr<message> m{queue.pop()}) {
        ++got;
      } else {
        ready.park();
      }
    }
    a.join();
    b.join();
  });
}

// What the seq_cst operations are for: a sleeper that announces itself and then looks, and a
// producer that pushes and then looks for sleepers, never miss each other.
void announced_sleep() {
  queue_type queue;
  parker ready;
  sync::atomic<bool> sleeps{false};
  sync::thread producer([&] {
    push_new(queue, 0, 0);
    if (sleeps.load()) ready.unpark();
  });
  sleeps.store(true);
  if (queue.empty()) ready.park();
  take_all<1>(queue, 1);
  producer.join();
}

TEST(mpsc_queue, empty_and_push_order_with_an_announced_sleep) { check_both_ways(announced_sleep); }

}  // namespace

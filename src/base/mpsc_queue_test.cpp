#include <takt/base/detail/mpsc_queue.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>

namespace {

using takt::detail::mpsc_node;
using takt::detail::mpsc_queue;

struct message : mpsc_node {
  explicit message(std::size_t f = 0, int n = 0) : from(f), number(n) {}
  std::size_t from;
  int number;
};

static_assert(!std::is_copy_constructible_v<message>);
static_assert(!std::is_move_constructible_v<mpsc_queue<message>>);

TEST(mpsc_queue, is_empty_by_default) {
  mpsc_queue<message> queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(mpsc_queue, first_in_first_out) {
  std::array<message, 5> messages;
  mpsc_queue<message> queue;
  for (message& m : messages) queue.push(m);
  EXPECT_FALSE(queue.empty());
  for (message& m : messages) EXPECT_EQ(queue.pop(), &m);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(mpsc_queue, pushes_and_pops_in_turn) {
  message a;
  message b;
  message c;
  mpsc_queue<message> queue;
  for (int i = 0; i < 3; ++i) {
    queue.push(a);
    EXPECT_EQ(queue.pop(), &a);
    EXPECT_TRUE(queue.empty());
    queue.push(b);
    queue.push(a);
    EXPECT_EQ(queue.pop(), &b);
    EXPECT_FALSE(queue.empty());
    queue.push(c);
    queue.push(b);
    EXPECT_EQ(queue.pop(), &a);
    EXPECT_EQ(queue.pop(), &c);
    EXPECT_EQ(queue.pop(), &b);
    EXPECT_EQ(queue.pop(), nullptr);
  }
}

TEST(mpsc_queue, popped_element_may_be_destroyed_at_once) {
  mpsc_queue<message> queue;
  for (int i = 0; i < 4; ++i) queue.push(*std::make_unique<message>(0U, i).release());
  for (int i = 0; i < 4; ++i) {
    const std::unique_ptr<message> m(queue.pop());
    ASSERT_NE(m, nullptr);
    EXPECT_EQ(m->number, i);
  }
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(mpsc_queue, popped_element_may_be_pushed_at_once) {
  message a;
  message b;
  mpsc_queue<message> queue;
  mpsc_queue<message> other;
  queue.push(a);
  queue.push(b);
  for (int i = 0; i < 10; ++i) {
    message* const m = queue.pop();
    ASSERT_EQ(m, i % 2 == 0 ? &a : &b);
    queue.push(*m);
  }
  while (message* m = queue.pop()) other.push(*m);
  EXPECT_EQ(other.pop(), &a);
  EXPECT_EQ(other.pop(), &b);
}

// Producers push and then unpark; the consumer pops all it can see and then parks. The test hangs
// if a push is lost, or hidden for good.
TEST(mpsc_queue, four_producers_lose_nothing_and_keep_their_order) {
  constexpr std::size_t producers = 4;
  constexpr int each = 25'000;
  mpsc_queue<message> queue;
  takt::parker ready;
  std::vector<takt::sync::thread> threads;
  for (std::size_t p = 0; p < producers; ++p) {
    threads.emplace_back([&queue, &ready, p] {
      for (int n = 0; n < each; ++n) {
        queue.push(*std::make_unique<message>(p, n).release());
        ready.unpark();
      }
    });
  }

  std::array<int, producers> next{};
  for (std::size_t popped = 0; popped < producers * each;) {
    const std::unique_ptr<message> m(queue.pop());
    if (m == nullptr) {
      ready.park();
      continue;
    }
    ++popped;
    ASSERT_EQ(m->number, next[m->from]) << "of producer " << m->from;
    ++next[m->from];
  }
  for (const int n : next) EXPECT_EQ(n, each);
  EXPECT_TRUE(queue.empty());
  for (auto& t : threads) t.join();
}

// Elements circulate between two queues and are written on each side, so that a node handed out too
// early is a data race or breaks a chain.
TEST(mpsc_queue, elements_go_round) {
  constexpr int rounds = 50'000;
  std::array<message, 3> messages;
  mpsc_queue<message> there;
  mpsc_queue<message> back;
  const auto forward = [](mpsc_queue<message>& from, mpsc_queue<message>& to, int last) {
    int handled = 0;
    while (handled < last) {
      message* const m = from.pop();
      if (m == nullptr) {
        takt::sync::yield();
        continue;
      }
      ++m->number;
      ++handled;
      to.push(*m);
    }
  };
  for (message& m : messages) there.push(m);
  takt::sync::thread other([&] { forward(there, back, rounds); });
  forward(back, there, rounds);
  other.join();

  int handled = 0;
  for (mpsc_queue<message>* q : {&there, &back}) {
    while (const message* m = q->pop()) handled += m->number;
  }
  EXPECT_EQ(handled, 2 * rounds);
}

// A queue may be destroyed once all elements have been popped, even if producers have not returned
// from push().
TEST(mpsc_queue, may_be_destroyed_after_the_last_pop) {
  constexpr int rounds = 5'000;
  using queue_type = mpsc_queue<message>;
  std::array<takt::sync::atomic<queue_type*>, 2> handed{};
  std::vector<takt::sync::thread> threads;
  for (std::size_t p = 0; p < handed.size(); ++p) {
    threads.emplace_back([&handed, p] {
      for (int n = 0; n < rounds; ++n) {
        message* const m = std::make_unique<message>(p, n).release();
        queue_type* queue = nullptr;
        while ((queue = handed[p].exchange(nullptr)) == nullptr) takt::sync::yield();
        queue->push(*m);
      }
    });
  }
  for (int n = 0; n < rounds; ++n) {
    auto queue = std::make_unique<queue_type>();
    for (auto& h : handed) h.store(queue.get());
    for (std::size_t popped = 0; popped < handed.size();) {
      const std::unique_ptr<message> m(queue->pop());
      if (m == nullptr) {
        takt::sync::yield();
      } else {
        ASSERT_EQ(m->number, n);
        ++popped;
      }
    }
  }
  for (auto& t : threads) t.join();
}

#if TAKT_CHECKED
TEST(mpsc_queue, misuse_is_asserted) {
  EXPECT_DEATH(
      {
        message m;
        mpsc_queue<message> queue;
        queue.push(m);
      },
      "empty");
}
#endif

}  // namespace

// Chains and sets of subscriptions so large that recursion, or a search through all parents, would
// not finish.
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/rx/aggregate_error.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/refcount_subscription.hpp>
#include <takt/rx/serial_subscription.hpp>
#include <takt/rx/subscription.hpp>

namespace {

using namespace takt::rx;

constexpr std::size_t a_million = 1'000'000;

// Returns a subscription with a chain of `length` below it, each a child of the previous one. The
// last one counts when it is closed.
subscription chain(std::size_t length, std::size_t& closed) {
  subscription head = subscription::empty();
  subscription at = head;
  for (std::size_t i = 1; i < length; ++i) {
    const subscription next = subscription::empty();
    at.add(next);
    at = next;
  }
  at.add([&closed] { ++closed; });
  return head;
}

TEST(subscription_chain, of_a_million_is_closed) {
  std::size_t closed = 0;
  const subscription head = chain(a_million, closed);
  head.unsubscribe();
  EXPECT_EQ(closed, 1u);
}

TEST(subscription_chain, of_a_million_is_dropped) {
  std::size_t closed = 0;
  chain(a_million, closed);
  EXPECT_EQ(closed, 0u);
}

TEST(subscription_chain, of_a_million_is_cleared_and_removed) {
  std::size_t closed = 0;
  const composite_subscription all;
  all.add(chain(a_million, closed));
  all.clear();
  EXPECT_EQ(closed, 1u);
  const subscription other = chain(a_million, closed);
  all.add(other);
  EXPECT_TRUE(all.remove(other));
  EXPECT_EQ(closed, 2u);
}

// Each serial_subscription holds the next one, which is not its child.
TEST(subscription_chain, of_a_million_serials_is_closed_and_dropped) {
  std::size_t closed = 0;
  for (const bool closes : {true, false}) {
    serial_subscription head;
    serial_subscription at = head;
    for (std::size_t i = 1; i < a_million; ++i) {
      const serial_subscription next;
      at.set(next);
      at = next;
    }
    at.set(subscription([&closed] { ++closed; }));
    if (closes) head.unsubscribe();
  }
  EXPECT_EQ(closed, 1u);
}

// The order of a recursive walk: a core, the core that it holds, then its children in order.
TEST(subscription_chain, is_closed_in_order) {
  std::string order;
  const auto entry = [&order](char name) {
    return subscription([&order, name] { order += name; });
  };
  const subscription a = entry('a');
  const subscription b = entry('b');
  const serial_subscription c;
  c.set(entry('d'));
  c.add(entry('e'));
  b.add(c);
  b.add(entry('f'));
  a.add(b);
  a.add(entry('g'));
  a.unsubscribe();
  EXPECT_EQ(order, "abdefg");
}

TEST(subscription_chain, reports_the_errors_of_all_levels_in_order) {
  const auto failing = [](const char* text) {
    return subscription([text] { throw std::runtime_error(text); });
  };
  const subscription a = failing("a");
  const serial_subscription b;
  b.set(failing("b"));
  b.add(failing("c"));
  a.add(b);
  a.add(failing("d"));
  std::string texts;
  try {
    a.unsubscribe();
  } catch (const aggregate_error& several) {
    for (const std::exception_ptr& each : several.errors()) {
      try {
        std::rethrow_exception(each);
      } catch (const std::runtime_error& e) {
        texts += e.what();
      }
    }
  }
  EXPECT_EQ(texts, "abcd");
}

// A closed descendant does not prevent its neighbours from being closed.
TEST(subscription_chain, a_child_closes_its_ancestor_and_itself) {
  std::size_t closed = 0;
  const subscription top = subscription::empty();
  const subscription middle = subscription::empty();
  top.add(middle);
  middle.add([&] {
    ++closed;
    middle.unsubscribe();
    top.unsubscribe();
  });
  middle.add([&] { ++closed; });
  top.add([&] { ++closed; });
  top.unsubscribe();
  EXPECT_EQ(closed, 3u);
}

// Takes too long with a search through all parents.
TEST(subscription_chain, one_child_of_many_parents) {
  constexpr std::size_t many = 300'000;
  std::size_t closed = 0;
  const subscription child([&closed] { ++closed; });
  std::vector<composite_subscription> parents(many);
  for (const composite_subscription& p : parents) p.add(child);
  for (const composite_subscription& p : parents) p.add(child);
  EXPECT_EQ(parents.back().size(), 1u) << "each has it once";
  for (std::size_t i = many; i > many / 2; --i) EXPECT_TRUE(parents[i - 1].release(child));
  EXPECT_FALSE(parents.back().release(child));
  EXPECT_EQ(parents.back().size(), 0u);
  parents.back().add(child);
  EXPECT_EQ(parents.back().size(), 1u);
  child.unsubscribe();
  EXPECT_EQ(closed, 1u);
  for (const composite_subscription& p : parents) EXPECT_EQ(p.size(), 0u);
}

// Each refcount_subscription holds the next one as its main subscription.
TEST(subscription_chain, of_a_million_refcounts_is_closed_and_dropped) {
  std::size_t closed = 0;
  for (const bool closes : {true, false}) {
    subscription head([&closed] { ++closed; });
    for (std::size_t i = 1; i < a_million; ++i) head = refcount_subscription(head);
    if (closes) head.unsubscribe();
  }
  EXPECT_EQ(closed, 1u);
}

TEST(subscription_chain, a_refcount_with_an_open_one_closes_its_main_one_later) {
  std::size_t closed = 0;
  const refcount_subscription shared{subscription([&closed] { ++closed; })};
  const subscription one = shared.get();
  shared.unsubscribe();
  EXPECT_EQ(closed, 0u);
  one.unsubscribe();
  EXPECT_EQ(closed, 1u);
}

}  // namespace

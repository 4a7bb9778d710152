// RxJS: Subscription-spec. An "Unsubscribable" is an object with unsubscribe(); here it is a
// callback.
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/rx/aggregate_error.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/subscription.hpp>

namespace {

using namespace takt;

TEST(Subscription, add_should_unsubscribe_child_subscriptions) {
  const rx::composite_subscription main;
  const auto child = rx::subscription::empty();
  main.add(child);
  main.unsubscribe();
  EXPECT_TRUE(child.is_unsubscribed());
}
TEST(Subscription, add_should_unsubscribe_child_subscriptions_if_it_has_already_been_unsubscribed) {
  const rx::composite_subscription main;
  main.unsubscribe();
  const auto child = rx::subscription::empty();
  main.add(child);
  EXPECT_TRUE(child.is_unsubscribed());
}
TEST(Subscription, add_should_unsubscribe_a_finalizer_function_that_was_passed) {
  bool called = false;
  const rx::composite_subscription main;
  main.add([&] { called = true; });
  main.unsubscribe();
  EXPECT_TRUE(called);
}
TEST(
    Subscription,
    add_should_unsubscribe_a_finalizer_function_that_was_passed_immediately_if_it_has_been_unsubscribed) {
  bool called = false;
  const rx::composite_subscription main;
  main.unsubscribe();
  main.add([&] { called = true; });
  EXPECT_TRUE(called);
}
TEST(Subscription, add_should_unsubscribe_an_Unsubscribable_when_unsubscribed) {
  int calls = 0;
  struct unsubscribable {
    int& calls;
    void operator()() const { ++calls; }
  };
  const rx::composite_subscription main;
  main.add(unsubscribable{calls});
  main.unsubscribe();
  EXPECT_EQ(calls, 1);
}
TEST(Subscription, add_should_unsubscribe_an_Unsubscribable_if_it_is_already_unsubscribed) {
  int calls = 0;
  const rx::subscription main;
  main.add([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}
TEST(Subscription, remove_should_remove_added_Subscriptions) {
  const rx::composite_subscription main;
  const auto child = rx::subscription::empty();
  main.add(child);
  EXPECT_TRUE(main.release(child));
  main.unsubscribe();
  EXPECT_FALSE(child.is_unsubscribed());
}
TEST(Subscription, remove_should_remove_added_functions) {
  bool called = false;
  const rx::composite_subscription main;
  const rx::subscription f{[&] { called = true; }};
  main.add(f);
  EXPECT_TRUE(main.release(f));
  main.unsubscribe();
  EXPECT_FALSE(called);
}
TEST(Subscription, remove_should_remove_added_unsubscribables) {
  int calls = 0;
  const rx::composite_subscription main;
  const rx::subscription u{[&] { ++calls; }};
  main.add(u);
  EXPECT_TRUE(main.release(u));
  EXPECT_FALSE(main.release(u));
  main.unsubscribe();
  EXPECT_EQ(calls, 0);
}
TEST(Subscription, unsubscribe_should_unsubscribe_from_all_subscriptions_when_some_of_them_throw) {
  std::vector<int> called;
  const rx::composite_subscription main;
  main.add([&] { called.push_back(1); });
  main.add([&] {
    called.push_back(2);
    throw std::runtime_error("oops, I am a bad unsubscribe!");
  });
  main.add([&] { called.push_back(3); });
  EXPECT_THROW(main.unsubscribe(), std::runtime_error);
  EXPECT_EQ(called, (std::vector{1, 2, 3}));
}
TEST(
    Subscription,
    unsubscribe_should_unsubscribe_from_all_subscriptions_when_adding_a_bad_custom_subscription_to_a_subscription) {
  std::vector<int> called;
  const auto sub = rx::subscription::empty();
  sub.add([&] { called.push_back(1); });
  const rx::subscription bad{[&] {
    called.push_back(2);
    throw std::runtime_error("Who is your daddy, and what does he do?");
  }};
  sub.add(bad);
  sub.add([&] { called.push_back(3); });
  EXPECT_THROW(sub.unsubscribe(), std::runtime_error);
  EXPECT_EQ(called, (std::vector{1, 2, 3}));
}
TEST(Subscription, unsubscribe_should_have_idempotent_unsubscription) {
  int calls = 0;
  const rx::subscription s{[&] { ++calls; }};
  s.unsubscribe();
  s.unsubscribe();
  EXPECT_EQ(calls, 1);
}
TEST(Subscription, unsubscribe_should_unsubscribe_from_all_parents) {
  const rx::composite_subscription a;
  const rx::composite_subscription b;
  const rx::composite_subscription c;
  a.add(c);
  b.add(c);
  c.unsubscribe();
  EXPECT_EQ(a.size(), 0U);
  EXPECT_EQ(b.size(), 0U);
  a.unsubscribe();
  EXPECT_FALSE(b.is_unsubscribed());
}

}  // namespace

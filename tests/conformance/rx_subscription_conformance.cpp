// RxJava's tests of its subscriptions, test by test.
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/rx/aggregate_error.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/refcount_subscription.hpp>
#include <takt/rx/serial_subscription.hpp>
#include <takt/rx/subscription.hpp>

#include "rx_support.hpp"

namespace {

using namespace takt::rx;
using takt_test::race;

using counter = takt::sync::atomic<int>;

subscription counting(counter& n) {
  return subscription([&n] { ++n; });
}
subscription failing(const char* what) {
  return subscription([what] { throw std::runtime_error(what); });
}

// --- Subscriptions

TEST(SubscriptionsTest, testUnsubscribeOnlyOnce) {
  counter n{0};
  const subscription s = counting(n);
  s.unsubscribe();
  s.unsubscribe();
  EXPECT_EQ(n, 1);
}

TEST(SubscriptionsTest, testEmpty) {
  const subscription s = subscription::empty();
  EXPECT_FALSE(s.is_unsubscribed());
  s.unsubscribe();
  EXPECT_TRUE(s.is_unsubscribed());
}

TEST(SubscriptionsTest, testUnsubscribed) { EXPECT_TRUE(subscription().is_unsubscribed()); }

// --- SubscriptionList and CompositeSubscription, which are one class in takt

void success() {
  counter n{0};
  const composite_subscription all;
  all.add(counting(n));
  all.add(counting(n));
  all.unsubscribe();
  EXPECT_EQ(n, 2);
}

void should_unsubscribe_all() {
  counter n{0};
  const composite_subscription all;
  for (int i = 0; i < 10; ++i) all.add(counting(n));
  std::vector<takt::sync::thread> threads;
  for (int i = 0; i < 10; ++i) threads.emplace_back([&] { all.unsubscribe(); });
  for (takt::sync::thread& t : threads) t.join();
  EXPECT_EQ(n, 10);
}

void exception() {
  counter n{0};
  const composite_subscription all{failing("failed on first one"), counting(n)};
  EXPECT_THROW(all.unsubscribe(), std::runtime_error);
  EXPECT_EQ(n, 1) << "the second is unsubscribed all the same";
}

void composite_exception() {
  counter n{0};
  const composite_subscription all{failing("failed on first one"), failing("failed on second one"),
                                   counting(n)};
  try {
    all.unsubscribe();
    FAIL();
  } catch (const aggregate_error& e) {
    EXPECT_EQ(e.errors().size(), 2u);
  }
  EXPECT_EQ(n, 1);
}

void idempotence() {
  counter n{0};
  const composite_subscription all{counting(n)};
  for (int i = 0; i < 3; ++i) all.unsubscribe();
  EXPECT_EQ(n, 1);
}

TEST(SubscriptionListTest, testSuccess) { success(); }
TEST(SubscriptionListTest, shouldUnsubscribeAll) { should_unsubscribe_all(); }
TEST(SubscriptionListTest, testException) { exception(); }
TEST(SubscriptionListTest, testCompositeException) { composite_exception(); }
TEST(SubscriptionListTest, testUnsubscribeIdempotence) { idempotence(); }
TEST(SubscriptionListTest, testUnsubscribeIdempotenceConcurrently) { should_unsubscribe_all(); }
TEST(SubscriptionListTest, removeWhenEmpty) {
  const composite_subscription all;
  EXPECT_FALSE(all.remove(subscription::empty()));
  EXPECT_FALSE(all.is_unsubscribed());
}
TEST(SubscriptionListTest, removeNotIn) {
  const composite_subscription all{subscription::empty()};
  EXPECT_FALSE(all.remove(subscription::empty()));
  EXPECT_EQ(all.size(), 1u);
}
TEST(SubscriptionListTest, unsubscribeClear) {
  const composite_subscription all;
  all.unsubscribe();
  all.clear();
  EXPECT_TRUE(all.is_unsubscribed());
}

void remove_unsubscribes() {
  const subscription a = subscription::empty();
  const subscription b = subscription::empty();
  const composite_subscription all{a, b};
  all.remove(a);
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_FALSE(b.is_unsubscribed());
}

void clear() {
  const subscription a = subscription::empty();
  const subscription b = subscription::empty();
  const composite_subscription all{a, b};
  all.clear();
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_TRUE(b.is_unsubscribed());
  EXPECT_FALSE(all.is_unsubscribed());
  const subscription c = subscription::empty();
  all.add(c);
  all.unsubscribe();
  EXPECT_TRUE(c.is_unsubscribed());
  EXPECT_TRUE(all.is_unsubscribed());
}

void try_remove_if_not_in() {
  const subscription a = subscription::empty();
  const composite_subscription all{a};
  all.remove(a);
  all.remove(a);
}

void add_all() {
  counter n{0};
  const composite_subscription all{counting(n), counting(n), counting(n)};
  EXPECT_EQ(all.size(), 3u);
  all.unsubscribe();
  EXPECT_EQ(n, 3);
}

TEST(CompositeSubscriptionTest, testSuccess) { success(); }
TEST(CompositeSubscriptionTest, shouldUnsubscribeAll) { should_unsubscribe_all(); }
TEST(CompositeSubscriptionTest, testException) { exception(); }
TEST(CompositeSubscriptionTest, testCompositeException) { composite_exception(); }
TEST(CompositeSubscriptionTest, testRemoveUnsubscribes) { remove_unsubscribes(); }
TEST(CompositeSubscriptionTest, testClear) { clear(); }
TEST(CompositeSubscriptionTest, testUnsubscribeIdempotence) { idempotence(); }
TEST(CompositeSubscriptionTest, testUnsubscribeIdempotenceConcurrently) {
  should_unsubscribe_all();
}
TEST(CompositeSubscriptionTest, testTryRemoveIfNotIn) { try_remove_if_not_in(); }
TEST(CompositeSubscriptionTest, testAddAll) { add_all(); }
TEST(CompositeSubscriptionTest, testAddAllConcurrent) {
  counter n{0};
  const composite_subscription all;
  std::vector<takt::sync::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) all.add(counting(n));
    });
  }
  for (takt::sync::thread& t : threads) t.join();
  all.unsubscribe();
  EXPECT_EQ(n, 30);
}

// --- CompositeDisposable, of RxJava 3

TEST(CompositeDisposableTest, success) { ::success(); }
TEST(CompositeDisposableTest, shouldUnsubscribeAll) { should_unsubscribe_all(); }
TEST(CompositeDisposableTest, exception) { ::exception(); }
TEST(CompositeDisposableTest, compositeException) { composite_exception(); }
TEST(CompositeDisposableTest, removeUnsubscribes) { remove_unsubscribes(); }
TEST(CompositeDisposableTest, clear) { ::clear(); }
TEST(CompositeDisposableTest, unsubscribeIdempotence) { idempotence(); }
TEST(CompositeDisposableTest, unsubscribeIdempotenceConcurrently) { should_unsubscribe_all(); }
TEST(CompositeDisposableTest, tryRemoveIfNotIn) { try_remove_if_not_in(); }
TEST(CompositeDisposableTest, initializeVarargs) { add_all(); }
TEST(CompositeDisposableTest, addAll) { add_all(); }

TEST(CompositeDisposableTest, initializeIterable) {
  counter n{0};
  const std::vector<subscription> children{counting(n), counting(n)};
  const composite_subscription all;
  for (const subscription& child : children) all.add(child);
  all.unsubscribe();
  EXPECT_EQ(n, 2);
}

TEST(CompositeDisposableTest, addAfterDisposed) {
  const composite_subscription all;
  all.unsubscribe();
  const subscription a = subscription::empty();
  all.add(a);
  EXPECT_TRUE(a.is_unsubscribed());
  EXPECT_EQ(all.size(), 0u);
}

TEST(CompositeDisposableTest, delete) {
  const composite_subscription all;
  const subscription a = subscription::empty();
  EXPECT_FALSE(all.release(a));
  all.add(a);
  EXPECT_TRUE(all.release(a));
  EXPECT_FALSE(a.is_unsubscribed());
  EXPECT_FALSE(all.release(a));
  all.unsubscribe();
  EXPECT_FALSE(all.release(a));
}

constexpr int races = 200;

// Races two calls on a composite with one child; afterwards the composite is closed.
template <class F, class G>
void race_on(F&& f, G&& g) {
  for (int i = 0; i < races; ++i) {
    counter n{0};
    const composite_subscription first;
    const composite_subscription all;
    const subscription child = counting(n);
    if (i % 2 == 0) first.add(child);  // then the link to `all` is allocated, not part of the child
    all.add(child);
    race([&] { f(all, child); }, [&] { g(all, child); });
    all.unsubscribe();
    child.unsubscribe();
    EXPECT_EQ(n, 1);
    EXPECT_EQ(all.size() + first.size(), 0u);
  }
}

constexpr auto dispose = [](const composite_subscription& all, const subscription&) {
  all.unsubscribe();
};
constexpr auto add = [](const composite_subscription& all, const subscription&) {
  all.add(subscription::empty());
};
constexpr auto add_both = [](const composite_subscription& all, const subscription& child) {
  all.add(subscription::empty());
  all.add(child);
};
constexpr auto remove_it = [](const composite_subscription& all, const subscription& child) {
  all.remove(child);
};
constexpr auto release_it = [](const composite_subscription& all, const subscription& child) {
  all.release(child);
};
constexpr auto clear_it = [](const composite_subscription& all, const subscription&) {
  all.clear();
};
constexpr auto size_of = [](const composite_subscription& all, const subscription&) {
  EXPECT_LE(all.size(), 1u);
};

TEST(CompositeDisposableTest, disposeRace) { race_on(dispose, dispose); }
TEST(CompositeDisposableTest, addRace) { race_on(add, add); }
TEST(CompositeDisposableTest, addAllRace) { race_on(add_both, add_both); }
TEST(CompositeDisposableTest, removeRace) { race_on(remove_it, remove_it); }
TEST(CompositeDisposableTest, deleteRace) { race_on(release_it, release_it); }
TEST(CompositeDisposableTest, clearRace) { race_on(clear_it, clear_it); }
TEST(CompositeDisposableTest, addDisposeRace) { race_on(add, dispose); }
TEST(CompositeDisposableTest, addAllDisposeRace) { race_on(add_both, dispose); }
TEST(CompositeDisposableTest, removeDisposeRace) { race_on(remove_it, dispose); }
TEST(CompositeDisposableTest, deleteDisposeRace) { race_on(release_it, dispose); }
TEST(CompositeDisposableTest, clearDisposeRace) { race_on(clear_it, dispose); }
TEST(CompositeDisposableTest, sizeDisposeRace) { race_on(size_of, dispose); }

TEST(CompositeDisposableTest, disposeThrowsIAE) {
  const composite_subscription all{subscription([] { throw std::invalid_argument("x"); })};
  EXPECT_THROW(all.unsubscribe(), std::invalid_argument);
}
TEST(CompositeDisposableTest, disposeThrowsError) {
  struct fatal {};
  const composite_subscription all{subscription([] { throw fatal(); })};
  EXPECT_THROW(all.unsubscribe(), fatal);
}
TEST(CompositeDisposableTest, disposeThrowsCheckedException) {
  const composite_subscription all{subscription([] { throw std::range_error("x"); })};
  EXPECT_THROW(all.unsubscribe(), std::range_error);
}
TEST(CompositeDisposableTest, disposeThrowsCheckedExceptionSneaky) {
  const composite_subscription all{subscription([] { throw 1; })};
  EXPECT_THROW(all.unsubscribe(), int);
}

// --- MultipleAssignmentSubscription

TEST(MultipleAssignmentSubscriptionTest, testNoUnsubscribeWhenReplaced) {
  counter n{0};
  const assignable_subscription place;
  place.set(counting(n));
  place.set(subscription::empty());
  place.unsubscribe();
  EXPECT_EQ(n, 0);
}
TEST(MultipleAssignmentSubscriptionTest, testUnsubscribeWhenParentUnsubscribes) {
  counter n{0};
  const assignable_subscription place;
  place.set(counting(n));
  place.unsubscribe();
  place.unsubscribe();
  EXPECT_EQ(n, 1);
  EXPECT_TRUE(place.is_unsubscribed());
}
TEST(MultipleAssignmentSubscriptionTest, subscribingWhenUnsubscribedCausesImmediateUnsubscription) {
  const assignable_subscription place;
  place.unsubscribe();
  const subscription s = subscription::empty();
  place.set(s);
  EXPECT_TRUE(s.is_unsubscribed());
}
TEST(MultipleAssignmentSubscriptionTest, subscriptionDoesntRemainAfterUnsubscribe) {
  const subscription s = subscription::empty();
  const assignable_subscription place;
  place.set(s);
  place.unsubscribe();
  EXPECT_FALSE(place.get() == s);
  EXPECT_EQ(place.get(), subscription());
}

// --- RefCountSubscription

TEST(RefCountSubscriptionTest, testImmediateUnsubscribe) {
  counter n{0};
  const refcount_subscription shared(counting(n));
  shared.unsubscribe();
  EXPECT_EQ(n, 1);
  shared.unsubscribe();
  EXPECT_EQ(n, 1);
}
TEST(RefCountSubscriptionTest, testRCSUnsubscribeBeforeClient) {
  counter n{0};
  const refcount_subscription shared(counting(n));
  const subscription s = shared.get();
  shared.unsubscribe();
  EXPECT_EQ(n, 0);
  s.unsubscribe();
  EXPECT_EQ(n, 1);
  shared.unsubscribe();
  s.unsubscribe();
  EXPECT_EQ(n, 1);
}
TEST(RefCountSubscriptionTest, testMultipleClientsUnsubscribeFirst) {
  counter n{0};
  const refcount_subscription shared(counting(n));
  const subscription a = shared.get();
  const subscription b = shared.get();
  a.unsubscribe();
  b.unsubscribe();
  EXPECT_EQ(n, 0);
  shared.unsubscribe();
  EXPECT_EQ(n, 1);
  a.unsubscribe();
  b.unsubscribe();
  shared.unsubscribe();
  EXPECT_EQ(n, 1);
}
TEST(RefCountSubscriptionTest, testMultipleClientsMainUnsubscribeFirst) {
  counter n{0};
  const refcount_subscription shared(counting(n));
  const subscription a = shared.get();
  const subscription b = shared.get();
  shared.unsubscribe();
  EXPECT_EQ(n, 0);
  a.unsubscribe();
  EXPECT_EQ(n, 0);
  b.unsubscribe();
  EXPECT_EQ(n, 1);
  a.unsubscribe();
  b.unsubscribe();
  shared.unsubscribe();
  EXPECT_EQ(n, 1);
}

// --- SerialSubscription

TEST(SerialSubscriptionTests, unsubscribingWithoutUnderlyingDoesNothing) {
  const serial_subscription place;
  place.unsubscribe();
}
TEST(SerialSubscriptionTests, getSubscriptionShouldReturnSet) {
  const serial_subscription place;
  const subscription a = subscription::empty();
  place.set(a);
  EXPECT_EQ(place.get(), a);
  const subscription b = subscription::empty();
  place.set(b);
  EXPECT_EQ(place.get(), b);
}
TEST(SerialSubscriptionTests, unsubscribingTwiceDoesUnsubscribeOnce) {
  counter n{0};
  const serial_subscription place;
  place.set(counting(n));
  place.unsubscribe();
  EXPECT_EQ(n, 1);
  place.unsubscribe();
  EXPECT_EQ(n, 1);
}
TEST(SerialSubscriptionTests, settingSameSubscriptionTwiceDoesUnsubscribeIt) {
  const serial_subscription place;
  const subscription s = subscription::empty();
  place.set(s);
  EXPECT_FALSE(s.is_unsubscribed());
  place.set(s);
  EXPECT_TRUE(s.is_unsubscribed());
}
TEST(SerialSubscriptionTests, unsubscribingWithSingleUnderlyingUnsubscribes) {
  const serial_subscription place;
  const subscription s = subscription::empty();
  place.set(s);
  place.unsubscribe();
  EXPECT_TRUE(s.is_unsubscribed());
}
TEST(SerialSubscriptionTests, replacingFirstUnderlyingCausesUnsubscription) {
  const serial_subscription place;
  const subscription a = subscription::empty();
  place.set(a);
  place.set(subscription::empty());
  EXPECT_TRUE(a.is_unsubscribed());
}
TEST(SerialSubscriptionTests, whenUnsubscribingSecondUnderlyingUnsubscribed) {
  const serial_subscription place;
  place.set(subscription::empty());
  const subscription b = subscription::empty();
  place.set(b);
  place.unsubscribe();
  EXPECT_TRUE(b.is_unsubscribed());
}
TEST(SerialSubscriptionTests, settingUnderlyingWhenUnsubscribedCausesImmediateUnsubscription) {
  const serial_subscription place;
  place.unsubscribe();
  const subscription s = subscription::empty();
  place.set(s);
  EXPECT_TRUE(s.is_unsubscribed());
}
TEST(SerialSubscriptionTests,
     settingUnderlyingWhenUnsubscribedCausesImmediateUnsubscriptionConcurrently) {
  for (int i = 0; i < races; ++i) {
    const serial_subscription place;
    const subscription first = subscription::empty();
    const subscription second = subscription::empty();
    place.set(first);
    race([&] { place.set(second); }, [&] { place.unsubscribe(); });
    EXPECT_TRUE(first.is_unsubscribed());
    EXPECT_TRUE(second.is_unsubscribed());
  }
}
TEST(SerialSubscriptionTests, concurrentSetSubscriptionShouldNotInterleave) {
  for (int i = 0; i < races; ++i) {
    const serial_subscription place;
    const subscription a = subscription::empty();
    const subscription b = subscription::empty();
    race([&] { place.set(a); }, [&] { place.set(b); });
    EXPECT_NE(a.is_unsubscribed(), b.is_unsubscribed()) << "all but the last";
    place.unsubscribe();
    EXPECT_TRUE(a.is_unsubscribed() && b.is_unsubscribed());
  }
}

}  // namespace

#include <takt/rx/subscription.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/rx/aggregate_error.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/refcount_subscription.hpp>
#include <takt/rx/serial_subscription.hpp>

#include "../../tests/support/pools.hpp"
#include "../base/counting_new.hpp"

namespace {

using namespace takt::rx;
using takt_test::recording_hook;

// Records the names of unsubscribed children, in order.
struct diary {
  subscription entry(std::string name) {
    return subscription([this, name = std::move(name)] { all += name; });
  }
  std::string all;
};

TEST(subscription, calls_its_callback_once_and_destroys_it) {
  auto token = std::make_shared<int>(0);
  const subscription s([token] { ++*token; });
  EXPECT_FALSE(s.is_unsubscribed());
  EXPECT_EQ(token.use_count(), 2);
  s.unsubscribe();
  s.unsubscribe();
  EXPECT_TRUE(s.is_unsubscribed());
  EXPECT_EQ(*token, 1);
  EXPECT_EQ(token.use_count(), 1) << "the handle does not keep it";
}

TEST(subscription, is_closed_by_default_and_open_if_empty) {
  const subscription none;
  EXPECT_TRUE(none.is_unsubscribed());
  EXPECT_FALSE(none.is_rejected());
  none.unsubscribe();
  const subscription e = subscription::empty();
  EXPECT_FALSE(e.is_unsubscribed());
  e.unsubscribe();
  EXPECT_TRUE(e.is_unsubscribed());
  EXPECT_TRUE(subscription::rejected().is_unsubscribed());
  EXPECT_TRUE(subscription::rejected().is_rejected());
}

TEST(subscription, refuses_an_empty_callback) {
  EXPECT_THROW(subscription(std::function<void()>()), std::invalid_argument);
  void (*const nothing)() = nullptr;
  EXPECT_THROW(subscription{nothing}, std::invalid_argument);
}

TEST(subscription, takes_what_can_be_called_once) {
  auto token = std::make_unique<int>(0);
  int* const count = token.get();
  struct once {
    std::unique_ptr<int> held;
    int* copy;
    void operator()() && { ++*copy; }
  };
  const auto keep = std::make_shared<int>(0);
  const subscription s(once{nullptr, count});
  s.unsubscribe();
  EXPECT_EQ(*count, 1);
}

TEST(subscription, copies_name_the_same_one) {
  int calls = 0;
  const subscription a([&] { ++calls; });
  const subscription b = a;
  EXPECT_EQ(a, b);
  b.unsubscribe();
  EXPECT_TRUE(a.is_unsubscribed());
  a.unsubscribe();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(a == subscription::empty());
}

TEST(subscription, dropping_handles_calls_nothing) {
  auto token = std::make_shared<int>(0);
  {
    const subscription s([token] { ++*token; });
  }
  EXPECT_EQ(*token, 0);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(subscription, unsubscribes_what_was_added_after_itself_in_order) {
  diary d;
  const subscription s = d.entry("s");
  s.add(d.entry("a"));
  s.add([&d] { d.all += "b"; });
  s.add(d.entry("c"));
  s.unsubscribe();
  EXPECT_EQ(d.all, "sabc");
}

TEST(subscription, what_is_added_to_a_closed_one_is_unsubscribed_at_once) {
  diary d;
  const subscription s = subscription::empty();
  s.unsubscribe();
  const subscription late = d.entry("late");
  s.add(late);
  EXPECT_EQ(d.all, "late");
  EXPECT_TRUE(late.is_unsubscribed());
  subscription().add(d.entry("!"));
  EXPECT_EQ(d.all, "late!");
  subscription refused = subscription::rejected();
  const subscription taken = std::move(refused);
  EXPECT_TRUE(taken.is_rejected());
  EXPECT_FALSE(refused.is_rejected());  // NOLINT(bugprone-use-after-move): specified
  EXPECT_TRUE(refused.is_unsubscribed());
}

TEST(subscription, ignores_itself_closed_ones_and_those_that_are_there) {
  const composite_subscription all;
  all.add(all);
  EXPECT_EQ(all.size(), 0u);
  const subscription closed = subscription::empty();
  closed.unsubscribe();
  all.add(closed);
  all.add(subscription());
  EXPECT_EQ(all.size(), 0u);
  const subscription child = subscription::empty();
  all.add(child);
  all.add(child);
  EXPECT_EQ(all.size(), 1u);
  all.unsubscribe();
  EXPECT_TRUE(child.is_unsubscribed());
}

TEST(subscription, a_child_that_closes_leaves_all_its_parents) {
  const composite_subscription a;
  const composite_subscription b;
  const composite_subscription c;
  const subscription child = subscription::empty();
  for (const composite_subscription& parent : {a, b, c}) parent.add(child);
  EXPECT_EQ(a.size() + b.size() + c.size(), 3u);
  child.unsubscribe();
  EXPECT_EQ(a.size() + b.size() + c.size(), 0u);
}

TEST(subscription, a_parent_that_goes_lets_go_of_its_children) {
  auto token = std::make_shared<int>(0);
  const subscription child([token] { ++*token; });
  {
    const composite_subscription parent{child};
    const composite_subscription other{child, parent};
    EXPECT_EQ(other.size(), 2u);
  }
  EXPECT_FALSE(child.is_unsubscribed());
  child.unsubscribe();
  EXPECT_EQ(*token, 1);
}

TEST(subscription, a_parent_keeps_children_whose_handles_are_gone) {
  diary d;
  const composite_subscription parent;
  parent.add(d.entry("a"));
  {
    const composite_subscription inner{d.entry("b"), d.entry("c")};
    parent.add(inner);
  }
  EXPECT_EQ(parent.size(), 2u);
  parent.unsubscribe();
  EXPECT_EQ(d.all, "abc");
}

TEST(subscription, a_circle_comes_to_its_end) {
  const composite_subscription a;
  const composite_subscription b;
  a.add(b);
  b.add(a);
  a.unsubscribe();
  EXPECT_TRUE(b.is_unsubscribed());
}

TEST(subscription, throws_the_only_error_as_it_is) {
  const composite_subscription all{[] {}, [] { throw std::out_of_range("one"); }, [] {}};
  EXPECT_THROW(all.unsubscribe(), std::out_of_range);
  EXPECT_TRUE(all.is_unsubscribed());
  all.unsubscribe();
}

TEST(subscription, throws_several_errors_as_one_and_flat) {
  int called = 0;
  const auto fail = [&called](const char* what) {
    return subscription([&called, what] {
      ++called;
      throw std::runtime_error(what);
    });
  };
  const composite_subscription inner{fail("b"), fail("c")};
  const composite_subscription all{fail("a"), inner, [&called] { ++called; }, fail("d")};
  try {
    all.unsubscribe();
    FAIL();
  } catch (const aggregate_error& several) {
    std::string text;
    for (const std::exception_ptr& e : several.errors()) {
      try {
        std::rethrow_exception(e);
      } catch (const std::runtime_error& one) {
        text += one.what();
      }
    }
    EXPECT_EQ(text, "abcd");
    EXPECT_STREQ(several.what(), "takt::rx: 4 errors while unsubscribing");
    static_assert(std::is_nothrow_copy_constructible_v<aggregate_error>);
  }
  EXPECT_EQ(called, 5);
}

TEST(subscription, a_child_may_use_its_parent_while_it_is_unsubscribed) {
  diary d;
  const composite_subscription all;
  const subscription kept = d.entry("kept");
  all.add([&] {
    all.unsubscribe();
    all.add(d.entry("late"));
    EXPECT_FALSE(all.remove(subscription::empty()));
    EXPECT_TRUE(all.release(kept));
    EXPECT_EQ(all.size(), 1u);
  });
  all.add(kept);
  all.add(d.entry("last"));
  all.unsubscribe();
  EXPECT_EQ(d.all, "latelast");
  EXPECT_FALSE(kept.is_unsubscribed());
}

TEST(subscription, a_callback_may_drop_the_last_handle) {
  diary d;
  auto s = std::make_unique<subscription>(subscription::empty());
  s->add([&] { s.reset(); });
  s->add(d.entry("after"));
  s->unsubscribe();
  EXPECT_EQ(s, nullptr);
  EXPECT_EQ(d.all, "after");
}

TEST(composite, removes_releases_and_clears) {
  diary d;
  const composite_subscription all;
  const subscription a = d.entry("a");
  const subscription b = d.entry("b");
  all.add(a);
  all.add(b);
  all.add(d.entry("c"));
  EXPECT_TRUE(all.remove(a));
  EXPECT_FALSE(all.remove(a));
  EXPECT_EQ(d.all, "a");
  EXPECT_TRUE(all.release(b));
  EXPECT_FALSE(all.release(b));
  EXPECT_FALSE(b.is_unsubscribed());
  EXPECT_EQ(all.size(), 1u);
  all.clear();
  EXPECT_EQ(d.all, "ac");
  EXPECT_EQ(all.size(), 0u);
  EXPECT_FALSE(all.is_unsubscribed());
  all.add(b);
  all.unsubscribe();
  EXPECT_EQ(d.all, "acb");
}

TEST(composite, clear_leaves_what_is_added_meanwhile) {
  const composite_subscription all;
  all.add([&] { all.add(subscription::empty()); });
  all.clear();
  EXPECT_EQ(all.size(), 1u);
}

TEST(composite, many_are_removed_in_any_order) {
  constexpr std::size_t many = 200'000;  // a linear search for each would take minutes
  const composite_subscription all;
  std::vector<subscription> children;
  for (std::size_t i = 0; i < many; ++i) {
    children.push_back(subscription::empty());
    all.add(children.back());
  }
  for (std::size_t i = 0; i < many; ++i) EXPECT_TRUE(all.remove(children[i * 7919 % many]));
  EXPECT_EQ(all.size(), 0u);
}

TEST(composite, the_first_parent_costs_no_allocation) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const composite_subscription all;
  const std::size_t before = takt::allocations();
  const subscription s([] {});
  EXPECT_EQ(takt::allocations() - before, 1u);
  all.add(s);
  s.unsubscribe();
  EXPECT_EQ(takt::allocations() - before, 1u);
}

TEST(composite, without_memory_nothing_changes) {
  TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED();
  const composite_subscription first;
  const composite_subscription second;
  const subscription s = subscription::empty();
  first.add(s);
  {
    const takt::no_memory now;
    EXPECT_THROW(second.add(s), std::bad_alloc);
  }
  EXPECT_EQ(second.size(), 0u);
  second.add(s);
  s.unsubscribe();
  EXPECT_EQ(first.size() + second.size(), 0u);
}

TEST(serial, unsubscribes_the_one_before) {
  diary d;
  const serial_subscription place;
  EXPECT_TRUE(place.get().is_unsubscribed());
  const subscription a = d.entry("a");
  place.set(a);
  EXPECT_EQ(place.get(), a);
  place.set(d.entry("b"));
  EXPECT_EQ(d.all, "a");
  place.set(place);
  place.unsubscribe();
  EXPECT_EQ(d.all, "ab");
  place.set(d.entry("c"));
  EXPECT_EQ(d.all, "abc");
  EXPECT_TRUE(place.get().is_unsubscribed());
}

TEST(assignable, leaves_the_one_before_alone) {
  diary d;
  const assignable_subscription place;
  const subscription a = d.entry("a");
  place.set(a);
  place.set(d.entry("b"));
  EXPECT_EQ(d.all, "");
  place.unsubscribe();
  EXPECT_EQ(d.all, "b");
  EXPECT_FALSE(a.is_unsubscribed());
  place.set(a);
  EXPECT_EQ(d.all, "ba");
}

TEST(refcount, ends_the_main_one_with_the_last) {
  diary d;
  const refcount_subscription shared(d.entry("main"));
  const subscription a = shared.get();
  const subscription b = shared.get();
  a.unsubscribe();
  shared.unsubscribe();
  EXPECT_TRUE(shared.is_unsubscribed());
  EXPECT_EQ(d.all, "");
  EXPECT_TRUE(shared.get().is_unsubscribed());
  b.unsubscribe();
  b.unsubscribe();
  EXPECT_EQ(d.all, "main");
}

TEST(refcount, ends_the_main_one_if_nobody_has_it) {
  diary d;
  const refcount_subscription shared(d.entry("main"));
  shared.get().unsubscribe();
  EXPECT_EQ(d.all, "") << "not closed yet";
  shared.unsubscribe();
  EXPECT_EQ(d.all, "main");
}

TEST(scoped_subscription, unsubscribes_and_reports) {
  diary d;
  {
    const scoped_subscription s(d.entry("a"));
  }
  EXPECT_EQ(d.all, "a");
  subscription kept;
  {
    scoped_subscription s(d.entry("b"));
    kept = s.release();
  }
  EXPECT_FALSE(kept.is_unsubscribed());
  scoped_subscription first(d.entry("c"));
  first = scoped_subscription(d.entry("d"));
  EXPECT_EQ(d.all, "ac");
  const recording_hook hook;
  {
    const scoped_subscription s(subscription([] { throw std::runtime_error("x"); }), hook);
  }
  EXPECT_EQ(hook.uncaught(), std::vector<std::string>{"x"});
}

TEST(stop_bridge, stop_unsubscribes) {
  diary d;
  takt::sync::stop_source source;
  const subscription s = d.entry("s");
  unsubscribe_on(source.get_token(), s);
  EXPECT_FALSE(s.is_unsubscribed());
  source.request_stop();
  EXPECT_EQ(d.all, "s");
  const subscription late = d.entry("late");
  unsubscribe_on(source.get_token(), late);
  EXPECT_EQ(d.all, "slate");
}

TEST(stop_bridge, goes_with_the_subscription) {
  takt::sync::stop_source source;
  auto token = std::make_shared<int>(0);
  {
    const subscription s([token] { ++*token; });
    unsubscribe_on(source.get_token(), s);
  }
  EXPECT_EQ(token.use_count(), 1) << "the bridge does not keep it";
  source.request_stop();
  EXPECT_EQ(*token, 0);
  const subscription closed = subscription::empty();
  closed.unsubscribe();
  unsubscribe_on(source.get_token(), closed);
}

TEST(stop_bridge, errors_go_to_the_hook) {
  const recording_hook hook;
  takt::sync::stop_source source;
  const subscription s([] { throw std::runtime_error("x"); });
  unsubscribe_on(source.get_token(), s, hook);
  source.request_stop();
  EXPECT_EQ(hook.uncaught(), std::vector<std::string>{"x"});
}

TEST(stop_bridge, unsubscribing_requests_stop) {
  const subscription s = subscription::empty();
  const takt::sync::stop_token stop = token_of(s);
  EXPECT_FALSE(stop.stop_requested());
  s.unsubscribe();
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_TRUE(token_of(s).stop_requested());
}

TEST(stop_bridge, both_ways_in_a_circle) {
  takt::sync::stop_source source;
  const subscription s = stop_on_unsubscribe(source);
  unsubscribe_on(source.get_token(), s);
  s.unsubscribe();
  EXPECT_TRUE(source.stop_requested());
}

}  // namespace

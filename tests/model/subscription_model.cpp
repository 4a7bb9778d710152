// Subscriptions under all kinds of interleavings: callbacks run once, none is lost or leaked.
#include <memory>

#include <takt/base/detail/sync.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/refcount_subscription.hpp>
#include <takt/rx/serial_subscription.hpp>
#include <takt/rx/subscription.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;
using rx::composite_subscription;
using rx::subscription;

// Data that only one callback accesses: concurrent or unordered accesses are a race.
using touched = sync::var<int>;

subscription counting(touched& n) {
  subscription made([&n] { n.write() += 1; });
  return made;
}

TEST(subscription_model, add_against_unsubscribe) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription all;
    const subscription child = counting(n);
    sync::thread other([&] { all.unsubscribe(); });
    all.add(child);
    other.join();
    require(child.is_unsubscribed(), "by one or the other");
    require(n.read() == 1, "once");
    require(all.size() == 0, "nothing is kept");
  });
}

TEST(subscription_model, add_against_the_end_of_the_child) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription first;
    const composite_subscription second;
    const subscription child = counting(n);
    sync::thread other([&] { child.unsubscribe(); });
    first.add(child);
    second.add(child);
    other.join();
    require(n.read() == 1, "once");
    require(first.size() + second.size() == 0, "it has left, or did not come");
  });
}

// Both threads create links for both cores; the one that is late discards its own.
TEST(subscription_model, two_add_the_first_child_of_the_same) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched m(0);
    const composite_subscription all;
    const composite_subscription more;
    const subscription child = counting(n);
    sync::thread one([&] {
      all.add(child);
      all.add(counting(m));
    });
    sync::thread two([&] { more.unsubscribe(); });
    more.add(child);
    one.join();
    two.join();
    require(child.is_unsubscribed(), "with the one that was closed");
    require(n.read() == 1, "once");
    require(all.size() == 1, "the other is there");
    all.unsubscribe();
    require(m.read() == 1, "once");
  });
}

TEST(subscription_model, unsubscribe_twice) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription all{counting(n), counting(n)};
    sync::thread other([&] { all.unsubscribe(); });
    all.unsubscribe();
    other.join();
    require(n.read() == 2, "each once, in order");
  });
}

TEST(subscription_model, the_child_closes_while_its_parents_do) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription first;
    const composite_subscription second;
    const subscription child = counting(n);
    first.add(child);
    second.add(child);
    sync::thread one([&] { first.unsubscribe(); });
    sync::thread two([&] { child.unsubscribe(); });
    second.clear();
    one.join();
    two.join();
    require(n.read() == 1, "once");
    require(first.size() + second.size() == 0, "nothing is kept");
  });
}

TEST(subscription_model, remove_against_clear) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched m(0);
    const composite_subscription all;
    const subscription child = counting(n);
    all.add(child);
    all.add(counting(m));
    sync::thread other([&] { all.clear(); });
    const bool removed = all.remove(child);
    other.join();
    require(removed || child.is_unsubscribed(), "one of them has it");
    require(n.read() == 1 && m.read() == 1, "each once");
    require(all.size() == 0, "nothing is kept");
  });
}

TEST(subscription_model, release_against_unsubscribe) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription kept;
    const composite_subscription all;
    const subscription child = counting(n);
    kept.add(child);  // so that the link below `all` is on the heap
    all.add(child);
    sync::thread other([&] { all.unsubscribe(); });
    const bool released = all.release(child);
    other.join();
    require(released != child.is_unsubscribed(), "one of them has it");
    child.unsubscribe();
    require(n.read() == 1, "once");
    require(kept.size() == 0, "nothing is kept");
  });
}

TEST(subscription_model, two_release_the_same) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription kept;
    const composite_subscription all;
    const subscription child = counting(n);
    kept.add(child);
    all.add(child);
    bool there = false;
    sync::thread other([&] { there = all.release(child); });
    const bool here = all.release(child);
    other.join();
    require(here != there, "one of them has it");
  });
}

TEST(subscription_model, two_add_the_same_against_release) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription all;
    const subscription child = counting(n);
    sync::thread one([&] { all.add(child); });
    sync::thread two([&] { all.release(child); });
    all.add(child);
    one.join();
    two.join();
    require(all.size() <= 1, "it is there once at most");
    all.unsubscribe();
    child.unsubscribe();
    require(n.read() == 1, "once");
  });
}

TEST(subscription_model, the_last_handle_goes_while_the_child_closes) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const subscription child = counting(n);
    auto parent = std::make_unique<composite_subscription>();
    auto second = std::make_unique<composite_subscription>();
    parent->add(child);
    second->add(child);
    sync::thread other([&] { child.unsubscribe(); });
    parent.reset();
    second.reset();
    other.join();
    require(n.read() == 1, "once");
  });
}

// One thread closes the tree; the link that the other thread removes may be on its path.
TEST(subscription_model, release_against_unsubscribe_of_the_grandparent) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched m(0);
    const composite_subscription top;
    const composite_subscription middle;
    const composite_subscription kept;
    const subscription child = counting(n);
    kept.add(middle);  // so that the links below top are on the heap
    kept.add(child);
    top.add(middle);
    middle.add(child);
    child.add(counting(m));
    sync::thread one([&] { top.unsubscribe(); });
    sync::thread two([&] { top.release(middle); });
    const bool released = middle.release(child);
    one.join();
    two.join();
    if (released) require(!child.is_unsubscribed() && n.read() == 0, "taken out before");
    child.unsubscribe();
    middle.unsubscribe();
    require(n.read() == 1 && m.read() == 1, "each once");
    require(kept.size() == 0 && top.size() == 0 && middle.size() == 0, "nothing is kept");
  });
}

TEST(subscription_model, two_close_one_chain_at_different_levels) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched m(0);
    const subscription top = subscription::empty();
    const subscription middle = counting(m);
    const subscription low = counting(n);
    top.add(middle);
    middle.add(low);
    sync::thread other([&] { middle.unsubscribe(); });
    top.unsubscribe();
    other.join();
    require(middle.is_unsubscribed() && low.is_unsubscribed(), "by one or the other");
    require(n.read() == 1 && m.read() == 1, "each once");
  });
}

// The thread that releases the chain finds a child that is closing.
TEST(subscription_model, the_last_handle_of_a_chain_goes_while_it_closes) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched m(0);
    auto top = std::make_unique<rx::serial_subscription>();
    const subscription low = counting(n);
    {
      const subscription middle = counting(m);
      const subscription under = subscription::empty();
      top->add(middle);
      top->set(under);
      under.add(low);
      middle.add(low);
    }
    sync::thread other([&] { low.unsubscribe(); });
    top.reset();
    other.join();
    require(n.read() == 1, "once");
    require(m.read() == 0, "dropped, and not closed");
  });
}

TEST(subscription_model, set_against_the_end_of_a_chain_of_serials) {
  check({.runs = 20'000}, [] {
    touched n(0);
    touched m(0);
    const rx::serial_subscription outer;
    const rx::serial_subscription inner;
    outer.set(inner);
    inner.set(counting(n));
    sync::thread other([&] { outer.unsubscribe(); });
    inner.set(counting(m));
    other.join();
    require(n.read() == 1 && m.read() == 1, "each once");
  });
}

TEST(subscription_model, unsubscribing_itself) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const composite_subscription all;
    subscription self = subscription::empty();
    self.add([&] {
      n.write() += 1;
      self.unsubscribe();
      all.remove(self);
      all.unsubscribe();
    });
    all.add(self);
    sync::thread other([&] { all.unsubscribe(); });
    self.unsubscribe();
    other.join();
    require(n.read() == 1, "once");
    require(all.is_unsubscribed(), "by one or the other");
  });
}

TEST(subscription_model, set_against_unsubscribe) {
  check({.runs = 20'000}, [] {
    touched a(0);
    touched b(0);
    const rx::serial_subscription place;
    place.set(counting(a));
    sync::thread other([&] { place.unsubscribe(); });
    place.set(counting(b));
    other.join();
    require(a.read() == 1 && b.read() == 1, "each once");
  });
}

TEST(subscription_model, the_last_of_a_refcount) {
  check({.runs = 20'000}, [] {
    touched n(0);
    const rx::refcount_subscription shared(counting(n));
    const subscription mine = shared.get();
    sync::thread other([&] { shared.unsubscribe(); });
    sync::thread third([&] { shared.get().unsubscribe(); });
    mine.unsubscribe();
    other.join();
    third.join();
    require(n.read() == 1, "once, when it is closed and has no users");
  });
}

TEST(subscription_model, stop_against_unsubscribe) {
  check({.runs = 20'000}, [] {
    touched n(0);
    sync::stop_source source;
    {
      const subscription s = counting(n);
      rx::unsubscribe_on(source.get_token(), s);
      sync::thread other([&] { source.request_stop(); });
      s.unsubscribe();
      other.join();
    }
    require(n.read() == 1, "once");
  });
}

TEST(subscription_model, stop_against_the_last_handle) {
  check({.runs = 20'000}, [] {
    touched n(0);
    sync::stop_source source;
    subscription s = counting(n);
    rx::unsubscribe_on(source.get_token(), s);
    sync::thread other([&] { source.request_stop(); });
    s = subscription();
    other.join();
    require(n.read() <= 1, "once at most");
  });
}

}  // namespace

// A lifecycle without the lock of its owner: what each transition publishes, and that exactly one
// thread terminates it.
#include <functional>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/lifecycle.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;

// A thread that sees `state` sees what the other thread did before `last`, which leads to it.
void check_published(life_state state, const std::function<void(lifecycle&)>& first,
                     const std::function<void(lifecycle&)>& last) {
  check({.runs = 5'000}, [&] {
    sync::var<int> data{0};
    lifecycle life(steady);
    sync::thread other([&] {
      first(life);
      data.write() = 1;
      last(life);
    });
    while (life.state() < state) sync::yield();
    require(data.read() == 1, "seen with the state");
    other.join();
  });
}

void tidy(lifecycle& life) { require(life.try_tidy(true), "no other thread does"); }

TEST(lifecycle_model, a_state_publishes_what_precedes_it) {
  for (const life_state next : {life_state::shutdown, life_state::stop}) {
    const auto advance = [&](lifecycle& l) { require(l.advance_to(next), "no other thread does"); };
    check_published(next, [](lifecycle&) {}, advance);
    check_published(life_state::tidying, advance, tidy);
  }
}

TEST(lifecycle_model, the_end_publishes_what_precedes_it) {
  const auto before_the_hook = [](lifecycle& life) {
    life.advance_to(life_state::stop);
    tidy(life);
  };
  check_published(life_state::terminated, before_the_hook, [](lifecycle& l) { l.terminate(); });
}

TEST(lifecycle_model, who_awaits_the_end_sees_it) {
  check({.runs = 5'000}, [] {
    sync::var<int> data{0};
    lifecycle life(steady);
    sync::thread other([&] {
      life.advance_to(life_state::stop);
      tidy(life);
      data.write() = 1;
      life.terminate();
    });
    require(life.await(clock::time_point::max(), {}), "no deadline");
    require(life.state() == life_state::terminated, "not earlier");
    require(data.read() == 1, "what the hook did");
    other.join();
  });
}

TEST(lifecycle_model, who_sees_that_workers_have_left_sees_what_they_did) {
  check({.runs = 5'000}, [] {
    sync::var<int> data{0};
    lifecycle life(steady);
    require(life.add_worker(), "it runs");
    sync::thread worker([&] {
      data.write() = 1;
      life.remove_worker();
    });
    while (life.workers() != 0) sync::yield();
    require(data.read() == 1, "seen with the number");
    worker.join();
  });
}

TEST(lifecycle_model, the_last_worker_sees_what_the_others_did) {
  check({.runs = 5'000}, [] {
    sync::var<int> mine{0};
    sync::var<int> others{0};
    lifecycle life(steady);
    require(life.add_worker() && life.add_worker(), "it runs");
    sync::thread worker([&] {
      others.write() = 1;
      if (life.remove_worker() == 0) require(mine.read() == 1, "seen with the number");
    });
    mine.write() = 1;
    if (life.remove_worker() == 0) require(others.read() == 1, "seen with the number");
    worker.join();
  });
}

// The worker may leave before the owner calls try_tidy(), or after.
TEST(lifecycle_model, who_tidies_sees_what_the_workers_did_and_is_one) {
  for (const life_state next : {life_state::shutdown, life_state::stop}) {
    check({.runs = 10'000}, [next] {
      sync::var<int> data{0};
      sync::atomic<int> ends{0};
      lifecycle life(steady);
      require(life.add_worker(), "it runs");
      const auto try_to_end = [&] {
        if (!life.try_tidy(true)) return;
        require(data.read() == 1, "what the worker did");
        ends.fetch_add(1);
        life.terminate();
      };
      sync::thread worker([&] {
        data.write() = 1;
        life.remove_worker();
        try_to_end();
      });
      life.advance_to(next);
      try_to_end();
      life.await(clock::time_point::max(), {});
      require(ends.load() == 1, "one end");
      worker.join();
    });
  }
}

TEST(lifecycle_model, a_transition_is_made_by_one) {
  check({.runs = 10'000}, [] {
    sync::atomic<int> made{0};
    lifecycle life(steady);
    sync::thread other([&] {
      if (life.advance_to(life_state::shutdown)) made.fetch_add(1);
      if (life.advance_to(life_state::stop)) made.fetch_add(10);
    });
    if (life.advance_to(life_state::shutdown)) made.fetch_add(1);
    if (life.advance_to(life_state::stop)) made.fetch_add(10);
    other.join();
    require(made.load() == 11, "each once");
    require(life.state() == life_state::stop, "the later one");
  });
}

// No worker is added after stop, and each one added is counted.
TEST(lifecycle_model, a_worker_comes_before_stop_or_not_at_all) {
  check({.runs = 10'000}, [] {
    lifecycle life(steady);
    bool came = false;
    sync::thread other([&] { came = life.add_worker(); });
    life.advance_to(life_state::stop);
    const std::size_t workers = life.workers();
    const bool tidied = life.try_tidy(true);
    other.join();
    require(workers == (came ? 1u : 0u), "no more and no less");
    require(tidied == !came, "only without one");
    require(life.workers() == workers, "and it stays so");
  });
}

}  // namespace

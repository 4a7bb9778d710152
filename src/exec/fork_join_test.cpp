#include <takt/exec/fork_join.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/task/errors.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using takt::fork_join;
using takt::stealing_pool;
using takt_test::expect_balance;
using takt_test::gate;

long sum(std::span<const int> numbers, stealing_pool& pool) {
  if (numbers.size() < 4) return std::accumulate(numbers.begin(), numbers.end(), 0L);
  const auto middle = numbers.size() / 2;
  long left = 0;
  fork_join children(pool);
  children.spawn([&] { left = sum(numbers.first(middle), pool); });
  const long right = sum(numbers.subspan(middle), pool);
  children.join();
  return left + right;
}

TEST(fork_join, adds_up_what_its_children_find) {
  std::vector<int> numbers(10'000);
  std::iota(numbers.begin(), numbers.end(), 1);
  for (const std::size_t threads : {1U, 2U, 4U}) {
    stealing_pool pool({.threads = threads});
    EXPECT_EQ(pool.submit([&] { return sum(numbers, pool); }).get(), 50'005'000);
    EXPECT_TRUE(pool.close(takt::drain));
    expect_balance(pool);
  }
}

TEST(fork_join, one_thread_runs_its_children_itself_newest_first) {
  std::vector<int> order;
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        fork_join children(pool);
        for (int i = 1; i <= 3; ++i) children.spawn([&order, i] { order.push_back(i); });
        children.join();
        order.push_back(0);
      })
      .get();
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1, 0}));
}

TEST(fork_join, many_children_are_run_at_once_where_there_is_no_room) {
  takt::sync::atomic<int> ran{0};
  stealing_pool pool({.threads = 2});
  pool.submit([&] {
        fork_join children(pool);
        for (int i = 0; i < 10'000; ++i) children.spawn([&] { ran.fetch_add(1); });
        children.join();
        EXPECT_EQ(ran.load(), 10'000);
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  expect_balance(pool);
  EXPECT_EQ(pool.totals().finished, 10'001u);
}

TEST(fork_join, can_be_used_again_after_join) {
  takt::sync::atomic<int> ran{0};
  stealing_pool pool({.threads = 2});
  pool.submit([&] {
        fork_join children(pool);
        for (int round = 1; round <= 50; ++round) {
          for (int i = 0; i < 3; ++i) children.spawn([&] { ran.fetch_add(1); });
          children.join();
          EXPECT_EQ(ran.load(), 3 * round);
        }
        children.join();  // none is left
      })
      .get();
}

TEST(fork_join, throws_what_a_child_has_thrown_when_all_have_ended) {
  takt::sync::atomic<int> ran{0};
  stealing_pool pool({.threads = 2});
  pool.submit([&] {
        fork_join children(pool);
        children.spawn([&] { ran.fetch_add(1); });
        children.spawn([&] {
          ran.fetch_add(1);
          throw std::runtime_error("a child's");
        });
        children.spawn([&] { ran.fetch_add(1); });
        EXPECT_THROW(children.join(), std::runtime_error);
        EXPECT_EQ(ran.load(), 3);
        EXPECT_NO_THROW(children.join()) << "it was thrown";
      })
      .get();
}

TEST(fork_join, destruction_waits_for_the_children) {
  stealing_pool pool({.threads = 2});
  for (int round = 0; round < 200; ++round) {
    pool.submit([&] {
          std::array<int, 3> written{};
          {
            fork_join children(pool);
            for (int& each : written) children.spawn([&each] { each = 1; });
          }
          EXPECT_EQ(written, (std::array<int, 3>{1, 1, 1}));
        })
        .get();
  }
}

TEST(fork_join, no_foreign_task_runs_on_top_of_one_that_waits) {
  bool waits = false;
  bool foreign_ran_within = false;
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        fork_join children(pool);
        children.spawn([] {});
        pool.execute([&] { foreign_ran_within = waits; });  // newer than the child
        waits = true;
        children.join();
        waits = false;
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_FALSE(foreign_ran_within);
  expect_balance(pool);
}

TEST(fork_join, a_child_that_is_taken_with_other_tasks_is_begun_first) {
  gate busy;
  gate go_on;
  gate taken;
  takt::sync::atomic<int> began{0};
  int first = 0;
  const auto begin = [&](int what) {
    if (began.fetch_add(1) != 0) return;
    first = what;
    taken.open();
  };
  stealing_pool pool({.threads = 2});
  pool.execute([&] {
    busy.open();
    go_on.wait();
  });
  busy.wait();
  pool.submit([&] {
        pool.execute([&] { begin(1); });  // the oldest
        fork_join children(pool);
        for (int i = 0; i < 4; ++i) children.spawn([&] { begin(2); });
        go_on.open();
        taken.wait();
        children.join();
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(first, 2) << "its parent waits for it";
  EXPECT_EQ(began.load(), 5);
}

TEST(fork_join, waits_for_a_child_that_another_thread_has_taken) {
  gate taken;
  gate go_on;
  stealing_pool pool({.threads = 2});
  pool.execute([&] {
    taken.wait();
    go_on.open();
  });
  pool.submit([&] {
        int result = 0;
        fork_join children(pool);
        children.spawn([&] {
          go_on.wait();
          result = 1;
        });
        taken.open();  // the other thread can take it
        children.join();
        EXPECT_EQ(result, 1);
      })
      .get();
}

TEST(fork_join, from_outside_of_the_pool_it_only_waits) {
  const auto here = takt::sync::this_thread_id();
  takt::sync::atomic<int> elsewhere{0};
  stealing_pool pool({.threads = 2});
  fork_join children(pool);
  for (int i = 0; i < 10; ++i) {
    children.spawn([&] { elsewhere.fetch_add(takt::sync::this_thread_id() != here ? 1 : 0); });
  }
  children.join();
  EXPECT_EQ(elsewhere.load(), 10);
}

TEST(fork_join, what_has_begun_comes_to_its_end_after_shutdown) {
  std::vector<int> numbers(1000, 1);
  for (const bool now : {false, true}) {
    stealing_pool pool({.threads = 2});
    gate started;
    gate go_on;
    auto f = pool.submit([&] {
      started.open();
      go_on.wait();
      return sum(numbers, pool);
    });
    started.wait();
    if (now) {
      EXPECT_TRUE(pool.shutdown_now().empty());
    } else {
      pool.shutdown();
    }
    go_on.open();
    EXPECT_EQ(f.get(), 1000);
    pool.await_termination();
    expect_balance(pool);
  }
}

TEST(fork_join, a_child_that_is_given_back_and_dropped_counts_as_abandoned) {
  gate spawned;
  gate dropped;
  stealing_pool pool({.threads = 1});
  auto f = pool.submit([&] {
    fork_join children(pool);
    children.spawn([] { FAIL() << "the pool has returned it"; });
    spawned.open();
    dropped.wait();
    EXPECT_THROW(children.join(), takt::broken_promise);
  });
  spawned.wait();
  EXPECT_EQ(pool.shutdown_now().size(), 1u);  // and destroys it
  dropped.open();
  f.get();
  pool.await_termination();
  expect_balance(pool);
}

TEST(fork_join, a_child_is_gone_before_its_parent_goes_on) {
  struct watched {
    explicit watched(int& n) : alive(&n) { ++*alive; }
    watched(watched&& other) noexcept : alive(other.alive) { ++*alive; }
    watched& operator=(watched&&) = delete;
    ~watched() { --*alive; }
    void operator()() const {}
    int* alive;
  };
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        int alive = 0;
        fork_join children(pool);
        children.spawn(watched(alive));
        EXPECT_EQ(alive, 1);
        children.join();
        EXPECT_EQ(alive, 0);
      })
      .get();
}

TEST(fork_join, refuses_an_empty_callable) {
  stealing_pool pool({.threads = 1});
  fork_join children(pool);
  EXPECT_THROW(children.spawn(std::function<void()>()), std::invalid_argument);
  children.join();
}

TEST(fork_join, two_of_one_task_may_end_in_any_order) {
  int ran = 0;
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        fork_join first(pool);
        first.spawn([&] { ++ran; });
        fork_join second(pool);
        first.join();
        second.spawn([&] { ++ran; });  // in the slot of the first one's child
        second.join();
        EXPECT_EQ(ran, 2);
      })
      .get();
}

// A child that spawns another one when it is copied.
struct spawns_when_copied {
  spawns_when_copied(fork_join& of, int& count) : others(of), ran(count) {}
  spawns_when_copied(const spawns_when_copied& from) : others(from.others), ran(from.ran) {
    others.spawn([&n = ran] { n += 100; });
  }
  spawns_when_copied(spawns_when_copied&& from) noexcept = default;
  void operator()() const { ++ran; }

  fork_join& others;
  int& ran;
};

TEST(fork_join, a_callable_that_spawns_when_it_is_copied_disturbs_nobody) {
  stealing_pool pool({.threads = 1});
  int ran = 0;
  pool.submit([&] {
        fork_join others(pool);
        fork_join children(pool);
        const spawns_when_copied child(others, ran);
        children.spawn(child);
        children.join();
        others.join();
      })
      .get();
  EXPECT_EQ(ran, 101);
  EXPECT_TRUE(pool.close(takt::drain));
  expect_balance(pool);
}

TEST(fork_join, a_callable_that_cannot_be_moved_leaves_no_child) {
  struct stubborn {
    stubborn() = default;
    stubborn(const stubborn&) = default;
    stubborn(stubborn&& /*other*/) noexcept(false) { throw std::runtime_error("by intent"); }
    stubborn& operator=(const stubborn&) = delete;
    ~stubborn() = default;
    void operator()() const {}
  };
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        fork_join children(pool);
        const stubborn f;
        EXPECT_THROW(children.spawn(f), std::runtime_error);
        children.join();
      })
      .get();
}

TEST(fork_join, a_child_that_is_refused_leaves_no_trace) {
  stealing_pool pool({.threads = 1});
  fork_join children(pool);
  pool.shutdown();
  EXPECT_EQ(takt_test::rejection_of([&] { children.spawn([] {}); }), takt::rejection::shut_down);
  children.join();
}

TEST(fork_join, a_child_that_is_refused_in_silence_counts_as_abandoned) {
  stealing_pool pool({.threads = 1, .rejection = takt::rejection_policy::drop()});
  fork_join children(pool);
  pool.shutdown();
  children.spawn([] {});
  EXPECT_THROW(children.join(), takt::broken_promise);
}

TEST(fork_join, an_error_that_nobody_asked_for_goes_to_the_hook) {
  const takt_test::recording_hook hook;
  stealing_pool pool({.threads = 1, .unhandled = &hook});
  pool.submit([&] {
        fork_join children(pool);
        children.spawn([] { throw std::runtime_error("lost"); });
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(hook.unobserved(), std::vector<std::string>{"lost"});
  EXPECT_TRUE(hook.uncaught().empty());
}

TEST(fork_join, another_thread_cannot_use_it) {
  stealing_pool pool({.threads = 1});
  fork_join children(pool);
  pool.submit([&] {
        EXPECT_THROW(children.spawn([] {}), std::logic_error);
        EXPECT_THROW(children.join(), std::logic_error);
      })
      .get();
}

}  // namespace

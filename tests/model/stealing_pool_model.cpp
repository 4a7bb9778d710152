// The stealing pool under all interleavings: local tasks are found by other workers, no wake-up is
// lost, and each task has exactly one outcome.
#include <array>
#include <system_error>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/fork_join.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/task/blocking_region.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using model::require;

TEST(stealing_pool_model, runs_what_comes_from_outside) {
  check({.runs = 5'000}, [] {
    runs ran{0};
    stealing_pool pool({.threads = 2});
    execute_from_two_threads(pool, ran);
    pool.close(drain);
    require(ran.load() == 2, "each once");
    balanced(pool);
  });
}

// The first task waits for a task that it has pushed to its thread's local queue: another worker
// must steal it, whether that worker is asleep, about to park, or busy at the moment.
TEST(stealing_pool_model, a_sleeper_is_called_for_what_a_busy_thread_has_for_itself) {
  check({.runs = 10'000}, [] {
    promise<void> p;
    auto f = p.get_future();
    stealing_pool pool({.threads = 2});
    pool.prestart();
    pool.execute([&] {
      pool.execute([&] { p.set_value(); });
      sync::thread outside([&] { f.wait(); });  // hides the wait from the pool
      outside.join();
    });
    f.wait();
    pool.close(drain);
    balanced(pool);
  });
}

// The same, with a worker that has not been started.
TEST(stealing_pool_model, a_thread_is_started_for_what_a_busy_thread_has_for_itself) {
  check({.runs = 10'000}, [] {
    promise<void> p;
    auto f = p.get_future();
    stealing_pool pool({.threads = 2});
    pool.execute([&] {
      pool.execute([&] { p.set_value(); });
      sync::thread outside([&] { f.wait(); });
      outside.join();
    });
    f.wait();
    pool.close(drain);
    balanced(pool);
  });
}

// Three workers are needed at once: the woken worker must wake the next.
TEST(stealing_pool_model, who_is_called_calls_the_next_one) {
  check({.runs = 10'000}, [] {
    std::array<promise<void>, 2> p;
    std::array<future<void>, 2> f{p[0].get_future(), p[1].get_future()};
    stealing_pool pool({.threads = 3});
    pool.prestart();
    pool.execute([&] {
      pool.execute([&] {  // stolen first, by a worker that is busy then
        sync::thread outside([&] { f[1].wait(); });
        outside.join();
        p[0].set_value();
      });
      pool.execute([&] { p[1].set_value(); });
      sync::thread outside([&] { f[0].wait(); });
      outside.join();
    });
    f[0].wait();
    pool.close(drain);
    balanced(pool);
  });
}

// A woken worker may find another task, or wake for another reason. Then its wake-up is used up:
// the next task still wakes a worker.
TEST(stealing_pool_model, a_call_is_used_up_by_who_finds_work_elsewhere) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    promise<void> p;
    auto f = p.get_future();
    stealing_pool pool({.threads = 2});
    pool.prestart();
    execute_from_two_threads(pool, ran);
    pool.execute([&] {
      pool.execute([&] { p.set_value(); });
      sync::thread outside([&] { f.wait(); });
      outside.join();
    });
    f.wait();
    pool.close(drain);
    require(ran.load() == 2, "each once");
    balanced(pool);
  });
}

TEST(stealing_pool_model, own_tasks_against_shutdown_now) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    runs refused{0};
    std::size_t given_back = 0;
    {
      stealing_pool pool({.threads = 1});
      pool.execute([&] {
        for (int i = 0; i < 2; ++i) {
          try {
            pool.execute([&] { ran.fetch_add(1); });
          } catch (const rejected&) {
            refused.fetch_add(1);
          }
        }
      });
      const task_list rest = pool.shutdown_now();
      given_back = rest.size();
      pool.await_termination();
      balanced(pool);
      if (pool.totals().submitted == 1) {
        require(given_back == 1 && ran.load() == 0, "the first one was returned");
        return;
      }
    }
    require(static_cast<std::size_t>(ran.load() + refused.load()) + given_back == 2,
            "each is run, returned or rejected");
  });
}

TEST(stealing_pool_model, own_tasks_against_shutdown) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    runs refused{0};
    stealing_pool pool({.threads = 2});
    pool.execute([&] {
      for (int i = 0; i < 2; ++i) {
        try {
          pool.execute([&] { ran.fetch_add(1); });
        } catch (const rejected&) {
          refused.fetch_add(1);
        }
      }
    });
    pool.close(drain);
    require(ran.load() + refused.load() == 2, "each is run or refused");
    balanced(pool);
  });
}

TEST(stealing_pool_model, destroyed_while_threads_have_tasks_for_themselves) {
  check({.runs = 10'000}, [] {
    future<void> own;
    {
      promise<void> begun;
      auto has_begun = begun.get_future();
      stealing_pool pool({.threads = 2});
      pool.execute([&] {
        try {
          own = pool.submit([] {});
        } catch (const rejected&) {
        }
        begun.set_value();
      });
      has_begun.wait();
    }
    if (!own.valid()) return;
    require(own.is_ready(), "it has an outcome");
    try {
      own.get();
    } catch (const cancelled&) {
    }
  });
}

TEST(stealing_pool_model, fork_join_waits_for_all_children) {
  check({.runs = 10'000}, [] {
    stealing_pool pool({.threads = 2});
    pool.submit([&] {
          std::array<sync::var<int>, 2> written;
          fork_join children(pool);
          children.spawn([&] { written[0].write() = 1; });
          children.spawn([&] { written[1].write() = 1; });
          children.join();
          require(written[0].read() + written[1].read() == 2, "both have ended");
        })
        .get();
    pool.close(drain);
    balanced(pool);
  });
}

// A stolen child does not stay in the thief's local queue behind a task that waits for the parent.
TEST(stealing_pool_model, a_child_that_is_taken_is_begun_at_once) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    stealing_pool pool({.threads = 2});
    promise<void> p;
    auto joined = p.get_future();
    pool.execute([&] {
      pool.execute([&] { joined.wait(); });
      fork_join children(pool);
      for (int i = 0; i < 2; ++i) children.spawn([&] { ran.fetch_add(1); });
      children.join();
      require(ran.load() == 2, "each once");
      p.set_value();
    });
    joined.wait();
    pool.close(drain);
    balanced(pool);
  });
}

TEST(stealing_pool_model, fork_join_nested) {
  check({.runs = 5'000}, [] {
    stealing_pool pool({.threads = 2});
    pool.submit([&] {
          sync::var<int> inner;
          sync::var<int> outer;
          fork_join children(pool);
          children.spawn([&] {
            fork_join more(pool);
            more.spawn([&] { inner.write() = 1; });
            more.join();
            require(inner.read() == 1, "the grandchild has ended");
            outer.write() = 1;
          });
          children.join();
          require(outer.read() == 1, "the child has ended");
        })
        .get();
    pool.close(drain);
  });
}

TEST(stealing_pool_model, fork_join_from_outside_and_again) {
  check({.runs = 5'000}, [] {
    stealing_pool pool({.threads = 2});
    sync::var<int> written;
    fork_join children(pool);
    for (int round = 1; round <= 2; ++round) {
      children.spawn([&] { ++written.write(); });
      children.join();
      require(written.read() == round, "it has ended");
    }
  });
}

// Tasks that a thief has moved to its local queue, but not begun, are found as well.
TEST(stealing_pool_model, shutdown_now_against_a_thief) {
  check({.runs = 30'000}, [] {
    stealing_pool pool({.threads = 2});
    pool.prestart();
    pool.execute([&] {
      for (int i = 0; i < 4; ++i) {
        try {
          pool.execute([] {});
        } catch (const rejected&) {
        }
      }
    });
    static_cast<void>(pool.shutdown_now());
    pool.await_termination();
    balanced(pool);
  });
}

// Tasks that join() moves to the shared queue have an outcome as well.
TEST(stealing_pool_model, shutdown_now_against_join) {
  check({.runs = 20'000}, [] {
    stealing_pool pool({.threads = 1});
    pool.execute([&] {
      fork_join children(pool);
      children.spawn([] {});
      try {
        pool.execute([] {});
      } catch (const rejected&) {
      }
      try {
        children.join();
      } catch (const broken_promise&) {
      }
    });
    {
      const task_list rest = pool.shutdown_now();
    }
    pool.await_termination();
    balanced(pool);
  });
}

// The worker that has ended the last child must not find a deadlock because the parent has not
// called end_wait() yet.
TEST(stealing_pool_model, a_parent_that_can_go_on_is_not_stuck) {
  check({.runs = 30'000}, [] {
    stealing_pool pool({.threads = 2});
    pool.prestart();
    auto parent = pool.submit([&] {
      fork_join children(pool);
      children.spawn([] {});
      children.join();
    });
    auto waits = pool.submit([&] {
      auto f = pool.submit([] {});
      f.wait();
    });
    parent.get();
    waits.get();  // throws if a deadlock was found
    pool.close(drain);
  });
}

// A surplus worker, after a blocking_region, does not leave while all others wait for a task in a
// local queue.
TEST(stealing_pool_model, one_too_many_stays_for_what_others_wait_for) {
  check({.runs = 20'000}, [] {
    promise<void> p;
    auto begun = p.get_future();
    stealing_pool pool({.threads = 1});
    auto waits = pool.submit([&] {
      pool.execute([&] { p.set_value(); });
      {
        const blocking_region waiting;
        begun.wait();
      }
      auto own = pool.submit([] {});
      try {
        own.wait();
      } catch (const std::system_error&) {  // the other worker had left
      }
    });
    waits.get();
    pool.close(drain);
    balanced(pool);
  });
}

// The last child to end publishes what the others did.
TEST(stealing_pool_model, fork_join_sees_what_children_on_two_threads_did) {
  check({.runs = 20'000}, [] {
    stealing_pool pool({.threads = 2});
    std::array<sync::var<int>, 2> written;
    fork_join children(pool);
    children.spawn([&] { written[0].write() = 1; });
    children.spawn([&] { written[1].write() = 1; });
    children.join();
    require(written[0].read() + written[1].read() == 2, "both have ended");
  });
}

// A worker takes no more tasks out of the shared queue than its local queue has room for.
TEST(stealing_pool_model, a_share_has_room) {
  check({.runs = 2'000}, [] {
    runs ran{0};
    stealing_pool pool({.threads = 1});
    for (int i = 0; i < 7; ++i) pool.execute([&] { ran.fetch_add(1); });
    pool.close(drain);
    require(ran.load() == 7, "each once");
    balanced(pool);
  });
}

// A worker moves its share of the shared queue to its local queue, while another one steals there:
// the stolen tasks happen after what the producer did.
TEST(stealing_pool_model, what_is_stolen_of_a_share_is_complete) {
  check({.runs = 10'000}, [] {
    sync::var<int> made(0);
    stealing_pool pool({.threads = 2});
    pool.execute([] {});
    pool.execute([] {});
    made.write() = 1;
    for (int i = 0; i < 4; ++i) {
      pool.execute([&] { require(made.read() == 1, "the task is complete"); });
    }
    pool.close(drain);
    balanced(pool);
  });
}

}  // namespace

#include <takt/exec/stealing_pool.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/blocking_region.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::rejection;
using takt::rejection_policy;
using takt::stealing_pool;
using takt::task;
using takt_test::expect_balance;
using takt_test::finds_deadlock;
using takt_test::gate;
using takt_test::rejection_of;
using takt_test::tally;

static_assert(takt::executor<stealing_pool>);
static_assert(!takt::is_serial_executor<stealing_pool>);
static_assert(!takt::is_fifo_executor<stealing_pool>);

TEST(stealing_pool, runs_what_comes_from_outside) {
  tally ran;
  stealing_pool pool({.threads = 2});
  for (int i = 0; i < 1000; ++i) pool.execute([&] { ran.add(); });
  EXPECT_EQ(pool.submit([] { return 42; }).get(), 42);
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(ran.count(), 1000u);
  expect_balance(pool);
  EXPECT_EQ(pool.totals().finished, 1001u);
}

TEST(stealing_pool, rejects_bad_options_by_name) {
  const auto message = [](stealing_pool::options_type how) -> std::string {
    try {
      const stealing_pool pool(std::move(how));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({.threads = 0}), "takt::stealing_pool: threads is 0");
  EXPECT_EQ(message({.time = nullptr}), "takt::stealing_pool: time is null");
  EXPECT_EQ(message({.unhandled = nullptr}), "takt::stealing_pool: unhandled is null");
  stealing_pool pool({.threads = 1});
  EXPECT_THROW(pool.execute(task()), std::invalid_argument);
  EXPECT_THROW(pool.execute(std::function<void()>()), std::invalid_argument);
}

TEST(stealing_pool, a_thread_runs_what_it_submitted_last_first) {
  std::vector<int> order;
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        for (int i = 1; i <= 3; ++i) pool.execute([&order, i] { order.push_back(i); });
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1}));
}

TEST(stealing_pool, others_take_what_has_waited_longest) {
  gate go_on;
  gate stolen;
  takt::sync::atomic<int> first{0};
  stealing_pool pool({.threads = 2});
  pool.submit([&] {
        for (int i = 1; i <= 3; ++i) {
          pool.execute([&, i] {
            int none = 0;
            if (first.compare_exchange_strong(none, i)) stolen.open();
            go_on.wait();
          });
        }
        stolen.wait();  // this thread is busy: another one runs it
        go_on.open();
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(first.load(), 1);
}

TEST(stealing_pool, what_comes_from_outside_is_not_starved_by_own_tasks) {
  takt::sync::atomic<bool> stop{false};
  gate begun;
  stealing_pool pool({.threads = 1});
  struct endless {
    stealing_pool& pool;
    takt::sync::atomic<bool>& stop;
    void operator()() const {
      if (!stop.load()) pool.execute(endless{pool, stop});
    }
  };
  pool.execute([&] {
    begun.open();
    pool.execute(endless{pool, stop});
  });
  begun.wait();
  pool.submit([&] { stop.store(true); }).get();
  EXPECT_TRUE(pool.close(takt::drain));
  expect_balance(pool);
}

TEST(stealing_pool, what_waits_at_the_other_end_of_a_thread_is_not_starved_by_newer_tasks) {
  takt::sync::atomic<bool> stop{false};
  stealing_pool pool({.threads = 1});
  struct endless {
    stealing_pool& pool;
    takt::sync::atomic<bool>& stop;
    void operator()() const {
      if (!stop.load()) pool.execute(endless{pool, stop});
    }
  };
  gate done;
  pool.execute([&] {
    pool.execute([&] {
      stop.store(true);
      done.open();
    });
    pool.execute(endless{pool, stop});
  });
  done.wait();
  EXPECT_TRUE(pool.close(takt::drain));
  expect_balance(pool);
}

TEST(stealing_pool, more_than_a_thread_has_room_for_goes_to_the_common_queue) {
  tally ran;
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        for (int i = 0; i < 5000; ++i) pool.execute([&] { ran.add(); });
        EXPECT_EQ(pool.statistics().queued, 5000u);
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(ran.count(), 5000u);
  expect_balance(pool);
}

TEST(stealing_pool, ids_are_unique) {
  class ids final : public takt::task_observer {
   public:
    void on_event(const takt::task_event& e) noexcept override {
      if (e.what != takt::task_event::kind::submitted) return;
      const takt::detail::mutex_lock lock(mu_);
      again_ += seen_.insert(e.id).second ? 0 : 1;
    }
    [[nodiscard]] std::size_t count() {
      const takt::detail::mutex_lock lock(mu_);
      EXPECT_EQ(again_, 0);
      return seen_.size();
    }

   private:
    takt::detail::mutex mu_;
    std::set<std::uint64_t> seen_ TAKT_GUARDED_BY(mu_);
    int again_ TAKT_GUARDED_BY(mu_) = 0;
  };
  ids observed;
  {
    stealing_pool pool({.threads = 3, .observer = &observed});
    for (int i = 0; i < 100; ++i) {
      pool.submit([&pool] {
            for (int k = 0; k < 10; ++k) pool.execute([] {});
          })
          .get();
    }
    EXPECT_TRUE(pool.close(takt::drain));
  }
  EXPECT_EQ(observed.count(), 1100u);
}

// --- shutdown

// A pool whose only thread has ten local tasks, and is held.
struct held_pool {
  held_pool() {
    pool.execute([&] {
      for (int i = 0; i < 10; ++i) pool.execute([&] { ran.add(); });
      queued.open();
      go_on.wait();
      EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::shut_down);
    });
    queued.wait();
  }
  // After shutdown.
  void release() {
    EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::shut_down);
    go_on.open();
    pool.await_termination();
  }
  tally ran;
  gate queued;
  gate go_on;
  stealing_pool pool{{.threads = 1}};
};

TEST(stealing_pool, shutdown_runs_what_threads_have_for_themselves) {
  held_pool held;
  held.pool.shutdown();
  held.release();
  EXPECT_EQ(held.ran.count(), 10u);
  expect_balance(held.pool);
}

TEST(stealing_pool, shutdown_now_gives_back_what_threads_have_for_themselves) {
  held_pool held;
  held.pool.execute([&] { held.ran.add(); });
  takt::task_list rest = held.pool.shutdown_now();
  EXPECT_EQ(rest.size(), 11u);
  held.release();
  EXPECT_EQ(held.ran.count(), 0u);
  for (task& t : rest) t.run();
  EXPECT_EQ(held.ran.count(), 11u);
  EXPECT_EQ(held.pool.totals().returned, 11u);
  expect_balance(held.pool);
}

TEST(stealing_pool, destruction_cancels_what_threads_have_for_themselves) {
  gate queued;
  takt::future<void> own;
  takt::future<void> running;
  {
    stealing_pool pool({.threads = 1});
    running = pool.submit([&](const takt::sync::stop_token& stop) {
      own = pool.submit([] {});
      queued.open();
      takt_test::until_stopped(stop);
    });
    queued.wait();
  }
  EXPECT_THROW(own.get(), takt::cancelled);
  EXPECT_NO_THROW(running.get()) << "it has stopped on request";
}

TEST(stealing_pool, may_be_destroyed_by_its_own_task) {
  tally ran;
  gate gone;
  {
    auto pool = std::make_shared<stealing_pool>(stealing_pool::options_type{
        .threads = 2,
        .terminated = [last = std::shared_ptr<void>(nullptr, [&](void*) { gone.open(); })] {}});
    stealing_pool& same = *pool;
    same.execute([&ran, own = std::move(pool)]() mutable {
      own->execute([&ran] { ran.add(); });
      own.reset();
    });
  }
  gone.wait();
  EXPECT_LE(ran.count(), 1u);
}

TEST(stealing_pool, may_be_destroyed_by_what_its_own_task_cancels) {
  gate gone;
  {
    auto pool = std::make_shared<stealing_pool>(stealing_pool::options_type{
        .threads = 1,
        .terminated = [last = std::shared_ptr<void>(nullptr, [&](void*) { gone.open(); })] {}});
    stealing_pool& same = *pool;
    gate all_queued;
    gate begun;
    same.execute([&] {
      begun.open();
      all_queued.wait();
      same.shutdown_and_cancel();
    });
    begun.wait();
    same.execute([own = std::move(pool)] {});
    all_queued.open();
    gone.wait();
  }
}

// --- shared with thread_pool

TEST(stealing_pool, bounds_what_waits_from_outside) {
  gate go_on;
  stealing_pool pool({.threads = 1, .queue_capacity = 1});
  tally begun;
  pool.execute([&] {
    begun.add();
    go_on.wait();
  });
  begun.wait_for(1);
  pool.execute([] {});
  EXPECT_EQ(rejection_of([&] { pool.execute([] {}); }), rejection::saturated);
  go_on.open();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(pool.totals().rejected, 1u);
  expect_balance(pool);
}

TEST(stealing_pool, blocks_for_room) {
  tally ran;
  stealing_pool pool({.threads = 2, .queue_capacity = 1, .rejection = rejection_policy::wait()});
  for (int i = 0; i < 500; ++i) pool.execute([&] { ran.add(); });
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(ran.count(), 500u);
}

TEST(stealing_pool, has_hooks_and_names) {
  tally before;
  tally after;
  tally terminated;
  tally failed;
  takt_test::recording_hook hook;
  stealing_pool pool({.threads = 2,
                      .name = "thief",
                      .before =
                          [&](const task& t) {
                            before.add();
                            EXPECT_EQ(t.name(), "named");
                          },
                      .after =
                          [&](const task&, const std::exception_ptr& e) {
                            after.add();
                            if (e != nullptr) failed.add();
                          },
                      .terminated = [&] { terminated.add(); },
                      .unhandled = &hook});
  pool.submit(
          [&pool] {
            pool.execute(task([] { throw std::runtime_error("by intent"); }, {.name = "named"}));
          },
          {.name = "named"})
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(before.count(), 2u);
  EXPECT_EQ(after.count(), 2u);
  EXPECT_EQ(failed.count(), 1u);
  EXPECT_EQ(terminated.count(), 1u);
  EXPECT_EQ(hook.uncaught(), std::vector<std::string>{"by intent"});
}

TEST(stealing_pool, observes_and_counts_own_tasks) {
  takt::task_statistics observed;
  stealing_pool pool({.threads = 2, .observer = &observed});
  pool.submit([&] {
        for (int i = 0; i < 20; ++i) pool.execute([] {});
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(observed.totals().submitted, 21u);
  EXPECT_EQ(observed.totals().finished, 21u);
  EXPECT_EQ(pool.totals().submitted, 21u);
  EXPECT_EQ(pool.totals().started, 21u);
  expect_balance(pool);
}

TEST(stealing_pool, finds_out_who_waits_for_what_nobody_is_left_to_run) {
  stealing_pool pool({.threads = 1});
  EXPECT_TRUE(pool.submit([&] {
                    takt::future<void> f = pool.submit([] {});
                    return finds_deadlock([&] { f.wait(); });
                  })
                  .get());
  EXPECT_TRUE(pool.submit([&] { return finds_deadlock([&] { pool.close(takt::drain); }); }).get());
}

TEST(stealing_pool, a_blocking_region_lets_another_thread_do_the_own_tasks) {
  gate done;
  stealing_pool pool({.threads = 1});
  pool.submit([&] {
        pool.execute([&] { done.open(); });
        const takt::blocking_region waiting;
        done.wait();
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
}

TEST(stealing_pool, carries_strands_and_any_executor) {
  std::vector<int> order;
  stealing_pool pool({.threads = 2});
  {
    takt::serial_executor strand(pool);
    for (int i = 0; i < 100; ++i) strand.execute([&order, i] { order.push_back(i); });
    EXPECT_TRUE(strand.close(takt::drain));
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  takt::any_executor any(pool);
  EXPECT_EQ(takt::submit(any, [] { return 7; }).get(), 7);
}

TEST(stealing_pool, an_idle_pool_has_all_its_threads_asleep) {
  takt::manual_clock time;
  stealing_pool pool({.threads = 2, .time = &time});
  EXPECT_EQ(pool.prestart(), 2u);
  pool.submit([&] { pool.execute([] {}); }).get();
  time.wait_for_waiters(2);
  EXPECT_FALSE(time.advance_to_next()) << "no thread waits for a deadline";
}

TEST(stealing_pool, an_observer_may_submit_where_one_has_room) {
  class eager final : public takt::task_observer {
   public:
    void on_event(const takt::task_event& e) noexcept override {
      if (e.what != takt::task_event::kind::submitted || e.name != "outer") return;
      pool->execute([this] { ran.add(); });
    }
    stealing_pool* pool = nullptr;
    tally ran;
  };
  eager observer;
  stealing_pool pool({.threads = 1, .observer = &observer});
  observer.pool = &pool;
  pool.submit([&] {
        for (int i = 0; i < 255; ++i) pool.execute([&] { observer.ran.add(); });
        for (int i = 0; i < 45; ++i) {
          pool.execute(task([&] { observer.ran.add(); }, {.name = "outer"}));
        }
      })
      .get();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_EQ(observer.ran.count(), 345u);
  expect_balance(pool);
}

TEST(stealing_pool, a_blocking_region_lets_another_thread_do_what_a_third_one_has) {
  gate has;
  gate done;
  gate blocked;
  stealing_pool pool({.threads = 2});
  auto blocks = pool.submit([&] {
    has.wait();
    const takt::blocking_region waiting;
    blocked.open();
    done.wait();
  });
  auto busy = pool.submit([&] {
    pool.execute([&] { done.open(); });
    has.open();
    done.wait();
  });
  blocks.get();
  busy.get();
}

TEST(stealing_pool, what_a_thread_has_had_for_long_is_run_though_others_come_from_outside) {
  int again = 0;
  int before = -1;  // the oldest
  gate begun;
  gate queued;
  gate done;
  stealing_pool pool({.threads = 1});
  std::function<void()> repeat = [&] {
    if (before < 0 && ++again < 10'000) pool.execute([&] { repeat(); });  // the newest
  };
  pool.execute([&] {
    begun.open();
    queued.wait();
    pool.execute([&] {
      before = again;
      done.open();
    });
    repeat();
  });
  begun.wait();  // its local queue is empty
  for (int i = 0; i < 1000; ++i) pool.execute([] {});
  queued.open();
  done.wait();
  EXPECT_TRUE(pool.close(takt::drain));
  EXPECT_GE(before, 0);
  EXPECT_LE(before, 200);
}

}  // namespace

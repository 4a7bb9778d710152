// Randomised lifecycles of pools: all operations at once, with every closure accounted for.
//
// Each round has a seed, which determines its options and the actions of its threads, but not how
// the threads interleave. TAKT_STRESS_SEED repeats a seed that was printed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/exec/fork_join.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/blocking_region.hpp>

#include "../support/pools.hpp"
#include "parts.hpp"
#include "rounds.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::task_list;
using takt::sync::stop_token;
using namespace takt_test;

template <class Pool>
class round_of {
  static constexpr bool steals = std::is_same_v<Pool, takt::stealing_pool>;

 public:
  explicit round_of(std::uint64_t seed) : random_(seed) {}

  void run() {
    given_away_ = random_.chance(6);
    // A returned task may be the one that destroys the pool; the destructor would then wait forever
    // for tasks that wait for other returned tasks.
    gives_back_ = !given_away_ || random_.chance(2);
    waits_ = !given_away_ || !gives_back_;
    auto pool = std::make_shared<Pool>(options());
    pool_ = pool.get();
    std::vector<takt::sync::thread> producers;
    const std::size_t threads = 1 + random_.pick(3);
    for (std::size_t i = 0; i < threads; ++i) {
      producers.emplace_back([this, pool, d = random_.another()] { produce(d); });
    }
    if (given_away_ && random_.chance(2)) give_away(std::move(pool));
    for (auto& t : producers) t.join();
    producers.clear();
    if (pool != nullptr && given_away_) give_away(std::move(pool));
    if (pool != nullptr) end(std::move(pool));
    gone_.wait();
  }

  // Called after the end of the round.
  void check() {
    takt::detail::mutex_lock lock(mu_);
    if (observes_) account_.check(observed_.totals());
    EXPECT_EQ(terminated_.load(), 1);
    for (const record& r : records_) {
      EXPECT_LE(r.runs.load(), 1);
      EXPECT_EQ(r.alive.load(), 0);
    }
    for (auto& [f, r] : futures_) {
      ASSERT_TRUE(f.is_ready());
      bool has_value = false;
      try {
        f.get();
        has_value = true;
      } catch (const takt::rejected&) {
        EXPECT_EQ(r->runs.load(), 0);
      } catch (const takt::broken_promise&) {
        EXPECT_EQ(r->runs.load(), 0);
      } catch (const std::runtime_error&) {
        has_value = true;
      } catch (const takt::cancelled&) {
      }
      EXPECT_TRUE(!has_value || r->runs.load() == 1);
    }
  }

 private:
  // The executor below the strands: the pool, with accounting.
  struct carrier {
    round_of& round;
    void execute(task t) {
      record& r = round.new_record(round.account_);
      round.pool_->execute([self = token(r), t = std::move(t)]() mutable {
        self.run();
        t.run();
      });
    }
  };

  // Used only by the tasks of a strand, sequentially.
  struct in_order {
    bool busy = false;
    int last = -1;
  };

  // --- the pool

  typename Pool::options_type options() {
    typename Pool::options_type how;
    auto order = takt::queue_order::fifo;
    bounded_ = random_.chance(2);
    const auto may_start = [rarely = random_.chance(4), count = 0u]() mutable {
      return !rarely || ++count % 3 != 0;
    };
    if constexpr (steals) {
      how.threads = 1 + random_.pick(4);
      how.thread.may_start = may_start;
    } else {
      if (random_.chance(4)) order = takt::queue_order::priority;
      how.core_threads = random_.pick(4);
      how.max_threads =
          how.core_threads + (how.core_threads == 0 ? 1 : 0) + (bounded_ ? random_.pick(3) : 0);
      how.keep_alive = keep_alive(random_);
      how.core_times_out = random_.chance(3);
      how.order = order;
      how.thread.may_start = may_start;
    }
    how.queue_capacity = bounded_ ? random_.pick(5) : takt::unbounded;
    how.rejection = policy(order);
    how.terminated = [this, last = witness()] { ++terminated_; };
    how.unhandled = &hook_;
    observes_ = random_.chance(2);
    if (observes_) how.observer = &observed_;
    return how;
  }

  static std::chrono::nanoseconds keep_alive(dice& d) {
    return d.chance(2) ? std::chrono::nanoseconds(1us) : std::chrono::nanoseconds(1min);
  }

  // Opens the gate when the pool is destroyed, by any thread.
  std::shared_ptr<void> witness() {
    return {nullptr, [this](void*) { gone_.open(); }};
  }

  rejection_policy policy(takt::queue_order order) {
    // The last three run or drop tasks within execute(). If a pool is owned by its tasks, such a
    // task may destroy the pool during the call of execute().
    switch (random_.pick(given_away_ ? 4 : 7)) {
      case 0:
        return rejection_policy::drop();
      case 1:
        return rejection_policy::wait();
      case 2:
        return rejection_policy::wait(100us);
      case 4:
        return rejection_policy::caller_runs();
      case 5:
        if (order == takt::queue_order::priority) return rejection_policy::drop();
        return rejection_policy::drop_oldest();
      case 6:
        return rejection_policy::call([this](task t, rejection) { outside(t, account_); });
      default:
        return rejection_policy::fail();
    }
  }

  // The last owner destroys the pool: a task, or a thread that drops the task.
  void give_away(std::shared_ptr<Pool> pool) {
    record& r = new_record(account_);
    static_cast<void>(takt_test::rejection_of([&] {
      pool->execute([own = pool, self = token(r)]() mutable {
        self.run();
        own.reset();
      });
    }));
  }

  void end(std::shared_ptr<Pool> pool) {
    const std::shared_ptr<Pool> last = std::move(pool);  // destroyed here
    switch (random_.pick(5)) {
      case 0:
        last->close(takt::drain);
        break;
      case 1:
        last->close(takt::cancel_pending);
        break;
      case 2:
        give_up(last->shutdown_now());
        last->await_termination();
        break;
      case 3:
        last->shutdown();
        last->shutdown_and_cancel();
        last->await_termination();
        break;
      default:
        return;
    }
    takt_test::expect_balance(*last);
    account_.check(last->totals());
  }

  // --- tasks

  record& new_record(account& of) {
    ++of.calls;
    const takt::detail::mutex_lock lock(mu_);
    return records_.emplace_back(of);
  }

  // Runs or drops a task that its executor has released.
  static void outside(task& t, account& of) {
    if (t.id() % 2 == 0) return;
    bool cancelled = false;
    try {
      cancelled = t.run() == takt::task_outcome::cancelled;
    } catch (const std::runtime_error&) {
    }
    ++(cancelled ? of.outside_cancelled : of.outside);
  }

  void give_up(task_list rest) {
    if (!waits_) return;
    for (task& t : rest) outside(t, account_);
  }

  // Counts its run, and sometimes uses the pool.
  void body(const token& self, plan p) {
    self.run();
    dice& d = p.random;
    if (d.chance(16)) throw std::runtime_error("by chance");
    if (p.depth == 0) return;
    switch (d.pick(20)) {
      case 0:
      case 1:
        for (std::size_t i = d.pick(d.chance(16) ? 300 : 4); i != 0; --i) execute(p.next());
        break;
      case 2:
      case 3:
        submit(*pool_, account_, p.next());
        break;
      case 4:
        if (waits_ && p.may_wait) wait_for_another(p.next());
        break;
      case 5: {
        const takt::blocking_region here;
        takt::sync::yield();
        break;
      }
      case 6:
      case 7:
        if (waits_) fork(p);
        break;
      case 8:
        if (waits_) use_strand_within(p);
        break;
      case 9:
        if (d.chance(3)) pool_->shutdown();
        break;
      case 10:
        if (gives_back_ && d.chance(3)) give_up(pool_->shutdown_now());
        break;
      default:
        break;
    }
  }

  void execute(plan p) {
    record& r = new_record(account_);
    const auto priority = static_cast<std::int16_t>(p.random.pick(3));
    try {
      pool_->execute(task([this, self = token(r), p] { body(self, p); }, {.priority = priority}));
    } catch (const takt::rejected&) {
    }
  }

  template <class Executor>
  void submit(Executor& where, account& of, plan p) {
    record& r = new_record(of);
    try {
      future<void> f =
          p.random.chance(2)
              ? where.submit([this, self = token(r), p] { body(self, p); })
              : where.submit([this, self = token(r), p](const stop_token&) { body(self, p); });
      if (p.random.chance(5)) f.cancel();
      const takt::detail::mutex_lock lock(mu_);
      futures_.emplace_back(std::move(f), &r);
    } catch (const takt::rejected&) {
    }
  }

  // Called within a task: the wait ends, or is detected as a deadlock.
  void wait_for_another(plan p) {
    record& r = new_record(account_);
    try {
      future<void> f = pool_->submit([this, self = token(r), p] { body(self, p); });
      f.wait();
    } catch (const takt::rejected&) {
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
    }
  }

  // Splits into children, in a task or outside; then checks that all of them have ended.
  void fork(plan p) {
    if constexpr (steals) {
      p.may_wait = false;
      dice& d = p.random;
      std::vector<const record*> parts;
      bool all_ran = false;
      try {
        takt::fork_join children(*pool_);
        for (std::size_t i = 1 + d.pick(d.chance(16) ? 300 : 4); i != 0; --i) {
          record& r = new_record(account_);
          parts.push_back(&r);
          children.spawn([this, self = token(r), q = p.next()] { body(self, q); });
          if (d.chance(4)) execute(p.next());  // newer than the child
        }
        if (d.chance(4)) throw std::runtime_error("with children");
        children.join();
        all_ran = true;
      } catch (const takt::rejected&) {
      } catch (const takt::broken_promise&) {
      } catch (const std::runtime_error&) {
      }
      for (const record* r : parts) {
        EXPECT_EQ(r->alive.load(), 0);
        EXPECT_TRUE(!all_ran || r->runs.load() == 1);
      }
    }
  }

  // --- strands

  // Called within a task: tasks of this strand do not wait, so that it can wait for them.
  void use_strand_within(plan p) {
    account of;
    takt::serial_executor strand(carrier_, {.unhandled = &hook_});
    p.depth = 1;
    for (std::size_t i = p.random.pick(4); i != 0; --i) submit(strand, of, p.next());
    strand.close(takt::cancel_pending);
    of.check(strand.totals());
  }

  void live_with_strand(plan p) {
    dice& d = p.random;
    account of;
    in_order order;
    takt::task_statistics observed;
    const bool observes = d.chance(2);
    {
      takt::serial_executor strand(carrier_,
                                   {.batch = d.chance(2) ? 1 + d.pick(3) : takt::unbounded,
                                    .unhandled = &hook_,
                                    .observer = observes ? &observed : nullptr});
      const int tasks = static_cast<int>(d.pick(12));
      for (int i = 0; i < tasks; ++i) {
        if (d.chance(3)) {
          submit(strand, of, p.next());
        } else {
          record& r = new_record(of);
          static_cast<void>(takt_test::rejection_of([&] {
            strand.execute(
                [this, &strand, &of, &order, self = token(r), q = p.next(), i]() mutable {
                  EXPECT_FALSE(std::exchange(order.busy, true));
                  EXPECT_LT(std::exchange(order.last, i), i);
                  const std::shared_ptr<void> leave(nullptr, [&](void*) { order.busy = false; });
                  if (q.random.chance(3)) submit(strand, of, q.next());
                  body(self, q);
                });
          }));
        }
      }
      end_strand(strand, of, d);
    }
    if (observes) of.check(observed.totals());
  }

  static void end_strand(takt::serial_executor& strand, account& of, dice& d) {
    switch (d.pick(4)) {
      case 0:
        strand.close(takt::drain);
        break;
      case 1:
        strand.close(takt::cancel_pending);
        break;
      case 2: {
        task_list rest = strand.shutdown_now();
        strand.await_termination();
        for (task& t : rest) outside(t, of);
        break;
      }
      default:
        return;
    }
    of.check(strand.totals());
  }

  // --- producers

  void produce(dice d) {
    const std::size_t steps = 1 + d.pick(40);
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t what = d.pick(72);
      plan p{d.another(), 4, true};
      if (what < 24) {
        execute(p);
      } else if (what < 44) {
        submit(*pool_, account_, p);
      } else if (what < 48) {
        cancel_one(d.roll());
      } else if (what < 50) {
        pool_->prestart(d.pick(3));
      } else if (what < 59) {
        change(what, d);
      } else if (what < 61) {
        const auto s = pool_->statistics();
        EXPECT_LE(s.active, s.threads);
        EXPECT_LE(s.threads, s.largest);
        const takt::task_totals tasks = pool_->totals();
        EXPECT_LE(tasks.pending(), tasks.submitted);
      } else if (what < 62 && i > steps / 2) {
        pool_->shutdown();
      } else if (what < 63 && i > steps / 2) {
        if (gives_back_) give_up(pool_->shutdown_now());
      } else if (what < 66) {
        live_with_strand(p);
      } else if (what < 67) {
        fork(p);
      } else {
        takt::sync::yield();
      }
    }
  }

  // Operations that only a thread_pool has.
  void change(std::size_t what, dice& d) {
    if constexpr (!steals) {
      if (what < 53) {
        const std::size_t core = d.pick(4);
        pool_->resize(core, std::max<std::size_t>(1, core + (bounded_ ? d.pick(3) : 0)));
      } else if (what < 55) {
        pool_->set_keep_alive(keep_alive(d), d.chance(2));
      } else if (what < 57) {
        pool_->purge();
      } else {
        remove_one(d.roll());
      }
    }
  }

  void cancel_one(std::uint64_t which) {
    const takt::detail::mutex_lock lock(mu_);
    if (!futures_.empty()) futures_[which % futures_.size()].first.cancel();
  }

  void remove_one(std::uint64_t which) {
    task taken;
    {
      const takt::detail::mutex_lock lock(mu_);
      if (futures_.empty()) return;
      taken = pool_->remove(futures_[which % futures_.size()].first);
    }
    if (taken) outside(taken, account_);
  }

  dice random_;
  carrier carrier_{*this};
  takt_test::recording_hook hook_;
  takt::task_statistics observed_;
  gate gone_;
  takt::sync::atomic<int> terminated_{0};
  account account_;  // the pool's

  // Constant while the pool exists.
  Pool* pool_ = nullptr;
  bool observes_ = false;
  bool bounded_ = false;  // the queue is bounded
  bool given_away_ = false;
  bool gives_back_ = false;
  bool waits_ = false;

  takt::detail::mutex mu_;
  std::deque<record> records_ TAKT_GUARDED_BY(mu_);
  std::vector<std::pair<future<void>, record*>> futures_ TAKT_GUARDED_BY(mu_);
};

TEST(thread_pool, accounts_for_every_task_of_random_lives) { live<round_of<takt::thread_pool>>(); }
TEST(stealing_pool, accounts_for_every_task_of_random_lives) {
  live<round_of<takt::stealing_pool>>();
}

}  // namespace

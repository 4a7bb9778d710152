// Random lives of pools: everything at once, and every task accounted for.
//
// Each round has a seed, from which its options and what its threads do follow; how these
// interleave does not. TAKT_STRESS_SEED repeats from a seed that was printed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/mutex.hpp>
#include <takt/base/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task_runner.hpp>

#include "../support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::future;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::task_list;
using takt::thread_pool;
using takt::sync::stop_token;
using takt_test::gate;

constexpr int most_rounds = 4000;
constexpr auto most_time = 6s;

// What became of one closure.
struct record {
  takt::sync::atomic<int> runs{0};
  takt::sync::atomic<int> alive{0};
};

// In a closure: counts how many of it there are.
class token {
 public:
  explicit token(record& r) : record_(&r) { ++record_->alive; }
  token(token&& other) noexcept : record_(other.record_) { ++record_->alive; }
  token& operator=(token&&) = delete;
  ~token() { --record_->alive; }
  void run() const { ++record_->runs; }

 private:
  record* record_;
};

class round_of {
 public:
  explicit round_of(std::uint64_t seed) : random_(seed) {}

  void run() {
    const bool small = chance(2);
    const std::size_t core = pick(4);
    const std::size_t max = core + (core == 0 ? 1 : 0) + (small ? pick(3) : 0);
    const auto order = chance(4) ? takt::queue_order::priority : takt::queue_order::fifo;
    bounded_ = small;
    end_by_worker_ = chance(8);
    auto pool = std::make_shared<thread_pool>(thread_pool::options{
        .core = core,
        .max = max,
        .keep_alive = chance(2) ? std::chrono::nanoseconds(1us) : std::chrono::nanoseconds(1min),
        .core_time_out = chance(3),
        .queue_capacity = small ? pick(5) : takt::unbounded,
        .order = order,
        .rejection = policy(order),
        .thread = {.may_start = [rarely = chance(4),
                                 count = 0u]() mutable { return !rarely || ++count % 3 != 0; }},
        .terminated = [this, last = witness()] { ++terminated_; },
        .unhandled = &hook_,
        .observer = &observed_});
    std::vector<takt::sync::thread> producers;
    const std::size_t threads = 1 + pick(3);
    for (std::size_t i = 0; i < threads; ++i) {
      producers.emplace_back([this, pool, seed = random_()] { produce(*pool, seed); });
    }
    for (auto& t : producers) t.join();
    const std::size_t how = pick(4);
    end(std::move(pool), how);
  }

  // After all is over.
  void check() {
    takt::mutex_lock lock(mu_);
    const takt::task_totals t = observed_.totals();
    EXPECT_EQ(t.submitted, calls_.load());
    EXPECT_EQ(t.submitted, t.rejected + t.finished + t.cancelled + t.returned);
    EXPECT_EQ(t.running(), 0u);
    // What the pool has run, and what others have run after it had given it up.
    EXPECT_LE(t.finished + outside_.load(), bodies_.load());
    EXPECT_LE(bodies_.load(), t.finished + t.ran + outside_.load() + outside_cancelled_.load());
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
      } catch (const takt::abandoned&) {
        EXPECT_EQ(r->runs.load(), 0);
      } catch (const std::runtime_error&) {
        has_value = true;
      } catch (const takt::cancelled&) {
      }
      EXPECT_TRUE(!has_value || r->runs.load() == 1);
    }
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  bool chance(std::size_t n) { return pick(n) == 0; }

  // Opens the gate when the pool is gone, whoever destroys it.
  std::shared_ptr<void> witness() {
    return {nullptr, [this](void*) { gone_.open(); }};
  }

  rejection_policy policy(takt::queue_order order) {
    switch (pick(7)) {
      case 0:
        return rejection_policy::caller_runs();
      case 1:
        return rejection_policy::discard();
      case 2:
        if (order == takt::queue_order::priority) return rejection_policy::discard();
        return rejection_policy::discard_oldest();
      case 3:
        return rejection_policy::block();
      case 4:
        return rejection_policy::block(100us);
      case 5:
        return rejection_policy::call([this](task t, rejection) { outside(t); });
      default:
        return rejection_policy::abort();
    }
  }

  // A task that the pool is done with is run all the same, or dropped.
  void outside(task& t) {
    if (t.id() % 2 == 0) return;
    bool cancelled = false;
    try {
      cancelled = t.run() == takt::task_outcome::cancelled;
    } catch (const std::runtime_error&) {
    }
    ++(cancelled ? outside_cancelled_ : outside_);
  }

  record& new_record() {
    const takt::mutex_lock lock(mu_);
    return records_.emplace_back();
  }

  // A body: counts itself, and sometimes uses the pool.
  void body(thread_pool& pool, const token& self, std::uint64_t seed) {
    self.run();
    ++bodies_;
    if (seed % 16 == 0) submit(pool, seed / 16);
    // Not if the pool may go with a task that was given back, together with what is waited for.
    if (seed % 32 == 1 && !end_by_worker_) wait_for_another(pool, seed / 16);
    if (seed % 64 == 2) pool.shutdown();
    if (seed % 64 == 3) give_up(pool.shutdown_now());
    if (seed % 16 == 4) throw std::runtime_error("by chance");
    if (seed % 8 == 5) {
      const takt::blocking_region here;
      takt::sync::yield();
    }
  }

  void give_up(task_list rest) {
    // One of them may be what destroys the pool, which the others use.
    if (end_by_worker_) return;
    for (task& t : rest) outside(t);
  }

  void execute(thread_pool& pool, std::uint64_t seed) {
    ++calls_;
    try {
      pool.execute(task([this, &pool, self = token(new_record()), seed] { body(pool, self, seed); },
                        {.priority = static_cast<std::int16_t>(seed % 3)}));
    } catch (const takt::rejected&) {
    }
  }

  void submit(thread_pool& pool, std::uint64_t seed) {
    ++calls_;
    record& r = new_record();
    try {
      future<void> f = seed % 2 == 0
                           ? pool.submit([this, &pool, self = token(r), seed] {
                               body(pool, self, seed / 2 * 2 + 6);
                             })
                           : pool.submit([this, &pool, self = token(r), seed](const stop_token&) {
                               body(pool, self, seed / 2 * 2 + 7);
                             });
      if (seed % 5 == 0) f.cancel();
      const takt::mutex_lock lock(mu_);
      futures_.emplace_back(std::move(f), &r);
    } catch (const takt::rejected&) {
    }
  }

  // From within a task: ends, or is found out.
  void wait_for_another(thread_pool& pool, std::uint64_t seed) {
    ++calls_;
    record& r = new_record();
    try {
      future<void> f =
          pool.submit([this, &pool, self = token(r), seed] { body(pool, self, seed | 15); });
      f.wait();
    } catch (const takt::rejected&) {
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
    }
  }

  void produce(thread_pool& pool, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t steps = 1 + random() % 40;
    for (std::uint64_t i = 0; i < steps; ++i) {
      const std::uint64_t what = random() % 64;
      if (what < 24) {
        execute(pool, random());
      } else if (what < 44) {
        submit(pool, random());
      } else if (what < 48) {
        cancel_one(random());
      } else if (what < 50) {
        pool.prestart(random() % 3);
      } else if (what < 53) {
        const std::size_t core = random() % 4;
        const std::size_t beyond = bounded_ ? random() % 3 : 0;
        pool.resize(core, std::max<std::size_t>(1, core + beyond));
      } else if (what < 55) {
        pool.set_keep_alive(
            random() % 2 == 0 ? std::chrono::nanoseconds(1us) : std::chrono::nanoseconds(1min),
            random() % 2 == 0);
      } else if (what < 57) {
        pool.purge();
      } else if (what < 59) {
        remove_one(pool, random());
      } else if (what < 61) {
        const auto s = pool.statistics();
        EXPECT_LE(s.active, s.workers);
        EXPECT_LE(s.workers, s.largest);
      } else if (what < 62 && i > steps / 2) {
        pool.shutdown();
      } else if (what < 63 && i > steps / 2) {
        give_up(pool.shutdown_now());
      } else {
        takt::sync::yield();
      }
    }
  }

  void cancel_one(std::uint64_t seed) {
    const takt::mutex_lock lock(mu_);
    if (!futures_.empty()) futures_[seed % futures_.size()].first.cancel();
  }

  void remove_one(thread_pool& pool, std::uint64_t seed) {
    task taken;
    {
      const takt::mutex_lock lock(mu_);
      if (futures_.empty()) return;
      taken = pool.remove(futures_[seed % futures_.size()].first);
    }
    if (taken) outside(taken);
  }

  void end(std::shared_ptr<thread_pool> pool, std::size_t how) {
    if (end_by_worker_) {  // or by this thread: whoever is last
      ++calls_;
      static_cast<void>(takt_test::rejection_of([&] {
        pool->execute([this, own = pool, self = token(new_record())]() mutable {
          self.run();
          ++bodies_;
          own.reset();
        });
      }));
      pool.reset();
      gone_.wait();
      return;
    }
    if (how == 0) pool->close(takt::drain);
    if (how == 1) pool->close(takt::cancel_rest);
    if (how == 2) {
      give_up(pool->shutdown_now());
      pool->await_termination();
    }
    if (how != 3) takt_test::expect_balance(*pool);
    pool.reset();
    gone_.wait();
  }

  std::mt19937_64 random_;
  takt_test::recording_hook hook_;
  takt::task_statistics observed_;
  gate gone_;
  bool bounded_ = false;
  bool end_by_worker_ = false;
  takt::sync::atomic<int> terminated_{0};
  takt::sync::atomic<std::uint64_t> calls_{0};  // of execute(), also by submit()
  takt::sync::atomic<std::uint64_t> bodies_{0};
  takt::sync::atomic<std::uint64_t> outside_{0};            // run by outside()
  takt::sync::atomic<std::uint64_t> outside_cancelled_{0};  // and cancelled, before or meanwhile
  takt::mutex mu_;
  std::deque<record> records_ TAKT_GUARDED_BY(mu_);
  std::vector<std::pair<future<void>, record*>> futures_ TAKT_GUARDED_BY(mu_);
};

TEST(thread_pool, accounts_for_every_task_of_random_lives) {
  const char* const given = std::getenv("TAKT_STRESS_SEED");
  const std::uint64_t first = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::printf("TAKT_STRESS_SEED=%llu\n", static_cast<unsigned long long>(first));
  std::fflush(stdout);
  const auto begin = takt::steady.now();
  int rounds = 0;
  while (rounds < most_rounds && takt::steady.now() - begin < most_time) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(rounds++);
    SCOPED_TRACE("TAKT_STRESS_SEED=" + std::to_string(seed));
    const auto one = std::make_unique<round_of>(seed);
    one->run();
    one->check();
    if (HasFailure()) break;
  }
  std::printf("%d rounds\n", rounds);
}

}  // namespace

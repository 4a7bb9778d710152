// Random lives of scheduled pools: tasks that come, go, move, pause and repeat while the pool ends;
// and every closure accounted for. See thread_pool_stress.cpp about seeds.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/mutex.hpp>
#include <takt/base/sync.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../support/pools.hpp"
#include "parts.hpp"
#include "rounds.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt_test;
using takt::cancel_result;
using takt::scheduled_pool;

class scheduled_round {
 public:
  explicit scheduled_round(std::uint64_t seed) : random_(seed) {}

  void run() {
    auto pool = std::make_unique<scheduled_pool>(options());
    pool_ = pool.get();
    std::vector<takt::sync::thread> producers;
    for (std::size_t i = 1 + random_.pick(3); i != 0; --i) {
      producers.emplace_back([this, d = random_.another()]() mutable { produce(d); });
    }
    const bool early = random_.chance(3);  // while they still come
    if (early) end(*pool);
    for (auto& t : producers) t.join();
    if (!early) end(*pool);
    if (pool->is_terminated()) expect_balance(*pool);
    pool_ = nullptr;
    pool.reset();
  }

  void check() {
    const takt::mutex_lock lock(mu_);
    if (observes_) {
      const takt::task_totals t = observed_.totals();
      EXPECT_EQ(t.submitted, t.rejected + t.finished + t.cancelled + t.returned);
      EXPECT_EQ(t.running(), 0u);
      EXPECT_EQ(t.submitted, account_.calls.load());
    }
    for (const one& o : all_) {
      EXPECT_EQ(o.what.alive.load(), 0);
      if (!o.repeats) {
        EXPECT_LE(o.what.runs.load(), 1);
      }
      if (o.prevented) {
        EXPECT_EQ(o.what.runs.load(), 0);
      }
      EXPECT_TRUE(!o.result.valid() || o.result.is_ready());
    }
  }

 private:
  struct one {
    explicit one(account& to) : what(to) {}
    record what;
    bool repeats = false;
    bool prevented = false;  // before it ever ran
    takt::timer_handle timer;
    takt::future<void> result;
  };

  scheduled_pool::options options() {
    scheduled_pool::options how;
    how.core = random_.pick(4);
    how.keep_alive =
        random_.chance(2) ? std::chrono::nanoseconds(1us) : std::chrono::nanoseconds(1min);
    how.core_time_out = random_.chance(3);
    how.keep = {.delayed = random_.chance(2), .periodic = random_.chance(2)};
    how.missed = takt::catch_up_within(random_.chance(2) ? 0s : 1s);
    how.thread.may_start = [rarely = random_.chance(4), count = 0u]() mutable {
      return !rarely || ++count % 3 != 0;
    };
    how.unhandled = &hook_;
    if (random_.chance(3)) {
      how.decorate = [](takt::task t) {
        return takt::task([inner = std::move(t)]() mutable { inner.run(); });
      };
    }
    observes_ = random_.chance(2);
    if (observes_) how.observer = &observed_;
    return how;
  }

  static std::chrono::nanoseconds delay(dice& d) {
    return d.chance(8) ? std::chrono::nanoseconds(1h)
                       : std::chrono::nanoseconds(static_cast<std::int64_t>(d.pick(200'000)));
  }

  void produce(dice& d) {
    std::deque<one*> mine;
    for (std::size_t i = d.pick(60); i != 0; --i) {
      add(d, mine);
      if (!mine.empty() && d.chance(2)) change(*mine[d.pick(mine.size())], d);
      if (d.chance(20)) pool_->resize(d.pick(4));
    }
    // What would never end is cancelled.
    for (one* o : mine) {
      if (o->repeats || d.chance(2)) cancel(*o);
    }
  }

  void add(dice& d, std::deque<one*>& mine) {
    one* o = nullptr;
    {
      const takt::mutex_lock lock(mu_);
      o = &all_.emplace_back(account_);
    }
    ++account_.calls;
    const auto body = [self = std::make_shared<token>(o->what), fails = d.chance(20)] {
      self->run();
      if (fails) throw std::runtime_error("by chance");
    };
    const takt::timer_options more{.slack = std::chrono::nanoseconds(d.chance(4) ? 50'000 : 0)};
    try {
      switch (d.pick(6)) {
        case 0:
          pool_->execute(body);
          break;
        case 1:
        case 2:
          o->timer = pool_->execute(delay(d), body, more);
          break;
        case 3: {
          auto f = pool_->schedule(delay(d), body, more);
          o->timer = static_cast<const takt::timer_handle&>(f);
          o->result = std::move(f);
          break;
        }
        default: {
          o->repeats = true;
          auto f = d.chance(2) ? pool_->schedule_at_fixed_rate(delay(d), 20us, body)
                               : pool_->schedule_with_fixed_delay(delay(d), 20us, body);
          o->timer = static_cast<const takt::timer_handle&>(f);
          o->result = std::move(f);
          break;
        }
      }
      mine.push_back(o);
    } catch (const takt::rejected&) {
    }
  }

  void change(one& o, dice& d) {
    switch (d.pick(5)) {
      case 0:
        cancel(o);
        break;
      case 1:
        o.timer.pause();
        o.timer.resume();
        break;
      case 2:
        o.timer.reschedule(delay(d));
        break;
      case 3:
        if (d.chance(2)) o.timer.pause();
        break;
      default:
        static_cast<void>(o.timer.get_delay());
    }
  }

  static void cancel(one& o) {
    const bool ran = o.what.runs.load() != 0;
    if (o.timer.cancel() == cancel_result::prevented && !ran && !o.repeats) o.prevented = true;
  }

  void end(scheduled_pool& pool) {
    switch (random_.pick(6)) {
      case 0:
        pool.close(takt::cancel_rest);
        break;
      case 1:
        for (takt::task& t : pool.shutdown_now()) {
          try {
            if (t.id() % 2 == 0) t.run();
          } catch (const std::runtime_error&) {
          }
        }
        pool.await_termination();
        break;
      case 2:
        pool.shutdown();
        pool.keep_after_shutdown({.delayed = false, .periodic = false});
        pool.await_termination();
        break;
      case 3:
        pool.close(takt::drain_for(100us));
        break;
      case 4:
        pool.shutdown();
        pool.shutdown_and_cancel();
        pool.await_termination();
        break;
      default:
        break;  // by destruction, when nobody uses it any more
    }
  }

  dice random_;
  account account_;
  recording_hook hook_;
  takt::task_statistics observed_;
  bool observes_ = false;
  scheduled_pool* pool_ = nullptr;
  takt::mutex mu_;
  std::deque<one> all_ TAKT_GUARDED_BY(mu_);
};

TEST(scheduled_pool, random_lives) { live<scheduled_round>(); }

}  // namespace

// A randomised lifecycle of timers: tasks are scheduled, moved, paused, cancelled and repeated
// while their scheduler ends. Every closure is accounted for.
//
// Home is the scheduler. It is constructed from a random generator, a hook, and an observer or
// null. It has the members of scheduler, execute(body) for immediate tasks, and
//   disturb(dice)      an operation that only this scheduler has
//   end(dice)          ends it in one of its ways, or not at all
//   is_terminated(), expect_balance()
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/sched/timer_handle.hpp>

#include "../support/pools.hpp"
#include "parts.hpp"
#include "rounds.hpp"

namespace takt_test {

template <class Home>
class timer_round {
 public:
  explicit timer_round(std::uint64_t seed) : random_(seed) {}

  void run() {
    observes_ = random_.chance(2);
    auto home = std::make_unique<Home>(random_, hook_, observes_ ? &observed_ : nullptr);
    home_ = home.get();
    std::vector<takt::sync::thread> producers;
    for (std::size_t i = 1 + random_.pick(3); i != 0; --i) {
      producers.emplace_back([this, d = random_.another()]() mutable { produce(d); });
    }
    const bool early = random_.chance(3);  // while producers still run
    if (early) home->end(random_);
    for (auto& t : producers) t.join();
    if (!early) home->end(random_);
    if (home->is_terminated()) home->expect_balance();
    home_ = nullptr;
    home.reset();
  }

  void check() {
    const takt::detail::mutex_lock lock(mu_);
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
    bool prevented = false;  // before its first run
    takt::timer_handle timer;
    takt::future<void> result;
  };

  static std::chrono::nanoseconds delay(dice& d) {
    return d.chance(8) ? std::chrono::nanoseconds(std::chrono::hours(1))
                       : std::chrono::nanoseconds(static_cast<std::int64_t>(d.pick(200'000)));
  }

  void produce(dice& d) {
    std::deque<one*> mine;
    for (std::size_t i = d.pick(60); i != 0; --i) {
      add(d, mine);
      if (!mine.empty() && d.chance(2)) change(*mine[d.pick(mine.size())], d);
      if (d.chance(20)) home_->disturb(d);
    }
    // Cancels the tasks that would never end.
    for (one* o : mine) {
      if (o->repeats || d.chance(2)) cancel(*o);
    }
  }

  void add(dice& d, std::deque<one*>& mine) {
    constexpr std::chrono::microseconds between(20);
    one* o = nullptr;
    {
      const takt::detail::mutex_lock lock(mu_);
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
          home_->execute(body);
          break;
        case 1:
        case 2:
          o->timer = home_->execute(delay(d), body, more);
          break;
        case 3: {
          auto f = home_->schedule(delay(d), body, more);
          o->timer = static_cast<const takt::timer_handle&>(f);
          o->result = std::move(f);
          break;
        }
        default: {
          o->repeats = true;
          auto f = d.chance(2) ? home_->schedule_at_fixed_rate(delay(d), between, body)
                               : home_->schedule_with_fixed_delay(delay(d), between, body);
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
        static_cast<void>(o.timer.time_left());
    }
  }

  static void cancel(one& o) {
    const bool ran = o.what.runs.load() != 0;
    if (o.timer.cancel() == takt::cancel_result::prevented && !ran && !o.repeats)
      o.prevented = true;
  }

  dice random_;
  account account_;
  recording_hook hook_;
  takt::task_statistics observed_;
  bool observes_ = false;
  Home* home_ = nullptr;
  takt::detail::mutex mu_;
  std::deque<one> all_ TAKT_GUARDED_BY(mu_);
};

// Runs some of the returned tasks.
inline void run_some(takt::task_list rest) {
  for (takt::task& t : rest) {
    try {
      if (t.id() % 2 == 0) t.run();
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace takt_test

// Randomised lifecycles of wheel schedulers, on a pool that may end before them. See
// thread_pool_stress.cpp for seeds.
#include <chrono>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <takt/exec/any_executor.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../support/pools.hpp"
#include "parts.hpp"
#include "rounds.hpp"
#include "timer_rounds.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt_test;
using takt::at_close;

class wheel_home {
 public:
  wheel_home(dice& d, recording_hook& hook, takt::task_observer* observer)
      : pool_({.core_threads = 1 + d.pick(2), .unhandled = &hook}),
        wheel_(chosen(d, hook, observer)) {
    if (d.chance(4)) where_ = takt::inline_executor();
  }

  template <class F>
  void execute(F body) {
    execute(0s, std::move(body), {});
  }
  template <class F>
  takt::timer_handle execute(std::chrono::nanoseconds delay, F body,
                             const takt::timer_options& more) {
    try {
      return wheel_.execute(delay, where_, std::move(body), more);
    } catch (const std::runtime_error&) {  // the task was due at once and ran inline
      return {};
    }
  }
  template <class F>
  auto schedule(std::chrono::nanoseconds delay, F body, const takt::timer_options& more) {
    return wheel_.schedule(delay, where_, std::move(body), more);
  }
  template <class F>
  auto schedule_at_fixed_rate(std::chrono::nanoseconds first, std::chrono::nanoseconds period,
                              F body) {
    return wheel_.schedule_at_fixed_rate(first, period, where_, std::move(body));
  }
  template <class F>
  auto schedule_with_fixed_delay(std::chrono::nanoseconds first, std::chrono::nanoseconds delay,
                                 F body) {
    return wheel_.schedule_with_fixed_delay(first, delay, where_, std::move(body));
  }

  void disturb(dice& d) {
    if (d.chance(20)) pool_.shutdown();  // rejected tasks must still get their outcome
  }

  void end(dice& d) {
    switch (d.pick(7)) {
      case 0:
        wheel_.close(takt::cancel_pending);
        break;
      case 1:
        run_some(wheel_.shutdown_now());
        wheel_.await_termination();
        break;
      case 2:
        wheel_.close(1h, d.chance(2) ? at_close::run_all : at_close::run_marked);
        break;
      case 3:
        run_some(wheel_.close(1h, at_close::give_back));
        break;
      case 4:
        wheel_.close(takt::drain_for(100us));
        break;
      case 5:
        wheel_.shutdown();
        wheel_.shutdown_and_cancel();
        wheel_.await_termination();
        break;
      default:
        break;  // the destructor ends it
    }
  }

  [[nodiscard]] bool is_terminated() const { return wheel_.is_terminated(); }
  void expect_balance() {
    pool_.close(takt::drain);  // including the last runs of periodic tasks
    const takt::task_totals t = wheel_.totals();
    EXPECT_EQ(t.submitted, t.rejected + t.finished + t.cancelled + t.returned);
    EXPECT_EQ(t.running(), 0u);
  }

 private:
  static takt::wheel_scheduler::options_type chosen(dice& d, recording_hook& hook,
                                                    takt::task_observer* observer) {
    takt::wheel_scheduler::options_type how;
    how.tick = 1ms;
    how.ticks_per_wheel = std::size_t{1} << d.pick(10);
    how.stamp = d.chance(2) ? takt::timer_stamp::timer : takt::timer_stamp::caller;
    how.exact = d.chance(2);
    if (how.exact && d.chance(4)) how.spin = 20us;
    how.missed = takt::catch_up_within(d.chance(2) ? 0s : 1s);
    how.unhandled = &hook;
    how.observer = observer;
    return how;
  }

  takt::thread_pool pool_;
  takt::any_executor where_ = pool_;
  takt::wheel_scheduler wheel_;
};

TEST(wheel_scheduler, random_lives) { live<timer_round<wheel_home>>(); }

}  // namespace

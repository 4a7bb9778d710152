// Randomised lifecycles of scheduled pools. See thread_pool_stress.cpp for seeds.
#include <chrono>

#include <gtest/gtest.h>

#include <takt/observe/task_observer.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "../support/pools.hpp"
#include "parts.hpp"
#include "rounds.hpp"
#include "timer_rounds.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt_test;
using takt::scheduled_pool;

class pool_home : public scheduled_pool {
 public:
  pool_home(dice& d, recording_hook& hook, takt::task_observer* observer)
      : scheduled_pool(chosen(d, hook, observer)) {}

  void disturb(dice& d) { resize(d.pick(4)); }

  void end(dice& d) {
    switch (d.pick(6)) {
      case 0:
        close(takt::cancel_pending);
        break;
      case 1:
        run_some(shutdown_now());
        await_termination();
        break;
      case 2:
        shutdown();
        keep_after_shutdown({.delayed = false, .periodic = false});
        await_termination();
        break;
      case 3:
        close(takt::drain_for(100us));
        break;
      case 4:
        shutdown();
        shutdown_and_cancel();
        await_termination();
        break;
      default:
        break;  // the destructor ends it
    }
  }

  void expect_balance() { takt_test::expect_balance(*this); }

 private:
  static options_type chosen(dice& d, recording_hook& hook, takt::task_observer* observer) {
    options_type how;
    how.threads = d.pick(4);
    how.keep_alive = d.chance(2) ? std::chrono::nanoseconds(1us) : std::chrono::nanoseconds(1min);
    how.core_times_out = d.chance(3);
    how.keep = {.delayed = d.chance(2), .periodic = d.chance(2)};
    how.missed = takt::catch_up_within(d.chance(2) ? 0s : 1s);
    how.thread.may_start = [rarely = d.chance(4), count = 0u]() mutable {
      return !rarely || ++count % 3 != 0;
    };
    how.unhandled = &hook;
    if (d.chance(3)) {
      how.decorate = [](takt::task t) {
        return takt::task([inner = std::move(t)]() mutable { inner.run(); });
      };
    }
    how.observer = observer;
    return how;
  }
};

TEST(scheduled_pool, random_lives) { live<timer_round<pool_home>>(); }

}  // namespace

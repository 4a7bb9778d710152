// The wheel under every kind of interleaving: no wake-up is lost, each task comes to one end, and
// the scheduler to its own. Time is told to pass: if the timer thread does not wake then, nothing
// does, and the checker finds a deadlock.
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "pools.hpp"
#include "support.hpp"
#include "wheels.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

void balanced(const task_totals& t) { require(t.pending() == 0, "the ledger balances"); }

TEST(wheel_scheduler_model, a_timer_wakes_who_sleeps) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto due = wheel.schedule(1ms, inline_executor(), [] {});
    time.advance(1ms);
    due.wait();
  });
}

TEST(wheel_scheduler_model, an_earlier_timer_wakes_who_sleeps) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto far = wheel.execute(1h, inline_executor(), [] {});
    auto due = wheel.schedule(1ms, inline_executor(), [] {});
    time.advance(1ms);
    due.wait();
    require(far.cancel() == cancel_result::prevented, "it has not begun");
  });
}

// The inbox holds two: somebody has to empty it.
TEST(wheel_scheduler_model, timers_of_several_threads_all_come) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    sync::thread other([&] {
      auto first = wheel.schedule(1ms, inline_executor(), [] {});
      auto second = wheel.schedule(2ms, inline_executor(), [] {});
      time.advance(2ms);
      first.wait();
      second.wait();
    });
    auto due = wheel.schedule(1ms, inline_executor(), [] {});
    time.advance(1ms);
    due.wait();
    other.join();
    wheel.close();
    balanced(wheel.totals());
  });
}

// One that comes while the timer thread takes in what is due is not left behind in the inbox.
TEST(wheel_scheduler_model, what_stays_in_the_inbox_comes_at_its_time) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto first = wheel.execute(1ms, inline_executor(), [] {});
    sync::thread other([&] { time.advance(1ms); });
    auto due = wheel.schedule(clock::time_point(2ms), inline_executor(), [] {});
    other.join();
    time.advance(1ms);
    due.wait();
  });
}

// Who resumes it looks at the clock after who has paused it.
TEST(wheel_scheduler_model, what_is_resumed_is_never_early) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    const auto guard = wheel.execute(10ms, inline_executor(), [] {});
    const auto due = time.now() + 10ms;
    sync::thread other([&] { guard.resume(); });
    time.advance(1ms);
    guard.pause();
    other.join();
    guard.resume();
    require(guard.next_time() >= due, "it is not early");
    wheel.close(at_close::cancel);
  });
}

// Its run has the last reference to it.
TEST(wheel_scheduler_model, a_series_that_has_ended_is_not_asked_to_stop) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    static_cast<void>(
        wheel.schedule_at_fixed_rate(1ms, 1ms, inline_executor(), [] { throw cancelled(); }));
    time.advance(1ms);
    wheel.shutdown_and_cancel();
  });
}

// Who moves it is between his turn and his place in the inbox when the end is looked for.
TEST(wheel_scheduler_model, the_end_comes_though_one_was_moved) {
  check({.runs = 50'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    const auto guard = wheel.execute(1h, inline_executor(), [] {});
    guard.reschedule(10h);
    sync::thread other([&] { guard.reschedule(5h); });
    wheel.shutdown();
    guard.cancel();
    other.join();
    wheel.await_termination();
  });
}

TEST(wheel_scheduler_model, cancel_against_fire) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    manual_executor here;
    std::optional<wheel_scheduler> wheel(on(time));
    auto guard = wheel->execute(1ms, here, [] {});
    sync::thread other([&] { time.advance(1ms); });
    const bool prevented = guard.cancel() == cancel_result::prevented;
    other.join();
    wheel->close(at_close::give_back);
    require(here.poll() + (prevented ? 1U : 0U) <= 1, "not both");
    balanced(wheel->totals());
    require(wheel->totals().cancelled == (prevented ? 1U : 0U) || !prevented, "it is counted");
  });
}

TEST(wheel_scheduler_model, cancel_of_two_handles) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto guard = wheel.execute(1h, inline_executor(), [] {});
    bool also = false;
    sync::thread other([&, mine = guard] { also = mine.cancel() == cancel_result::prevented; });
    const bool prevented = guard.cancel() == cancel_result::prevented;
    other.join();
    require(prevented != also, "exactly one has prevented it");
    require(wheel.totals().cancelled == 1, "it is counted once");
  });
}

TEST(wheel_scheduler_model, places_are_used_again) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    sync::thread other([&] {
      for (int i = 0; i < 2; ++i) wheel.execute(1h, inline_executor(), [] {}).cancel();
    });
    auto due = wheel.schedule(1ms, inline_executor(), [] {});
    time.advance(1ms);
    due.wait();
    other.join();
    require(wheel.totals().cancelled == 2, "both were cancelled");
  });
}

TEST(wheel_scheduler_model, moving_it_earlier_wakes_who_sleeps) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto due = wheel.schedule(1h, inline_executor(), [] {});
    require(due.reschedule(1ms), "it waits");
    time.advance(1ms);
    due.wait();
  });
}

TEST(wheel_scheduler_model, moving_it_against_fire) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    manual_executor here;
    wheel_scheduler wheel(on(time));
    auto due = wheel.schedule(1ms, here, [] {});
    bool moved = false;
    sync::thread other([&] { moved = due.reschedule(3ms); });
    time.advance(1ms);
    other.join();
    if (moved) {
      require(due.next_time() >= time.now() + 2ms || due.next_time() == clock::time_point::max(),
              "it is later");
    }
    time.advance(3ms);
    while (here.poll() == 0) sync::yield();
    require(due.is_ready(), "it has run, once");
  });
}

TEST(wheel_scheduler_model, pausing_against_fire) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto due = wheel.schedule(1ms, inline_executor(), [] {});
    sync::thread other([&] {
      due.pause();
      due.resume();
    });
    time.advance(1ms);
    other.join();
    time.advance(1ms);
    due.wait();
  });
}

TEST(wheel_scheduler_model, a_series_against_its_cancellation) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    manual_executor here;
    wheel_scheduler wheel(on(time));
    auto series = wheel.schedule_at_fixed_rate(0ms, 1ms, here, [] {});
    sync::thread other([&] { here.poll(); });
    series.cancel();
    other.join();
    here.poll();
    const task_totals t = wheel.totals();
    require(t.cancelled == 1 && t.pending() == 0, "it has ended, once");
  });
}

TEST(wheel_scheduler_model, a_series_against_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    manual_executor here;
    wheel_scheduler wheel(on(time));
    auto series = wheel.schedule_at_fixed_rate(0ms, 1ms, here, [] {});
    sync::thread other([&] { here.poll(); });
    wheel.shutdown();
    wheel.await_termination();
    require(series.is_cancelled(), "it has ended before its wheel");
    other.join();
    const task_totals t = wheel.totals();
    require(t.cancelled == 1 && t.pending() == 0, "it has ended, once");
  });
}

TEST(wheel_scheduler_model, adding_against_stop) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    bool accepted = false;
    sync::thread other([&] {
      try {
        wheel.execute(1h, inline_executor(), [] {});
        accepted = true;
      } catch (const rejected&) {
      }
    });
    const std::size_t returned = wheel.shutdown_now().size();
    other.join();
    require(returned == (accepted ? 1U : 0U), "it was accepted and given back, or rejected");
    balanced(wheel.totals());
  });
}

TEST(wheel_scheduler_model, adding_against_close) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    bool accepted = false;
    std::size_t ran = 0;
    sync::thread other([&] {
      try {
        wheel.execute(1h, inline_executor(), [&] { ++ran; });
        accepted = true;
      } catch (const rejected&) {
      }
    });
    wheel.close(at_close::run_all);
    other.join();
    require(ran == (accepted ? 1U : 0U), "it was accepted and run, or rejected");
    balanced(wheel.totals());
  });
}

TEST(wheel_scheduler_model, adding_against_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    bool accepted = false;
    sync::thread other([&] {
      try {
        wheel.execute(1ms, inline_executor(), [] {});
        accepted = true;
      } catch (const rejected&) {
      }
      time.advance(2ms);
    });
    wheel.shutdown();
    wheel.await_termination();
    other.join();
    require(wheel.totals().finished == (accepted ? 1U : 0U), "it was accepted and run, or not");
    balanced(wheel.totals());
  });
}

TEST(wheel_scheduler_model, the_last_one_is_cancelled_after_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto last = wheel.execute(1h, inline_executor(), [] {});
    sync::thread other([&] { last.cancel(); });
    wheel.shutdown();
    wheel.await_termination();
    other.join();
    balanced(wheel.totals());
  });
}

TEST(wheel_scheduler_model, pausing_against_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    auto last = wheel.execute(1ms, inline_executor(), [] {});
    sync::thread other([&] {
      last.pause();
      time.advance(1ms);
    });
    wheel.shutdown();
    wheel.await_termination();
    other.join();
    balanced(wheel.totals());
  });
}

// Who shuts it down has taken the series, and has not cancelled it yet, when the thread looks.
TEST(wheel_scheduler_model, what_shutdown_cancels_has_ended_before_the_end) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    const auto series = wheel.schedule_at_fixed_rate(1h, 1h, inline_executor(), [] {});
    sync::thread other([&] {
      wheel.await_termination();
      require(series.is_cancelled(), "it has ended before its wheel");
    });
    wheel.shutdown();
    other.join();
    balanced(wheel.totals());
  });
}

TEST(wheel_scheduler_model, handles_outlive_it) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    std::optional<wheel_scheduler> wheel(on(time));
    std::optional<timer_handle> first = wheel->execute(1h, inline_executor(), [] {});
    std::optional<timer_handle> second = wheel->execute(2h, inline_executor(), [] {});
    sync::thread other([&] { first.reset(); });
    wheel.reset();
    require(second->cancel() == cancel_result::done, "it was cancelled");
    other.join();
  });
}

TEST(wheel_scheduler_model, a_run_outlives_it) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    manual_executor here;
    std::optional<wheel_scheduler> wheel(on(time));
    auto series = wheel->schedule_at_fixed_rate(0ms, 1ms, here, [] {});
    sync::thread other([&] { here.poll(); });
    wheel.reset();
    other.join();
    here.poll();
    require(series.is_ready(), "it has ended");
  });
}

TEST(wheel_scheduler_model, a_run_is_dropped_while_it_ends) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    std::optional<manual_executor> here;
    here.emplace();
    std::optional<wheel_scheduler> wheel(on(time));
    auto series = wheel->schedule_at_fixed_rate(0ms, 1ms, *here, [] {});
    sync::thread other([&] { here.reset(); });
    wheel.reset();
    other.join();
    require(series.is_ready(), "it has ended");
  });
}

// More than there is room for at first.
TEST(wheel_scheduler_model, places_are_made_while_others_claim_them) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    wheel_scheduler wheel(on(time));
    const auto add = [&] {
      for (int i = 0; i < 3; ++i) wheel.execute(1h, inline_executor(), [] {});
    };
    sync::thread other(add);
    add();
    other.join();
    require(wheel.shutdown_now().size() == 6, "all are there");
  });
}

// Queues one task at a time by try_execute(), and the next one by execute().
class takes_one {
 public:
  void execute(task t) {
    const detail::mutex_lock lock(mu_);
    queued_.push_back(std::move(t));
  }
  std::size_t try_execute(std::span<task> tasks) noexcept {
    const detail::mutex_lock lock(mu_);
    queued_.push_back(std::move(tasks.front()));
    return 1;
  }
  std::size_t size() {
    const detail::mutex_lock lock(mu_);
    return queued_.size();
  }

 private:
  detail::mutex mu_;
  task_list queued_;
};

// The timer thread has taken some of them, and not given them to their executor yet.
TEST(wheel_scheduler_model, what_is_given_at_once_against_stop) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    takes_one there;
    std::optional<wheel_scheduler> wheel(on(time));
    for (int i = 0; i < 3; ++i) wheel->execute(1ms, there, [] {});
    sync::thread other([&] { time.advance(1ms); });
    const std::size_t returned = wheel->shutdown_now().size();
    other.join();
    const auto seen = wheel->totals();
    wheel.reset();
    require(there.size() + returned == 3, "each has come to one end");
    require(seen.returned == returned, "it is counted");
  });
}

TEST(wheel_scheduler_model, what_is_given_at_once_against_its_cancellation) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    takes_one there;
    wheel_scheduler wheel(on(time));
    wheel.execute(1ms, there, [] {});
    auto guard = wheel.execute(1ms, there, [] {});
    sync::thread other([&] { time.advance(1ms); });
    const std::size_t prevented = guard.cancel() == cancel_result::prevented ? 1 : 0;
    other.join();
    const std::size_t returned = wheel.close(at_close::give_back).size();
    require(there.size() + prevented + returned == 2, "each has come to one end");
    balanced(wheel.totals());
  });
}

TEST(wheel_scheduler_model, a_series_at_once_against_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    manual_executor here;
    wheel_scheduler wheel(on(time));
    bool accepted = false;
    sync::thread other([&] {
      try {
        static_cast<void>(wheel.schedule_at_fixed_rate(0ms, 1ms, here, [] {}));
        accepted = true;
        require(!wheel.is_terminated(), "it waits for what it has accepted");
      } catch (const rejected&) {
      }
      here.poll();
    });
    wheel.shutdown();
    wheel.await_termination();
    other.join();
    balanced(wheel.totals());
    require(wheel.totals().cancelled == (accepted ? 1U : 0U), "it was accepted, or not");
  });
}

// If it is not, it waits for ever, which the checker calls a deadlock.
TEST(wheel_scheduler_model, a_run_is_asked_to_stop_whenever_it_begins) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    parker stopped;
    wheel_scheduler wheel(on(time));
    auto series = wheel.schedule_at_fixed_rate(
        1ms, 1ms, inline_executor(), [&](const sync::stop_token& stop) {
          const sync::stop_callback wakes(stop, [&] { stopped.unpark(); });
          stopped.park();
        });
    sync::thread other([&] { time.advance(1ms); });
    wheel.shutdown_and_cancel();
    other.join();
    wheel.await_termination();
    require(series.is_ready(), "it has ended");
  });
}

}  // namespace

// The scheduled pool under every kind of interleaving: a task runs at its time, whoever sleeps; it
// comes to exactly one end; and the pool to its own. Time is told to pass: if the right thread does
// not wake then, nothing does, and the checker finds a deadlock.
#include <chrono>
#include <cstddef>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

TEST(scheduled_pool_model, a_new_earliest_deadline_against_a_sleeping_leader) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto far = pool.schedule(1h, [] {});
    auto soon = pool.schedule(1ms, [] {});
    time.advance(1ms);
    soon.get();
    require(far.cancel() == cancel_result::prevented, "it has not begun");
    pool.close(drain);
    balanced(pool);
  });
}

// While the leader sleeps, another worker is called for the queue, and is on its way.
TEST(scheduled_pool_model, a_new_earliest_deadline_while_a_worker_is_coming) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .time = &time});
    pool.prestart();
    auto far = pool.schedule(1h, [] {});
    sync::thread other([&] { pool.execute([] {}); });
    auto soon = pool.schedule(1ms, [] {});
    time.advance(1ms);
    soon.get();
    other.join();
    far.cancel();
    pool.close(drain);
    balanced(pool);
  });
}

TEST(scheduled_pool_model, deadlines_from_two_threads) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .time = &time});
    auto far = pool.schedule(1h, [] {});
    scheduled_future<void> second;
    sync::thread other([&] { second = pool.schedule(2ms, [] {}); });
    auto first = pool.schedule(1ms, [] {});
    time.advance(1ms);
    first.get();
    other.join();
    time.advance(2ms);
    second.get();
    far.cancel();
    pool.close(drain);
    balanced(pool);
  });
}

// The leader runs a task that waits for the next one: another worker has to lead.
TEST(scheduled_pool_model, the_leader_hands_over) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .time = &time});
    promise<void> p;
    auto f = p.get_future();
    auto first = pool.schedule(1ms, [&] { f.wait(); });
    auto second = pool.schedule(2ms, [&] { p.set_value(); });
    time.advance(1ms);
    time.advance(1ms);
    first.get();
    second.get();
    pool.close(drain);
    balanced(pool);
  });
}

// The only worker that is idle is called away to the queue, and stays there.
TEST(scheduled_pool_model, the_leader_is_called_away) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .time = &time});
    pool.prestart();
    promise<void> p;
    auto f = p.get_future();
    auto later = pool.schedule(1ms, [&] { p.set_value(); });
    auto now = pool.submit([&] { f.wait(); });
    time.advance(1ms);
    now.get();
    later.get();
    pool.close(drain);
    balanced(pool);
  });
}

TEST(scheduled_pool_model, rescheduling_wakes_the_leader) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto f = pool.schedule(1h, [] {});
    require(f.reschedule(1ms), "it has not begun");
    time.advance(1ms);
    f.get();
  });
}

TEST(scheduled_pool_model, resuming_wakes_the_leader) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto far = pool.schedule(1h, [] {});
    auto f = pool.schedule(10min, [] {});
    require(f.pause(), "it has not begun");
    require(f.resume(), "it was paused");
    time.advance(10min);
    f.get();
  });
}

TEST(scheduled_pool_model, cancel_against_fire) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    runs ran{0};
    scheduled_pool pool({.threads = 1, .time = &time});
    auto f = pool.schedule(0ms, [&] { ran.fetch_add(1); });
    const cancel_result result = f.cancel();
    require(f.cancel() == cancel_result::done, "once is enough");
    pool.close(drain);
    require(ran.load() == (result == cancel_result::prevented ? 0 : 1), "it ran or was prevented");
    balanced(pool);
  });
}

// The same without a future: the handle is all there is.
TEST(scheduled_pool_model, cancel_by_handle_against_fire) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    runs ran{0};
    scheduled_pool pool({.threads = 1, .time = &time});
    const timer_handle h = pool.execute(0ms, [&] { ran.fetch_add(1); });
    const cancel_result result = h.cancel();
    if (result == cancel_result::done) require(ran.load() == 1, "it has ended");
    if (result == cancel_result::prevented) {
      require(pool.statistics().delayed == 0, "it is out at once");
    }
    pool.close(drain);
    require(ran.load() == (result == cancel_result::prevented ? 0 : 1), "it ran or was prevented");
    balanced(pool);
  });
}

TEST(scheduled_pool_model, two_cancel_one) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    const timer_handle h = pool.execute(1h, [] {});
    cancel_result theirs{};
    sync::thread other([&, copy = h] { theirs = copy.cancel(); });
    const cancel_result ours = h.cancel();
    other.join();
    require((ours == cancel_result::prevented) != (theirs == cancel_result::prevented), "one did");
    pool.close(drain);
    balanced(pool);
  });
}

TEST(scheduled_pool_model, requeue_against_cancel) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    runs ran{0};
    scheduled_pool pool({.threads = 1, .time = &time});
    auto series = pool.schedule_at_fixed_rate(0ms, 1ms, [&] { ran.fetch_add(1); });
    sync::thread other([&] { time.advance(1ms); });
    const cancel_result result = series.cancel_and_join();
    require(result != cancel_result::running, "it does not run any more");
    const int before = ran.load();
    other.join();
    pool.close(drain);
    require(ran.load() == before, "nor again");
    require(series.run_count() >= static_cast<unsigned>(before), "begun before it ran");
    balanced(pool);
  });
}

// However the two meet, it is out of the queue when both are done.
TEST(scheduled_pool_model, a_cancelled_series_leaves_at_once) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto series = pool.schedule_with_fixed_delay(0ms, 1h, [] {});
    series.cancel_and_join();
    pool.submit([] {}).get();  // the worker is done with it
    require(pool.statistics().delayed == 0, "nothing waits");
    pool.close(drain);
    balanced(pool);
  });
}

TEST(scheduled_pool_model, requeue_against_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto series = pool.schedule_at_fixed_rate(0ms, 1h, [] {});
    pool.shutdown();
    pool.await_termination();
    require(series.is_cancelled(), "a refused re-queue is a cancellation");
    balanced(pool);
  });
}

TEST(scheduled_pool_model, requeue_against_shutdown_now) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    auto series = pool.schedule_at_fixed_rate(0ms, 1h, [] {});
    auto unstarted = pool.shutdown_now();
    pool.await_termination();
    require(unstarted.size() == (series.is_cancelled() ? 0u : 1u), "given back or cancelled");
    if (!unstarted.empty()) {
      unstarted[0].run();
      series.get();
    }
    balanced(pool);
  });
}

// What runs when the pool stops is asked to stop, and does not run again: it is not given back,
// even if it ends at once.
TEST(scheduled_pool_model, a_running_series_is_not_given_back) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    promise<void> begun;
    auto has_begun = begun.get_future();
    scheduled_pool pool({.threads = 1, .time = &time});
    auto series = pool.schedule_with_fixed_delay(0ms, 1ms, [&](const sync::stop_token& stop) {
      promise<void> asked;
      auto is_asked = asked.get_future();
      const auto on_stop = [&] { asked.set_value(); };
      const sync::stop_callback<decltype(on_stop)> callback(stop, on_stop);
      begun.set_value();
      is_asked.wait();
    });
    has_begun.wait();
    require(pool.shutdown_now().empty(), "it has begun");
    pool.await_termination();
    require(series.is_cancelled(), "it does not run again");
    balanced(pool);
  });
}

TEST(scheduled_pool_model, a_series_that_is_kept_ends_the_pool_when_it_is_cancelled) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .keep = {.periodic = true}, .time = &time});
    auto series = pool.schedule_at_fixed_rate(0ms, 1ms, [] {});
    pool.shutdown();
    series.cancel();
    pool.await_termination();
    balanced(pool);
  });
}

TEST(scheduled_pool_model, cancelling_the_last_one_ends_a_pool_that_is_shut_down) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 2, .time = &time});
    auto far = pool.schedule(1h, [] {});
    sync::thread other([&] { far.cancel(); });
    pool.shutdown();
    pool.await_termination();
    other.join();
    balanced(pool);
  });
}

TEST(scheduled_pool_model, policy_change_after_shutdown) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .keep = {.periodic = true}, .time = &time});
    auto once = pool.schedule(1h, [] {});
    auto series = pool.schedule_at_fixed_rate(1h, 1h, [] {});
    sync::thread other([&] { pool.keep_after_shutdown({.delayed = false, .periodic = false}); });
    pool.shutdown();
    pool.await_termination();
    require(once.is_cancelled() && series.is_cancelled(), "both are cancelled");
    other.join();
    balanced(pool);
  });
}

TEST(scheduled_pool_model, schedule_against_shutdown) {
  for (const bool keeps : {false, true}) {
    check({.runs = 5'000}, [keeps] {
      manual_clock time;
      runs ran{0};
      scheduled_pool pool({.threads = 1, .keep = {.delayed = keeps}, .time = &time});
      pool.prestart();  // one that leaves at once when it is shut down
      sync::thread other([&] { pool.shutdown(); });
      scheduled_future<void> f;
      bool accepted = true;
      try {
        f = pool.schedule(1ms, [&] { ran.fetch_add(1); });
      } catch (const rejected&) {
        accepted = false;
      }
      other.join();
      time.advance(1ms);
      pool.await_termination();
      if (accepted) require(ran.load() == (f.is_cancelled() ? 0 : 1), "run or cancelled");
      if (accepted && keeps) require(ran.load() == 1, "run");
      if (!accepted) require(ran.load() == 0, "rejected");
      balanced(pool);
    });
  }
}

TEST(scheduled_pool_model, schedule_against_shutdown_now) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    runs ran{0};
    std::size_t returned = 0;
    scheduled_pool pool({.threads = 1, .time = &time});
    sync::thread other([&] { returned = pool.shutdown_now().size(); });
    int accepted = 0;
    for (int i = 0; i < 2; ++i) {
      try {
        pool.execute(i * 1ms, [&] { ran.fetch_add(1); });
        ++accepted;
      } catch (const rejected&) {
      }
    }
    other.join();
    pool.await_termination();
    require(ran.load() + static_cast<int>(returned) == accepted, "ran or returned");
    balanced(pool);
  });
}

TEST(scheduled_pool_model, cancel_against_destruction) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    timer_handle h;
    sync::thread other;
    {
      scheduled_pool pool({.threads = 1, .time = &time});
      h = pool.execute(1h, [] {});
      other = sync::thread([copy = h] { copy.cancel(); });
    }
    require(h.cancel() == cancel_result::done, "it is gone");
    other.join();
  });
}

// Each run happens before the next, whichever worker has it.
TEST(scheduled_pool_model, runs_of_a_series_do_not_overlap) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::var<int> count{0};
    promise<void> p;
    auto done = p.get_future();
    scheduled_pool pool({.threads = 2, .time = &time});
    auto series = pool.schedule_at_fixed_rate(0ms, 1ms, [&] {
      ++count.write();
      if (count.read() == 3) p.set_value();
    });
    time.advance(2ms);
    done.wait();
    series.cancel_and_join();
    require(count.read() >= 3, "all were counted");
    pool.close(drain);
    balanced(pool);
  });
}

TEST(scheduled_pool_model, a_task_destroys_its_pool) {
  check({.runs = 5'000}, [] {
    manual_clock time;
    auto* pool = new scheduled_pool({.threads = 2, .time = &time});
    auto far = pool->schedule(1h, [] {});
    auto f = pool->schedule(1ms, [pool] { delete pool; });
    time.advance(1ms);
    f.get();
    require(far.is_cancelled(), "what waits is cancelled");
  });
}

// A worker that was to look anyway runs it, before its submission has come to calling one.
TEST(scheduled_pool_model, a_task_destroys_its_pool_before_its_submission_returns) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    auto* pool = new scheduled_pool({.threads = 1, .time = &time});
    auto other_task = pool->schedule(1ms, [] {});
    sync::thread other([&] { time.advance(1ms); });
    auto f = pool->schedule(0ms, [pool] { delete pool; });
    f.get();
    other.join();
  });
}

// Nothing of its options is used when it is gone.
TEST(scheduled_pool_model, reschedule_against_destruction) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::atomic<bool> gone{false};
    timer_handle h;
    sync::thread other;
    {
      scheduled_pool pool({.threads = 2,
                           .thread = {.may_start =
                                          [&] {
                                            require(!gone.load(), "the pool is there");
                                            return true;
                                          }},
                           .time = &time});
      h = pool.execute(1h, [] {});
      other = sync::thread([copy = h] { copy.reschedule(1ms); });
    }
    gone.store(true);
    other.join();
  });
}

// A task that is cancelled has ended before the pool.
TEST(scheduled_pool_model, cancel_by_handle_against_the_end) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::atomic<bool> dropped{false};
    struct mark {
      explicit mark(sync::atomic<bool>& d) : flag(&d) {}
      mark(mark&& o) noexcept : flag(std::exchange(o.flag, nullptr)) {}
      ~mark() {
        if (flag != nullptr) flag->store(true);
      }
      void operator()() {}
      sync::atomic<bool>* flag;
    };
    scheduled_pool pool({.threads = 1, .time = &time});
    const timer_handle h = pool.execute(1h, mark(dropped));
    pool.shutdown();
    sync::thread other([&] { h.cancel(); });
    pool.await_termination();
    require(dropped.load(), "it has ended");
    other.join();
    balanced(pool);
  });
}

TEST(scheduled_pool_model, an_observed_cancel_against_destruction) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    sync::atomic<bool> gone{false};
    struct observer final : task_observer {
      explicit observer(sync::atomic<bool>& g) : gone(g) {}
      void on_event(const task_event&) noexcept override {
        require(!gone.load(), "the observer may be gone");
      }
      sync::atomic<bool>& gone;
    } watching(gone);
    sync::thread other;
    {
      scheduled_pool pool({.threads = 1, .time = &time, .observer = &watching});
      const timer_handle h = pool.execute(1h, [] {});
      other = sync::thread([copy = h] { copy.cancel(); });
    }
    gone.store(true);
    other.join();
  });
}

}  // namespace

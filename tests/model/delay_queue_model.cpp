// How delayed tasks arrive, under every kind of interleaving: those who add have a lock of their
// own, and whoever needs the order takes in what has arrived. Nothing is lost on the way, and
// nothing overtakes. A row has two entries here, so that there is often no room.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

// In which order tasks ran; written by the one thread that runs them.
using order = sync::var<std::vector<int>>;

TEST(delay_queue_model, many_arrive_at_once) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    order ran;
    scheduled_pool pool({.threads = 1, .time = &time});
    const auto add = [&](int first) {
      for (int i = first; i < first + 3; ++i) {
        pool.execute(i * 1ms, [&ran, i] { ran.write().push_back(i); });
      }
    };
    sync::thread other([&] { add(10); });
    add(20);
    other.join();
    require(pool.statistics().delayed == 6, "all wait");
    time.advance(1s);
    pool.close(drain);
    require(ran.read() == std::vector{10, 11, 12, 20, 21, 22}, "in the order of their deadlines");
    balanced(pool);
  });
}

// While a worker takes them out.
TEST(delay_queue_model, arrivals_against_a_worker) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs ran{0};
    scheduled_pool pool({.threads = 2, .time = &time});
    const auto add = [&] {
      for (int i = 0; i < 3; ++i) pool.execute(0ms, [&] { ran.fetch_add(1); });
    };
    sync::thread other(add);
    add();
    other.join();
    pool.close(drain);
    require(ran.load() == 6, "each is run once");
    balanced(pool);
  });
}

TEST(delay_queue_model, what_arrives_earlier_goes_first) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    order ran;
    scheduled_pool pool({.threads = 1, .time = &time});
    pool.execute(2ms, [&] { ran.write().push_back(2); });
    sync::thread other([&] { pool.execute(1ms, [&] { ran.write().push_back(1); }); });
    pool.execute(3ms, [&] { ran.write().push_back(3); });
    other.join();
    time.advance(3ms);
    pool.close(drain);
    require(ran.read() == std::vector{1, 2, 3}, "in the order of their deadlines");
  });
}

TEST(delay_queue_model, equal_deadlines_keep_the_order_of_submission) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    order ran;
    scheduled_pool pool({.threads = 1, .time = &time});
    const auto far = pool.execute(1h, [] {});
    const auto first = pool.execute(1ms, [&] { ran.write().push_back(4); });
    sync::thread other([&] { far.cancel(); });  // takes in some of them
    pool.execute(2ms, [&] { ran.write().push_back(1); });
    pool.execute(2ms, [&] { ran.write().push_back(2); });
    pool.execute(2ms, [&] { ran.write().push_back(3); });
    require(first.reschedule(2ms), "it has not begun");  // and so it is the last one
    other.join();
    time.advance(2ms);
    pool.close(drain);
    require(ran.read() == std::vector{1, 2, 3, 4}, "in the order of their submission");
  });
}

// What is queued without a delay stands behind what is due by then, even if that only arrives.
TEST(delay_queue_model, a_task_without_a_delay_does_not_overtake) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    order ran;
    scheduled_pool pool({.threads = 1, .time = &time});
    pool.execute(0ms, [&] { ran.write().push_back(1); });
    pool.execute([&] { ran.write().push_back(2); });
    pool.close(drain);
    require(ran.read() == std::vector{1, 2}, "in the order of submission");
  });
}

// The earliest one is taken in by another thread while who has added it calls the leader.
TEST(delay_queue_model, a_new_earliest_deadline_that_another_takes_in) {
  check({.runs = 50'000}, [] {
    manual_clock time;
    scheduled_pool pool({.threads = 1, .time = &time});
    const auto far = pool.execute(1h, [] {});
    const auto other_far = pool.execute(2h, [] {});
    sync::thread other([&] { other_far.cancel(); });
    auto soon = pool.schedule(1ms, [] {});
    time.advance(1ms);
    soon.get();
    other.join();
    far.cancel();
    pool.close(drain);
    balanced(pool);
  });
}

// Whoever cancels finds it, also if it has not been taken in; and those beside it stay.
TEST(delay_queue_model, cancel_against_arrivals) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs ran{0};
    scheduled_pool pool({.threads = 1, .time = &time});
    sync::thread other([&] {
      for (int i = 0; i < 3; ++i) pool.execute(1ms, [&] { ran.fetch_add(1); });
    });
    for (int i = 0; i < 3; ++i) {
      const timer_handle h = pool.execute(1h, [&] { ran.fetch_add(100); });
      require(h.cancel() == cancel_result::prevented, "it has not begun");
      require(h.cancel() == cancel_result::done, "and is gone");
    }
    other.join();
    time.advance(1ms);
    pool.close(drain);
    require(ran.load() == 3, "all others are run");
    balanced(pool);
  });
}

TEST(delay_queue_model, arrivals_against_shutdown_now) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs ran{0};
    std::array<int, 2> accepted{};
    std::size_t returned = 0;
    scheduled_pool pool({.threads = 1, .time = &time});
    const auto add = [&](int& count) {
      try {
        for (int i = 0; i < 3; ++i) {
          pool.execute(i * 1ms, [&] { ran.fetch_add(1); });
          ++count;
        }
      } catch (const rejected&) {
      }
    };
    sync::thread other([&] { add(accepted[1]); });
    sync::thread closer([&] { returned = pool.shutdown_now().size(); });
    add(accepted[0]);
    other.join();
    closer.join();
    pool.await_termination();
    require(ran.load() + static_cast<int>(returned) == accepted[0] + accepted[1],
            "run or given back");
    balanced(pool);
  });
}

// What is in the row then, and is not to be run, ends like the rest.
TEST(delay_queue_model, arrivals_against_a_shutdown_that_keeps_none) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs ran{0};
    runs refused{0};
    scheduled_pool pool({.threads = 1, .keep = {.delayed = false}, .time = &time});
    const auto add = [&](std::chrono::nanoseconds delay) {
      try {
        pool.execute(delay, [&] { ran.fetch_add(1); });
      } catch (const rejected&) {
        refused.fetch_add(1);
      }
    };
    add(1ms);  // the leader sleeps until then: those that follow stay in the row
    sync::thread other([&] {
      add(2ms);
      add(3ms);
    });
    add(4ms);
    pool.shutdown();
    other.join();
    pool.await_termination();
    const auto tasks = pool.totals();
    require(ran.load() == 0 && tasks.cancelled + tasks.rejected == 4, "none is run");
    require(tasks.rejected == static_cast<std::uint64_t>(refused.load()), "each has one end");
    balanced(pool);
  });
}

// Three that want the last place of a row.
TEST(delay_queue_model, arrivals_that_find_no_room) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    runs ran{0};
    scheduled_pool pool({.threads = 1, .time = &time});
    pool.execute(1ms, [&] { ran.fetch_add(1); });
    const auto add = [&] {
      for (int i = 2; i < 4; ++i) pool.execute(i * 1ms, [&] { ran.fetch_add(1); });
    };
    sync::thread a(add);
    sync::thread b(add);
    add();
    a.join();
    b.join();
    time.advance(1s);
    pool.close(drain);
    require(ran.load() == 7, "each is run once");
    balanced(pool);
  });
}

TEST(delay_queue_model, arrivals_in_a_loop) {
  check({.runs = 20'000}, [] {
    manual_clock time;
    event_loop loop({.time = &time});
    sync::thread other([&] {
      for (int i = 0; i < 3; ++i) loop.execute(0ms, [] {});
    });
    loop.execute(0ms, [] {});
    for (int i = 0; i < 4; ++i) require(loop.run_one(), "all are run");
    other.join();
    require(loop.totals().pending() == 0, "the ledger balances");
  });
}

}  // namespace

// task_scope and future::request_stop() under all interleavings: each task has one outcome, no
// prevented task begins, and no task runs after join().
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/task_scope.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

TEST(future_stop_model, request_against_begin) {
  check({.runs = 10'000}, [] {
    sync::var<int> ran{0};
    future_task<int> work([&](const sync::stop_token&) {
      ran.write() = 1;
      return 7;
    });
    future<int> f = work.get_future();
    sync::thread worker([&] { work.run(); });
    f.request_stop();
    f.wait();
    const bool begun = f.outcome() == task_outcome::finished;
    require(begun || f.outcome() == task_outcome::cancelled, "one of the two");
    if (begun) require(ran.read() == 1 && f.get() == 7, "what runs keeps its result");
    worker.join();
    require(ran.read() == (begun ? 1 : 0), "what was prevented has not begun");
  });
}

TEST(future_stop_model, request_against_cancel_and_begin) {
  check({.runs = 10'000}, [] {
    future_task<void> work([] {});
    future<void> f = work.get_future();
    sync::thread worker([&] { work.run(); });
    sync::thread other([&] { f.request_stop(); });
    f.cancel();
    f.wait();  // the other thread may still be delivering the outcome
    require(f.outcome() != task_outcome::failed, "one of the two");
    other.join();
    worker.join();
  });
}

TEST(task_scope_model, stop_against_spawn_and_begin) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    std::size_t finished = 0;
    std::size_t told = 0;
    thread_pool pool({.core_threads = 1});
    {
      task_scope scope{{.executor = pool}};
      sync::thread other([&] { scope.request_stop(); });
      for (int i = 0; i < 2; ++i) scope.spawn([&] { ran.fetch_add(1); });
      for (const future<void>& f : scope.join()) {
        ++told;
        if (f.outcome() == task_outcome::finished) ++finished;
      }
      other.join();
    }
    require(told == 2, "each is told of");
    require(static_cast<std::size_t>(ran.load()) == finished, "as it was");
    pool.close(drain);
    require(static_cast<std::size_t>(ran.load()) == finished, "and none ran later");
    balanced(pool);
  });
}

TEST(task_scope_model, a_running_task_is_asked) {
  check({.runs = 10'000}, [] {
    sync::var<int> data{0};
    thread_pool pool({.core_threads = 1});
    {
      task_scope scope{{.executor = pool}};
      scope.spawn([&](const sync::stop_token& stop) {
        while (!stop.stop_requested()) sync::yield();
        data.write() = 1;
      });
      sync::thread other([&] { scope.request_stop(); });
      const auto all = scope.join();
      if (all[0].outcome() == task_outcome::finished) require(data.read() == 1, "it has ended");
      other.join();
    }
    data.write() = 2;  // no task runs any more
    pool.close(drain);
    balanced(pool);
  });
}

TEST(task_scope_model, join_waits_for_what_tasks_spawn) {
  check({.runs = 10'000}, [] {
    sync::var<int> data{0};
    thread_pool pool({.core_threads = 2});
    {
      task_scope scope{{.executor = pool}};
      scope.spawn([&] { scope.spawn([&] { data.write() = 1; }); });
      require(scope.join().size() == 2, "both");
      require(data.read() == 1, "it has ended");
    }
    pool.close(drain);
    balanced(pool);
  });
}

TEST(task_scope_model, the_deadline_against_the_last_task) {
  check({.runs = 10'000}, [] {
    manual_clock time;
    runs ran{0};
    thread_pool pool({.core_threads = 1, .time = &time});
    {
      task_scope scope{{.executor = pool}};
      scope.spawn([&] { ran.fetch_add(1); });
      sync::thread clock([&] { time.advance(1s); });
      const auto all = scope.join(1s);
      require(ran.load() == (all[0].outcome() == task_outcome::finished ? 1 : 0), "as it was");
      clock.join();
    }
    pool.close(drain);
    balanced(pool);
  });
}

TEST(task_scope_model, an_outer_stop_reaches_the_inner_scope) {
  check({.runs = 10'000}, [] {
    sync::var<int> data{0};
    thread_pool pool({.core_threads = 2});
    {
      task_scope outer{{.executor = pool}};
      outer.spawn([&](const sync::stop_token& stop) {
        task_scope inner{{.executor = pool, .stop = stop}};
        inner.spawn([&](const sync::stop_token& innermost) {
          while (!innermost.stop_requested()) sync::yield();
          data.write() = 1;
        });
        static_cast<void>(inner.join());
        data.write() = 2;
      });
      outer.request_stop();
      static_cast<void>(outer.join());
      data.write() = 3;
    }
    pool.close(drain);
    balanced(pool);
  });
}

TEST(task_scope_model, the_destructor_against_a_task_that_spawns) {
  check({.runs = 10'000}, [] {
    sync::var<int> data{0};
    thread_pool pool({.core_threads = 2});
    {
      task_scope scope{{.executor = pool}};
      scope.spawn([&] { scope.spawn([&](const sync::stop_token&) { data.write() = 1; }); });
    }
    data.write() = 2;  // no task runs any more
    pool.close(drain);
    balanced(pool);
  });
}

TEST(task_scope_model, join_against_spawn_by_another_thread) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    std::size_t told = 0;
    thread_pool pool({.core_threads = 1});
    {
      task_scope scope{{.executor = pool}};
      sync::thread other([&] { scope.spawn([&] { ran.fetch_add(1); }); });
      told += scope.join().size();
      other.join();
      told += scope.join().size();
    }
    require(told == 1 && ran.load() == 1, "it is of one of the two");
    pool.close(drain);
    balanced(pool);
  });
}

// The task runs within spawn(), which another thread calls.
TEST(task_scope_model, stop_against_a_task_that_runs_while_it_is_spawned) {
  check({.runs = 10'000}, [] {
    sync::var<int> data{0};
    task_scope scope{{.executor = inline_executor()}};
    sync::thread other([&] {
      scope.spawn([&](const sync::stop_token& stop) {
        while (!stop.stop_requested()) sync::yield();
        data.write() = 1;
      });
    });
    std::size_t told = scope.join(0s).size();
    if (told == 0) scope.request_stop();
    other.join();
    told += scope.join().size();
    require(told == 1, "it is told of");
    data.write() = 2;  // no task runs any more
  });
}

TEST(task_scope_model, an_executor_that_refuses_against_join) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    task_scope scope{{.executor = pool}};
    pool.shutdown();
    sync::thread other([&] {
      try {
        scope.spawn([] {});
        require(false, "it is refused");
      } catch (const rejected&) {
      }
    });
    require(scope.join().empty(), "and no part of it");
    other.join();
    require(scope.join().empty(), "later neither");
  });
}

TEST(task_scope_model, the_destructor_waits) {
  check({.runs = 10'000}, [] {
    sync::var<int> data{0};
    thread_pool pool({.core_threads = 1});
    {
      task_scope scope{{.executor = pool}};
      scope.spawn([&](const sync::stop_token&) { data.write() = 1; });
    }
    data.write() = 2;
    pool.close(drain);
    balanced(pool);
  });
}

}  // namespace

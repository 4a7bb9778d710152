// A thread that has deferred continuations runs them before it waits.
#include "../../tests/support/owing.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <takt/clock/manual_clock.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt_test::gate;
using takt_test::owe_and_wait;

TEST(owing, a_loop_that_has_nothing_to_do) {
  takt::event_loop loop;
  owe_and_wait([&] { loop.stop(); }, [&] { loop.run(); });
}

TEST(owing, a_loop_that_comes_to_it_by_a_task) {
  takt::event_loop loop;
  takt::promise<void> p;
  auto stops = p.get_future().then([&] { loop.stop(); });
  owe_and_wait([&] { loop.execute([&] { p.set_value(); }); }, [&] { loop.run(); });
  stops.get();
}

TEST(owing, the_destruction_of_a_wheel_whose_thread_runs_a_task) {
  gate begun;
  gate go_on;
  takt::manual_clock time;
  std::optional<takt::wheel_scheduler> wheel(std::in_place,
                                             takt::wheel_scheduler_options{.time = &time});
  wheel->execute(1ms, takt::inline_executor(), [&] {
    begun.open();
    go_on.wait();
  });
  time.advance(10ms);
  begun.wait();
  owe_and_wait([&] { go_on.open(); }, [&] { wheel.reset(); });
}

}  // namespace

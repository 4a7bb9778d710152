// A thread with deferred continuations calls them before it waits.
#include "../../tests/support/owing.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/service/channel.hpp>
#include <takt/service/service_group.hpp>
#include <takt/service/stop_signals.hpp>
#include <takt/service/task_scope.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt_test::gate;
using takt_test::owe_and_wait;

TEST(owing, a_consumer_that_waits_for_a_value) {
  takt::channel<int> c{{.capacity = 1}};
  auto in = c.make_producer();
  auto out = c.make_consumer();
  owe_and_wait([&] { in.push(1); }, [&] { EXPECT_EQ(out.pop_for(0s), 1); });
}

TEST(owing, a_producer_that_waits_for_room) {
  takt::channel<int> c{{.capacity = 1, .rejection = takt::when_full::wait(0s)}};
  auto in = c.make_producer();
  auto out = c.make_consumer();
  in.push(1);
  owe_and_wait([&] { EXPECT_EQ(out.try_pop(), 1); }, [&] { EXPECT_TRUE(in.push(2)); });
  EXPECT_EQ(out.try_pop(), 2);
}

// A producer that finds the channel full calls its continuations before it queues for room: one of
// them may need the room first.
TEST(owing, a_producer_whose_calls_wait_for_room_as_well) {
  takt::manual_clock time;
  takt::channel<int> c{{.capacity = 1, .time = &time}};
  auto in = c.make_producer();
  auto out = c.make_consumer();
  in.push(1);
  takt::sync::thread other([&] {
    time.wait_for_waiters(1);  // a producer waits for room
    for (const int wanted : {1, 2, 3}) EXPECT_EQ(out.pop(), wanted);
  });
  owe_and_wait([&] { in.push(2); }, [&] { in.push(3); });
  other.join();
}

TEST(owing, a_group_that_waits_for_a_request) {
  takt::service_group group;
  owe_and_wait([&] { group.request_stop(); }, [&] { group.wait_for_request(); });
}

TEST(owing, a_group_that_another_thread_stops) {
  takt::service_group group;
  gate begun;
  gate go_on;
  group.add("slow", {.shutdown =
                         [&] {
                           begun.open();
                           go_on.wait();
                         },
                     .await_end = [](auto, const auto&) { return true; },
                     .force = [] {}});
  group.start();
  takt::sync::thread other([&] { group.stop(1s); });
  begun.wait();
  owe_and_wait([&] { go_on.open(); }, [&] { group.stop(1s); });
  other.join();
}

TEST(owing, a_scope_while_another_thread_spawns) {
  gate begun;
  gate go_on;
  struct slow_executor {
    gate& begun;
    gate& go_on;
    void execute(takt::task t) {
      begun.open();
      go_on.wait();
      t.run();
    }
  } slow{begun, go_on};
  takt::task_scope<int> scope{{.executor = slow}};
  takt::sync::thread other([&] { scope.spawn([] { return 1; }); });
  begun.wait();
  owe_and_wait([&] { go_on.open(); }, [&] { EXPECT_EQ(scope.join().size(), 1u); });
  other.join();
}

TEST(owing, the_destruction_of_signals_whose_thread_calls) {
  gate begun;
  gate go_on;
  std::optional<takt::stop_signals> signals(std::in_place,
                                            takt::stop_signals::options_type{.signals = {SIGUSR1}});
  const takt::sync::stop_callback on_signal(signals->stop_token(), [&] {
    begun.open();
    go_on.wait();
  });
  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  begun.wait();
  owe_and_wait([&] { go_on.open(); }, [&] { signals.reset(); });
}

}  // namespace

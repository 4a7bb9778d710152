/// \file
/// Two threads that wake each other in turn.
#pragma once

#include <cstdint>
#include <thread>

#include "harness.hpp"
#include "support/stopwatch.hpp"

namespace bench {

numbers park_condition_variable(const request& asked);
numbers park_binary_semaphore(const request& asked);
numbers park_takt(const request& asked);

/// One round trip: wakes the other thread and waits to be woken by it. Parker has park(), which
/// takes a token or waits for one, and unpark(), which leaves one.
template <class Parker>
numbers ping_pong(const request& asked) {
  const std::int64_t trips = asked.amount(20'000);
  Parker ping;
  Parker pong;
  std::jthread other([&] {
    for (std::int64_t i = 0; i <= trips; ++i) {
      ping.park();
      pong.unpark();
    }
  });
  ping.unpark();
  pong.park();  // the other thread runs: its start is not measured
  const stopwatch watch;
  for (std::int64_t i = 0; i < trips; ++i) {
    ping.unpark();
    pong.park();
  }
  return {watch.nanoseconds_per(trips)};
}

}  // namespace bench

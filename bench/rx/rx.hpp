/// \file
/// The cost of running one action when no action has to wait.
///
/// queue: an action that reschedules itself without a delay, a million times. asap: batches of 1000
/// new actions. virtual time: a hundred actions that reschedule themselves, each with its own
/// delay, until there are a million runs.
#pragma once

#include <cstdint>

#include "harness.hpp"

namespace bench {

constexpr std::int64_t rx_actions = 1'000'000;
constexpr std::int64_t rx_batch = 1'000;
constexpr std::int64_t rx_chains = 100;

numbers rx_takt(const request& asked);
numbers rx_rxjs(const request& asked);

}  // namespace bench

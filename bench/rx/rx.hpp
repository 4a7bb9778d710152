/// \file
/// Actions: what it costs to run one, per action, where nothing waits.
///
/// queue: an action that schedules itself again without a delay, a million times. asap: batches of
/// 1000 actions, each made anew. virtual time: a hundred actions that schedule themselves again,
/// each with a delay of its own, until there were a million runs.
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

/// \file
/// Items passed from several threads to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "support/producers.hpp"

namespace bench {

numbers mpsc_mutex_deque(const request& asked);
numbers mpsc_takt(const request& asked);

/// Measures from the release of the producers until the last item has arrived. The items exist
/// before; pointers are passed. Queue has an item type with a value, push(item&), and drain(f),
/// which calls f(item&) for each queued item. A consumer that finds no item yields: the workloads
/// wake and park measure sleeping and waking.
template <class Queue>
numbers mpsc_through(const request& asked) {
  using item = typename Queue::item;
  const std::int64_t producer_count = asked["producers"];
  const std::int64_t total = asked.amount(1'000'000);
  const std::int64_t largest_share = (total + producer_count - 1) / producer_count;

  std::vector<std::vector<item>> items;
  for (std::int64_t i = 0; i < producer_count; ++i) {
    items.emplace_back(static_cast<std::size_t>(largest_share));
    for (item& each : items.back()) each.value = 1;
  }
  Queue queue;
  producers pushing(producer_count, total, [&](std::int64_t producer, std::int64_t share) {
    item* const mine = items[static_cast<std::size_t>(producer)].data();
    for (std::int64_t i = 0; i < share; ++i) queue.push(mine[i]);
  });

  std::int64_t arrived = 0;
  const stopwatch watch = pushing.start();
  while (arrived < total) {
    const std::int64_t before = arrived;
    queue.drain([&](item& each) { arrived += each.value; });
    if (arrived == before) std::this_thread::yield();
  }
  const double result = watch.nanoseconds_per(total);
  if (arrived != total) throw std::logic_error("more items arrived than were sent");
  return {result};
}

}  // namespace bench

/// \file
/// Empty tasks from outside threads into a pool of 2 workers.
#pragma once

#include "harness.hpp"
#include "support/producers.hpp"

namespace bench {

numbers submit_naive_pool(const request& asked);
numbers submit_asio(const request& asked);

/// From the moment the producers are let go until the last task has run. Pool has post(task) and
/// join(), which returns when everything posted has run.
template <class Pool>
numbers submit_into(const request& asked) {
  const std::int64_t tasks = asked.amount(1'000'000);
  Pool pool(2);
  producers posting(asked["producers"], tasks, [&pool](std::int64_t, std::int64_t share) {
    for (std::int64_t i = 0; i < share; ++i) pool.post([] {});
  });
  const stopwatch watch = posting.start();
  posting.join();
  pool.join();
  return {watch.nanoseconds_per(tasks)};
}

}  // namespace bench

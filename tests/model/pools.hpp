// Shared by the model checks of pools.
#pragma once

#include <takt/base/detail/sync.hpp>
#include <takt/model/explore.hpp>

// Counts runs; read when the pool has terminated.
using runs = takt::sync::atomic<int>;

// Submits two tasks, one of them from another thread.
template <class Pool>
void execute_from_two_threads(Pool& pool, runs& ran) {
  takt::sync::thread other([&] { pool.execute([&] { ran.fetch_add(1); }); });
  pool.execute([&] { ran.fetch_add(1); });
  other.join();
}

// Requires that each task has an outcome.
template <class Pool>
void balanced(const Pool& pool) {
  takt::model::require(pool.totals().pending() == 0, "the ledger balances");
}

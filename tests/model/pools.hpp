// What model checks of pools have in common.
#pragma once

#include <takt/base/detail/sync.hpp>
#include <takt/model/explore.hpp>

// How often a task ran; by the thread that runs it, read after the end of the pool.
using runs = takt::sync::atomic<int>;

// Has two tasks run, one of which comes from another thread.
template <class Pool>
void execute_from_two_threads(Pool& pool, runs& ran) {
  takt::sync::thread other([&] { pool.execute([&] { ran.fetch_add(1); }); });
  pool.execute([&] { ran.fetch_add(1); });
  other.join();
}

// Each task has come to an end.
template <class Pool>
void balanced(const Pool& pool) {
  takt::model::require(pool.totals().pending() == 0, "the ledger balances");
}

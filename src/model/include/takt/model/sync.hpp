/// \file
/// The sync shim of the model build: takt::sync with instrumented names.
#pragma once

#include <cstdint>
#include <mutex>

#include <takt/model/atomic.hpp>
#include <takt/model/locks.hpp>
#include <takt/model/mutex.hpp>
#include <takt/model/stop_token.hpp>
#include <takt/model/thread.hpp>
#include <takt/model/var.hpp>

namespace takt::inline TAKT_ABI {
namespace sync {

using model::atomic;
using model::clock;
using model::condition_variable;
using model::condition_variable_any;
using model::mutex;
using model::stop_callback;
using model::stop_source;
using model::stop_token;
using model::this_thread_id;
using model::thread;
using model::tls;
using model::var;
using model::wall_clock;
using model::yield;
using std::nostopstate;

/// Blocks while `word` holds `expected`, until a wake, the deadline or, rarely, a spurious return.
/// \return true at the deadline.
[[nodiscard]] bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                              clock::time_point deadline) noexcept;
[[nodiscard]] bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                              wall_clock::time_point deadline) noexcept;
/// Wakes one waiter on `word`, if any. Uses only the address: the word may already be destroyed.
void futex_wake_one(const atomic<std::uint32_t>* word) noexcept;

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

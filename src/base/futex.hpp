// Waits on the value of a word: the system call behind takt::parker on Linux. Internal to the base
// module; other code uses takt::parker.
//
// The functions are system calls on Linux and operations of the model checker in the model build.
// With TAKT_PORTABLE_PARKING they do not exist: takt::parker is then a mutex and a condition
// variable.
#pragma once

#include <takt/base/detail/sync.hpp>

#if !defined(TAKT_MODEL) && !defined(TAKT_PORTABLE_PARKING)

#if !defined(__linux__)
#error "takt parks threads with futexes, which this platform lacks: define TAKT_PORTABLE_PARKING"
#endif

#include <cstdint>

namespace takt::inline TAKT_ABI {
namespace sync {

// Blocks while `word` holds `expected`, until a wake or `deadline` (time_point::max(): never).
//
// The comparison and the start of the sleep are atomic with respect to futex_wake_one(): a thread
// that changes `word` and then wakes never misses a thread that is about to sleep on the old value.
//
// Returns true only if the deadline has passed. false has no meaning: the cause may be a wake, a
// changed word, a signal, or a wake for an earlier object at this address. So the caller reads the
// word again. Provides no memory ordering; the caller's atomics do.
[[nodiscard]] bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                              clock::time_point deadline) noexcept;
// As above, with a time of day: if that is set, the deadline comes earlier or later.
[[nodiscard]] bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                              wall_clock::time_point deadline) noexcept;

// Wakes one thread that is blocked in futex_wait() on `word`, if any.
//
// `word` is only an address and is never read, so the word may already be destroyed. The kernel
// then finds no waiters at that address; or, if another word now lives there, that word's waiter
// returns spuriously, which it handles.
void futex_wake_one(const atomic<std::uint32_t>* word) noexcept;

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

#endif

// Waiting on the value of a word: the one system call that parking is made of on Linux.
//
// These are for the base module; other code uses takt::parker. The pair exists in three builds: as
// system calls on Linux, as operations of the model checker in the model build, and not at all
// with TAKT_PORTABLE_PARKING, where takt::parker is made of a mutex and a condition variable.
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
// The comparison and going to sleep are one step with respect to futex_wake_one(): a thread that
// changes `word` and then wakes never misses one that is about to sleep on the old value.
//
// Returns true only if the deadline has passed. false says nothing: it may be a wake, a changed
// word, a signal, or a wake that was meant for something that used to live at this address. So
// the caller always looks at the word again. Orders nothing; the caller's atomics do.
[[nodiscard]] bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                              clock::time_point deadline) noexcept;
// As above. When the time of day is set, the deadline comes earlier or later accordingly.
[[nodiscard]] bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                              wall_clock::time_point deadline) noexcept;

// Wakes one thread that is blocked in futex_wait() on `word`, if any.
//
// `word` is used as an address only and never read, so it may have been destroyed already: the
// kernel looks for sleepers under that address and finds none, or, if the address has been used
// again for another word, gives that word's waiter a return for no reason, which it is prepared
// for.
void futex_wake_one(const atomic<std::uint32_t>* word) noexcept;

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

#endif

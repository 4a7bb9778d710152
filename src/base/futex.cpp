// The Linux implementation of futex.hpp.
#include "futex.hpp"

#if !defined(TAKT_MODEL) && !defined(TAKT_PORTABLE_PARKING)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <limits>

#include <takt/base/detail/assert.hpp>

namespace takt::inline TAKT_ABI {
namespace sync {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  atomic<std::uint32_t>::is_always_lock_free,
              "the kernel compares the bare word");
static_assert(sizeof(time_t) == sizeof(long),
              "SYS_futex takes a timespec of two longs here: define TAKT_PORTABLE_PARKING");

namespace {

// `operation` selects the clock of `deadline`. Of the WAIT operations only WAIT_BITSET takes an
// absolute deadline.
bool wait_until(int operation, atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds deadline) noexcept {
  timespec at{};
  if (deadline.count() > 0) {  // the kernel rejects negative times
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(deadline);
    at.tv_sec = static_cast<time_t>(seconds.count());
    at.tv_nsec = static_cast<long>((deadline - seconds).count());
  }
  const timespec* const until = deadline == std::chrono::nanoseconds::max() ? nullptr : &at;
  const long result = ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, expected, until,
                                nullptr, FUTEX_BITSET_MATCH_ANY);
  const int error = result == 0 ? 0 : errno;
  TAKT_ASSERT(error == 0 || error == EAGAIN || error == EINTR || error == ETIMEDOUT);
  return error == ETIMEDOUT;
}

}  // namespace

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                clock::time_point deadline) noexcept {
  // without FUTEX_CLOCK_REALTIME: CLOCK_MONOTONIC, the clock of steady_clock
  return wait_until(FUTEX_WAIT_BITSET, word, expected, deadline.time_since_epoch());
}

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                wall_clock::time_point deadline) noexcept {
  return wait_until(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, word, expected,
                    deadline.time_since_epoch());
}

void futex_wake_one(const atomic<std::uint32_t>* word) noexcept {
  // Errors are ignored: a stale address has no waiters or is no longer mapped.
  ::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
}

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

#endif

// The Linux side of takt/base/futex.hpp: all of base's system calls are here.
#include <takt/base/futex.hpp>

#if !defined(TAKT_MODEL) && !defined(TAKT_PORTABLE_PARKING)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <limits>

#include <takt/base/assert.hpp>

namespace takt::inline TAKT_ABI {
namespace sync {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  atomic<std::uint32_t>::is_always_lock_free,
              "the kernel compares the bare word");
static_assert(sizeof(time_t) == sizeof(long),
              "SYS_futex takes a timespec of two longs here: define TAKT_PORTABLE_PARKING");

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                clock::time_point deadline) noexcept {
  // Of the WAIT operations only WAIT_BITSET takes an absolute deadline, of CLOCK_MONOTONIC; that
  // is what steady_clock reads.
  timespec at{};
  if (deadline.time_since_epoch().count() > 0) {  // the kernel rejects negative times
    const auto since_boot = deadline.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    at.tv_sec = static_cast<time_t>(seconds.count());
    at.tv_nsec = static_cast<long>(std::chrono::nanoseconds(since_boot - seconds).count());
  }
  const timespec* const until = deadline == clock::time_point::max() ? nullptr : &at;
  const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                until, nullptr, FUTEX_BITSET_MATCH_ANY);
  const int error = result == 0 ? 0 : errno;
  TAKT_ASSERT(error == 0 || error == EAGAIN || error == EINTR || error == ETIMEDOUT);
  return error == ETIMEDOUT;
}

void futex_wake_one(const atomic<std::uint32_t>* word) noexcept {
  // No error can be acted upon: a stale address finds no sleepers, or is no longer mapped.
  ::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
}

}  // namespace sync
}  // namespace takt::inline TAKT_ABI

#endif

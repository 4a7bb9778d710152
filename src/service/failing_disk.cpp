// The program's own fsync() and ftruncate() are called instead of the C library's.
#include "failing_disk.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <takt/base/sync.hpp>

namespace {

takt::sync::atomic<bool> sync_fails{false};
takt::sync::atomic<bool> truncate_fails{false};
takt::sync::atomic<int> sync_calls{0};
takt::sync::atomic<int> sync_interrupts{0};

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): named as in the C library's header
extern "C" int fsync(int __fd) {
  ++sync_calls;
  if (sync_interrupts > 0) {
    --sync_interrupts;
    errno = EINTR;
    return -1;
  }
  if (sync_fails) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, __fd));
}

extern "C" int ftruncate(int __fd, off_t __length) noexcept {
  if (truncate_fails) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_ftruncate, __fd, __length));
}
// NOLINTEND(bugprone-reserved-identifier)

namespace takt_test {

failing_disk::failing_disk(failing_calls which) noexcept {
  sync_calls = 0;
  sync_fails = which.sync;
  truncate_fails = which.truncate;
  sync_interrupts = which.interrupted;
}
failing_disk::~failing_disk() {
  sync_fails = false;
  truncate_fails = false;
  sync_interrupts = 0;
}
int failing_disk::syncs() const noexcept { return sync_calls; }  // NOLINT: of this one

}  // namespace takt_test

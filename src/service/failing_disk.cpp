// Replaces fsync() and ftruncate() of the C library within the test program.
#include "failing_disk.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <utility>

#include <takt/base/detail/sync.hpp>

namespace {

takt::sync::atomic<bool> sync_fails{false};
takt::sync::atomic<bool> sync_pretends{false};
takt::sync::atomic<bool> truncate_fails{false};
takt::sync::atomic<int> sync_calls{0};
takt::sync::atomic<int> sync_interrupts{0};
std::function<void()> sync_hook;  // changed by tests while no other thread calls fsync()
takt::sync::atomic<unsigned> sync_failures{0};

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the names of the C library's header
extern "C" int fsync(int __fd) {
  ++sync_calls;
  if (sync_hook) sync_hook();
  if (sync_interrupts > 0) {
    --sync_interrupts;
    errno = EINTR;
    return -1;
  }
  const int call = sync_calls;
  if (sync_fails || (call <= 32 && (sync_failures >> (call - 1) & 1U) != 0)) {
    errno = EIO;
    return -1;
  }
  return sync_pretends ? 0 : static_cast<int>(syscall(SYS_fsync, __fd));
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
  sync_pretends = which.pretend;
  truncate_fails = which.truncate;
  sync_interrupts = which.interrupted;
  sync_failures = which.syncs;
}
failing_disk::~failing_disk() {
  sync_hook = nullptr;
  sync_fails = false;
  sync_pretends = false;
  truncate_fails = false;
  sync_interrupts = 0;
  sync_failures = 0;
}
void failing_disk::at_sync(std::function<void()> call) { sync_hook = std::move(call); }
int failing_disk::syncs() const noexcept { return sync_calls; }  // NOLINT: of this one

full_disk::full_disk(std::uint64_t size) noexcept : on_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
  getrlimit(RLIMIT_FSIZE, &before_);
  const rlimit now{.rlim_cur = size, .rlim_max = before_.rlim_max};
  setrlimit(RLIMIT_FSIZE, &now);
}
full_disk::~full_disk() {
  setrlimit(RLIMIT_FSIZE, &before_);
  std::signal(SIGXFSZ, on_signal_);
}

}  // namespace takt_test

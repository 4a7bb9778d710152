// For tests: a disk that fails on demand. Link failing_disk.cpp.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <functional>

namespace takt_test {

// During its lifetime, selected calls of the process fail with EIO, and fsync() calls are counted.
struct failing_calls {
  bool pretend = false;   // fsync() succeeds and does nothing: for tests that make many files
  bool sync = false;      // fsync() fails
  bool truncate = false;  // ftruncate() fails
  int interrupted = 0;    // number of fsync() calls that a signal interrupts, before others
  unsigned syncs = 0;     // set of fsync() calls that fail: bit 0 is the first call
};
class failing_disk {
 public:
  explicit failing_disk(failing_calls which) noexcept;
  ~failing_disk();
  failing_disk(const failing_disk&) = delete;
  failing_disk& operator=(const failing_disk&) = delete;
  // Number of fsync() calls during its lifetime.
  [[nodiscard]] int syncs() const noexcept;
  // Called at the beginning of each fsync().
  void at_sync(std::function<void()> call);
};

// During its lifetime, no file of this process can become longer than `size`.
class full_disk {
 public:
  explicit full_disk(std::uint64_t size) noexcept;
  ~full_disk();
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;

 private:
  rlimit before_{};
  void (*on_signal_)(int);
};

}  // namespace takt_test

// For tests: a disk that fails when it is asked to. Link failing_disk.cpp.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <functional>

namespace takt_test {

// While it exists, these calls of the process fail with EIO, and are counted.
struct failing_calls {
  bool pretend = false;   // fsync() succeeds and does nothing: for tests that make many files
  bool sync = false;      // fsync()
  bool truncate = false;  // ftruncate()
  int interrupted = 0;    // so many of fsync(), by a signal, before it succeeds
  unsigned syncs = 0;     // these calls of fsync(): bit 0 is the first one
};
class failing_disk {
 public:
  explicit failing_disk(failing_calls which) noexcept;
  ~failing_disk();
  failing_disk(const failing_disk&) = delete;
  failing_disk& operator=(const failing_disk&) = delete;
  // Calls of fsync() since it is there.
  [[nodiscard]] int syncs() const noexcept;
  // Called at the beginning of each fsync().
  void at_sync(std::function<void()> call);
};

// While it exists, no file of this process becomes longer than that.
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

// For tests: a disk that fails when it is asked to. Link failing_disk.cpp.
#pragma once

namespace takt_test {

// While it exists, these calls of the process fail with EIO, and are counted.
struct failing_calls {
  bool sync = false;      // fsync()
  bool truncate = false;  // ftruncate()
  int interrupted = 0;    // so many of fsync(), by a signal, before it succeeds
};
class failing_disk {
 public:
  explicit failing_disk(failing_calls which) noexcept;
  ~failing_disk();
  failing_disk(const failing_disk&) = delete;
  failing_disk& operator=(const failing_disk&) = delete;
  // Calls of fsync() since it is there.
  [[nodiscard]] int syncs() const noexcept;
};

}  // namespace takt_test

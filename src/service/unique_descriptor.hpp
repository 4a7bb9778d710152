/// Owning file descriptors (POSIX).
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <takt/base/config.hpp>

#include "../base/os.hpp"

namespace takt::inline TAKT_ABI {

/// Owns a file descriptor; the destructor closes it. Not thread-safe.
class unique_descriptor {
 public:
  unique_descriptor() = default;
  explicit unique_descriptor(int number) noexcept : number_(number) {}
  unique_descriptor(unique_descriptor&& other) noexcept : number_(other.release()) {}
  unique_descriptor& operator=(unique_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~unique_descriptor() {
    if (number_ != -1) ::close(number_);
  }

  /// Calls openat() with O_CLOEXEC, again if it was interrupted. Never returns the number of
  /// standard input, output or error, even if one of them is closed: otherwise output of the
  /// program could get into the file. On failure the result is not open, and errno is set.
  [[nodiscard]] static unique_descriptor open(int folder, const char* name, int flags,
                                              mode_t mode = 0) noexcept {
    const int opened =
        os::uninterrupted([&] { return ::openat(folder, name, flags | O_CLOEXEC, mode); });
    if (opened == -1 || opened > STDERR_FILENO) return unique_descriptor(opened);
    const int moved = fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(opened);
    errno = error;
    return unique_descriptor(moved);
  }

  [[nodiscard]] bool is_open() const noexcept { return number_ != -1; }
  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace takt::inline TAKT_ABI

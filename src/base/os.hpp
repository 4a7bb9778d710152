/// The operating-system calls of takt. Most of them do nothing on platforms other than Linux, in
/// the model build, and with TAKT_PORTABLE_PARKING.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI::os {

/// Repeats a system call while a signal interrupts it (EINTR). \return the last result.
template <class Call>
auto uninterrupted(Call call) noexcept {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// The id of this process; 0 if unknown.
long process_id() noexcept;

/// Setters for the calling thread. Settings that the system lacks or refuses are ignored.
void set_thread_name(const std::string& name, std::size_t number) noexcept;
void set_thread_nice(int nice) noexcept;
void set_thread_cpus(const std::vector<int>& cpus) noexcept;
/// Sets the calling thread's timer slack to 1 ns, so that timed waits end without the usual delay
/// of up to 50 us.
void wake_without_slack() noexcept;

/// Writes an open file to disk (fsync). \return false if that failed, with the reason in errno.
/// True for descriptors that do not support fsync, such as pipes.
bool sync_to_disk(std::FILE* file) noexcept;
/// Writes the directory entry of a file to disk. \return as above.
bool sync_name_to_disk(const std::filesystem::path& file);

/// std::fopen() that retries after a signal, and never opens descriptors 0 to 2, even if one of
/// them is closed: output to stdout or stderr must not get into the file.
std::FILE* open_file(const char* path, const char* mode) noexcept;

/// A descriptor that is readable from raise() until clear(), once open() has created it. open()
/// throws std::system_error if it cannot be created.
class signal_descriptor {
 public:
  signal_descriptor() = default;
  ~signal_descriptor();
  signal_descriptor(const signal_descriptor&) = delete;
  signal_descriptor& operator=(const signal_descriptor&) = delete;

  int open();
  void raise() noexcept;
  void clear() noexcept;

 private:
  int descriptor_ = -1;
};

/// The niceness of the calling thread; 0 if unknown.
int thread_nice() noexcept;

/// Number of CPUs that the calling thread may run on; 0 if unknown.
std::size_t allowed_cpus() noexcept;

/// Number of CPUs' worth of time that its cgroup allows this process, rounded up; 0 without a
/// limit.
std::size_t cgroup_cpus() noexcept;

/// The limit in a cpu.max file of cgroup v2 ("200000 100000"), at least 1; 0 without a limit.
std::size_t parse_cpu_max(const std::string& text) noexcept;

}  // namespace takt::inline TAKT_ABI::os

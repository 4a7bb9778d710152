/// What takt asks of the operating system.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI::os {

/// Repeats a call of the system that a signal has interrupted. \return what the last one did.
template <class Call>
auto uninterrupted(Call call) noexcept {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// The id of this process; 0 where there are none.
long process_id() noexcept;

/// For the calling thread; what the system does not have or refuses is left alone.
void set_thread_name(const std::string& name, std::size_t number) noexcept;
void set_thread_nice(int nice) noexcept;
void set_thread_cpus(const std::vector<int>& cpus) noexcept;
/// Timed waits end as soon as they can, and not up to 50 us later, which is usual.
void wake_without_slack() noexcept;

/// Has an open file put on the disk (fsync). \return whether it is there, as far as one can tell;
/// errno says why not. What is no file, and so has no disk, counts as being there.
bool sync_to_disk(std::FILE* file) noexcept;
/// The same for the name of a file: the folder that it is in.
bool sync_name_to_disk(const std::filesystem::path& file);

/// As std::fopen(), which a signal does not interrupt. Never standard input, output or error,
/// should one of them be closed: what somebody prints must not get into the file.
std::FILE* open_file(const char* path, const char* mode) noexcept;

/// A descriptor that is readable from raise() until clear(). Not before open(), which throws
/// std::system_error where there is none.
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

/// The niceness of the calling thread; 0 if there is none.
int thread_nice() noexcept;

/// How many CPUs the calling thread may run on; 0 if unknown.
std::size_t allowed_cpus() noexcept;

/// How many CPUs' worth of time a cgroup leaves to this process, rounded up; 0 if there is no
/// limit.
std::size_t cgroup_cpus() noexcept;

/// The limit in a cpu.max file of cgroup v2 ("200000 100000"), or 0 if there is none.
std::size_t parse_cpu_max(const std::string& text) noexcept;

}  // namespace takt::inline TAKT_ABI::os

#include "os.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <system_error>

#if defined(__linux__) && !defined(TAKT_MODEL) && !defined(TAKT_PORTABLE_PARKING)
#define TAKT_OS_LINUX 1
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace os {
namespace {

#if defined(TAKT_OS_LINUX)

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The cgroup of this process in the unified hierarchy (v2): the line "0::/path".
std::string own_cgroup() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "/";
}

#endif

}  // namespace

std::size_t parse_cpu_max(const std::string& text) noexcept {
  const char* const end = text.data() + text.size();
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  const auto first = std::from_chars(text.data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end) return 0;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc() || period == 0) return 0;
  return static_cast<std::size_t>(
      std::max<std::uint64_t>(1, quota / period + (quota % period != 0)));
}

#if defined(TAKT_OS_LINUX)

long process_id() noexcept { return getpid(); }

void set_thread_name(const std::string& name, std::size_t number) noexcept {
  char digits[24] = "-";
  const char* const end = std::to_chars(digits + 1, std::end(digits), number).ptr;
  char seen[16] = {};  // the limit of Linux, with the terminating null
  const auto most = static_cast<std::ptrdiff_t>(sizeof(seen) - 1);
  const std::ptrdiff_t rest = std::min(end - digits, most);
  const std::ptrdiff_t first = std::min(static_cast<std::ptrdiff_t>(name.size()), most - rest);
  std::copy_n(digits, rest, std::copy_n(name.data(), first, seen));
  pthread_setname_np(pthread_self(), seen);
}

int thread_nice() noexcept {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
}

void set_thread_nice(int nice) noexcept {
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice);
}

int signal_descriptor::open() {
  if (descriptor_ < 0) descriptor_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "takt: eventfd");
  return descriptor_;
}

// Ignores failures of eventfd_write() and eventfd_read(): the descriptor is then already in the
// requested state.
void signal_descriptor::raise() noexcept {
  if (descriptor_ >= 0) static_cast<void>(eventfd_write(descriptor_, 1));
}

void signal_descriptor::clear() noexcept {
  eventfd_t count = 0;
  if (descriptor_ >= 0) static_cast<void>(eventfd_read(descriptor_, &count));
}

signal_descriptor::~signal_descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

void wake_without_slack() noexcept { prctl(PR_SET_TIMERSLACK, 1UL); }

bool sync_to_disk(std::FILE* file) noexcept {
  const int result = uninterrupted([&] { return fsync(fileno(file)); });
  return result == 0 || errno == EINVAL || errno == ENOTSUP;
}

bool sync_name_to_disk(const std::filesystem::path& name) {
  std::error_code error_of_name;
  std::filesystem::path file = std::filesystem::canonical(name, error_of_name);  // follows links
  if (error_of_name) file = name;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int opened =
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (opened == -1) return false;
  const int result = uninterrupted([&] { return fsync(opened); });
  const int error = errno;
  ::close(opened);
  errno = error;
  return result == 0 || error == EINVAL || error == ENOTSUP;
}

std::FILE* open_file(const char* path, const char* mode) noexcept {
  std::FILE* opened = nullptr;
  do {
    opened = std::fopen(path, mode);
  } while (opened == nullptr && errno == EINTR);
  if (opened == nullptr || fileno(opened) > STDERR_FILENO) return opened;
  const int moved = fcntl(fileno(opened), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  std::FILE* const again = moved == -1 ? nullptr : fdopen(moved, mode);
  const int error = errno;
  if (again == nullptr && moved != -1) ::close(moved);
  static_cast<void>(std::fclose(opened));
  errno = error;
  return again;
}

void set_thread_cpus(const std::vector<int>& cpus) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

std::size_t allowed_cpus() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

std::size_t cgroup_cpus() noexcept {
  try {
    std::size_t least = 0;
    // A cgroup is also limited by each of its ancestors.
    for (std::string group = own_cgroup();; group.erase(group.find_last_of('/'))) {
      const std::size_t limit = parse_cpu_max(contents("/sys/fs/cgroup" + group + "/cpu.max"));
      if (limit != 0 && (least == 0 || limit < least)) least = limit;
      if (group.find_last_of('/') == std::string::npos) return least;
    }
  } catch (...) {
    return 0;
  }
}

#else

long process_id() noexcept { return 0; }
void set_thread_name(const std::string&, std::size_t) noexcept {}
int thread_nice() noexcept { return 0; }
void set_thread_nice(int) noexcept {}
void set_thread_cpus(const std::vector<int>&) noexcept {}
void wake_without_slack() noexcept {}
bool sync_to_disk(std::FILE* /*file*/) noexcept { return true; }
bool sync_name_to_disk(const std::filesystem::path& /*file*/) { return true; }
std::FILE* open_file(const char* path, const char* mode) noexcept { return std::fopen(path, mode); }
int signal_descriptor::open() {
  throw std::system_error(std::make_error_code(std::errc::function_not_supported),
                          "takt: no event descriptors on this platform");
}
void signal_descriptor::raise() noexcept {}
void signal_descriptor::clear() noexcept {}
signal_descriptor::~signal_descriptor() = default;
std::size_t allowed_cpus() noexcept { return 0; }
std::size_t cgroup_cpus() noexcept { return 0; }

#endif

}  // namespace os

}  // namespace takt::inline TAKT_ABI

#include "work_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <takt/service/work_list.hpp>

#include "../exec/os.hpp"

namespace takt::inline TAKT_ABI {
namespace {

using reason = work_list_error::reason;

[[noreturn]] void fail_with(int error, const std::filesystem::path& name, const char* what) {
  throw work_list_error(reason::failed, "takt::file_work_list: cannot " + std::string(what) + " '" +
                                            name.string() +
                                            "': " + std::generic_category().message(error));
}

// Whether the name still means the file that is open.
bool is_named(int descriptor, const std::filesystem::path& name) {
  struct stat opened{};
  struct stat found{};
  return fstat(descriptor, &opened) == 0 && stat(name.c_str(), &found) == 0 &&
         opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

// Never as standard input, output or error, should one of them be closed: what somebody prints must
// not get into the file. -1 if it cannot be opened.
int open_file(const std::filesystem::path& name, int flags) {
  const int opened =
      os::uninterrupted([&] { return ::open(name.c_str(), flags | O_CLOEXEC, 0666); });
  if (opened == -1 || opened > STDERR_FILENO) return opened;
  const int moved = fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(opened);
  errno = error;
  return moved;
}

}  // namespace

work_file::work_file(std::filesystem::path name, int flags)
    : name_(std::move(name)), descriptor_(open_file(name_, flags)) {}

work_file::work_file(work_file&& other) noexcept
    : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

work_file& work_file::operator=(work_file&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  name_.swap(other.name_);
  return *this;
}

work_file::~work_file() {
  if (descriptor_ != -1) ::close(descriptor_);
}

void work_file::fail(const char* what) const { fail_with(errno, name_, what); }

work_file work_file::open(const std::filesystem::path& name) {
  for (;;) {
    struct stat found{};
    if (stat(name.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
      throw work_list_error(reason::foreign,
                            "takt::file_work_list: '" + name.string() + "' is not a regular file");
    }
    work_file opened(name, O_RDWR | O_CREAT);
    if (opened.descriptor_ == -1) opened.fail("open");
    if (os::uninterrupted([&] { return flock(opened.descriptor_, LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) opened.fail("lock");
      throw work_list_error(reason::in_use, "takt::file_work_list: '" + name.string() +
                                                "' is in use by another list or process");
    }
    // Who had it may have put another file in its place before letting go of it.
    if (is_named(opened.descriptor_, name)) return opened;
  }
}

work_file work_file::create(const std::filesystem::path& name) {
  work_file made(name, O_RDWR | O_CREAT | O_TRUNC);
  if (made.descriptor_ == -1) made.fail("make");
  if (os::uninterrupted([&] { return flock(made.descriptor_, LOCK_EX | LOCK_NB); }) != 0) {
    made.fail("lock");
  }
  return made;
}

std::uint64_t work_file::size() const {
  struct stat found{};
  if (fstat(descriptor_, &found) != 0) fail("look at");
  return static_cast<std::uint64_t>(found.st_size);
}

std::string work_file::read(std::uint64_t from, std::size_t length) const {
  std::string bytes(length, '\0');
  std::size_t done = 0;
  while (done < length) {
    const ssize_t n = os::uninterrupted([&] {
      return pread(descriptor_, bytes.data() + done, length - done,
                   static_cast<off_t>(from + done));
    });
    if (n == -1) fail("read");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

void work_file::write(std::uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = os::uninterrupted(
        [&] { return pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at)); });
    if (n == -1) fail("write to");
    at += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void work_file::truncate(std::uint64_t size) {
  if (os::uninterrupted([&] { return ftruncate(descriptor_, static_cast<off_t>(size)); }) != 0) {
    fail("shorten");
  }
}

void work_file::sync() {
  if (os::uninterrupted([&] { return fsync(descriptor_); }) != 0) fail("sync");
}

void work_file::rename(std::filesystem::path name) {
  if (::rename(name_.c_str(), name.c_str()) != 0) fail("rename");
  name_.swap(name);
}

void work_file::sync_name() const {
  if (!os::sync_name_to_disk(name_)) fail("sync the folder of");
}

}  // namespace takt::inline TAKT_ABI

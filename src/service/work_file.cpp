#include "work_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <takt/service/work_queue.hpp>

#include "../base/os.hpp"

namespace takt::inline TAKT_ABI {
namespace {

using reason = work_queue_error::reason;

[[noreturn]] void fail_with(int error, const std::filesystem::path& name, const char* what) {
  throw work_queue_error(reason::failed, "takt::file_work_queue: cannot " + std::string(what) +
                                             " '" + name.string() +
                                             "': " + std::generic_category().message(error));
}

}  // namespace

work_file::work_file(std::filesystem::path name, unique_descriptor opened)
    : name_(std::move(name)), descriptor_(std::move(opened)) {}

void work_file::fail(const char* what) const { fail_with(errno, name_, what); }

work_file work_file::open(const std::filesystem::path& name) {
  for (;;) {
    struct stat found{};
    if (stat(name.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
      throw work_queue_error(
          reason::foreign, "takt::file_work_queue: '" + name.string() + "' is not a regular file");
    }
    work_file opened(name, unique_descriptor::open(AT_FDCWD, name.c_str(), O_RDWR | O_CREAT, 0666));
    if (!opened.descriptor_.is_open()) opened.fail("open");
    if (!opened.try_lock()) {
      if (errno != EWOULDBLOCK) opened.fail("lock");
      throw work_queue_error(reason::in_use, "takt::file_work_queue: '" + name.string() +
                                                 "' is in use by another list or process");
    }
    // Before it was unlocked, its previous owner may have replaced it by another file.
    if (opened.is_named(name)) return opened;
  }
}

work_file work_file::share(const std::filesystem::path& name, int descriptor) {
  work_file opened(name, unique_descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)));
  if (!opened.descriptor_.is_open()) opened.fail("open the new version of");
  if (!opened.try_lock()) opened.fail("lock the new version of");
  return opened;
}

bool work_file::try_lock() const noexcept {
  return os::uninterrupted([&] { return flock(descriptor_.get(), LOCK_EX | LOCK_NB); }) == 0;
}

bool work_file::is_named(const std::filesystem::path& name) const noexcept {
  struct stat opened{};
  struct stat found{};
  return fstat(descriptor_.get(), &opened) == 0 && stat(name.c_str(), &found) == 0 &&
         opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

std::uint64_t work_file::size() const {
  struct stat found{};
  if (fstat(descriptor_.get(), &found) != 0) fail("look at");
  return static_cast<std::uint64_t>(found.st_size);
}

bool work_file::is_deleted() const {
  struct stat found{};
  return fstat(descriptor_.get(), &found) == 0 && found.st_nlink == 0;
}

std::string work_file::read(std::uint64_t from, std::size_t length) const {
  std::string bytes(length, '\0');
  std::size_t done = 0;
  while (done < length) {
    const ssize_t n = os::uninterrupted([&] {
      return pread(descriptor_.get(), bytes.data() + done, length - done,
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
    const ssize_t n = os::uninterrupted([&] {
      return pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    });
    if (n == -1) fail("write to");
    at += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void work_file::truncate(std::uint64_t size) {
  if (os::uninterrupted([&] { return ftruncate(descriptor_.get(), static_cast<off_t>(size)); }) !=
      0) {
    fail("shorten");
  }
}

void work_file::sync() {
  if (os::uninterrupted([&] { return fsync(descriptor_.get()); }) != 0) fail("sync");
}

void work_file::sync_name() const {
  if (!os::sync_name_to_disk(name_)) fail("sync the folder of");
}

}  // namespace takt::inline TAKT_ABI

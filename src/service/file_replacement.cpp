// States: open; failed (a write, an fsync or the rename has failed: commit() throws from then on);
// committed (the temporary file has the name of the target).
//
// All names are relative to one descriptor of the folder, so that the temporary file, the target
// and the synced folder belong together even if the folder is renamed meanwhile.
#include <takt/service/file_replacement.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include <takt/base/detail/assert.hpp>
#include <takt/exec/detail/fork_guard.hpp>

#include "unique_descriptor.hpp"

namespace takt::inline TAKT_ABI {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_size = 65'536;

[[noreturn]] void fail_with(int error, const char* action, const fs::path& target) {
  throw std::system_error(
      error, std::generic_category(),
      "takt::file_replacement: cannot " + std::string(action) + " '" + target.string() + "'");
}

// The path at the end of a chain of symbolic links; the file may be missing.
fs::path resolve(const fs::path& target) {
  constexpr int max_links = 40;  // as in Linux
  fs::path at = target;
  for (int i = 0; i <= max_links; ++i) {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(at, error))) return fs::absolute(at);
    const fs::path link = fs::read_symlink(at, error);
    if (error) fail_with(error.value(), "read the link", at);
    at = link.is_absolute() ? link : at.parent_path() / link;
  }
  fail_with(ELOOP, "find", target);
}

std::string random_digits() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::random_device random;
  std::string text;
  while (text.size() < 16) {
    const std::uint32_t bits = random();
    for (unsigned shift = 0; shift < 32; shift += 4) text.push_back(digits[bits >> shift & 0xfU]);
  }
  return text;
}

}  // namespace

class file_replacement::impl {
 public:
  explicit impl(const fs::path& target);
  ~impl();
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  void write(std::string_view bytes);
  void sync();
  void commit();

  const fs::path target_;
  unique_descriptor file_;
  bool committed_ = false;

 private:
  [[noreturn]] void fail(const char* action) const { fail_with(errno, action, target_); }
  void create(mode_t mode);
  void keep_owner_and_mode(const struct stat& old);
  void remove() noexcept;
  void flush();
  void throw_if_failed() const {
    if (failed_) fail_with(EIO, "replace, as an earlier write has failed,", target_);
  }

  const detail::fork_guard home_;
  const std::string target_name_;
  const unique_descriptor folder_;
  std::string name_;  // of the temporary file
  std::string buffer_;
  bool failed_ = false;
  bool synced_ = false;
};

file_replacement::impl::impl(const fs::path& target)
    : target_(resolve(target)),
      target_name_(target_.filename().string()),
      folder_(unique_descriptor::open(AT_FDCWD, target_.parent_path().c_str(),
                                      O_RDONLY | O_DIRECTORY)) {
  if (!folder_.is_open()) fail("open the folder of");
  if (target_name_.empty()) fail_with(EISDIR, "replace", target_);
  buffer_.reserve(buffer_size);
  struct stat old{};
  const bool exists = fstatat(folder_.get(), target_name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists && errno != ENOENT) fail("look at");
  if (exists && !S_ISREG(old.st_mode)) {
    fail_with(S_ISDIR(old.st_mode) ? EISDIR : EINVAL, "replace, as it is not a regular file,",
              target_);
  }
  create(exists ? 0600 : 0666);
  try {
    if (exists) keep_owner_and_mode(old);
  } catch (...) {
    remove();
    throw;
  }
}

// Other users must not read the new file before it has the owner and mode of the old one.
void file_replacement::impl::create(mode_t mode) {
  constexpr std::size_t max_length = 200;  // file names have at most 255 bytes
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name(1, '.');
    name.append(target_name_, 0, max_length).append(1, '.').append(random_digits()).append(".tmp");
    name_ = std::move(name);
    file_ = unique_descriptor::open(folder_.get(), name_.c_str(),
                                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (file_.is_open()) return;
    if (errno != EEXIST) break;
  }
  const int error = errno;
  // openat() may have created it: unique_descriptor::open() can fail when it moves the descriptor.
  if (error != EEXIST) unlinkat(folder_.get(), name_.c_str(), 0);
  fail_with(error, "create a file beside", target_);
}

void file_replacement::impl::keep_owner_and_mode(const struct stat& old) {
  struct stat made{};
  if (fstat(file_.get(), &made) != 0) fail("look at a file beside");
  const bool same_owner = made.st_uid == old.st_uid && made.st_gid == old.st_gid;
  if (!same_owner && fchown(file_.get(), old.st_uid, old.st_gid) != 0) fail("keep the owner of");
  if (fchmod(file_.get(), old.st_mode & 07777U) != 0) fail("keep the mode of");
}

file_replacement::impl::~impl() {
  if (!committed_ && home_.is_here()) remove();
}

// Does nothing if the name belongs to another file by now.
void file_replacement::impl::remove() noexcept {
  struct stat made{};
  struct stat found{};
  if (fstat(file_.get(), &made) == 0 &&
      fstatat(folder_.get(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
      made.st_dev == found.st_dev && made.st_ino == found.st_ino) {
    unlinkat(folder_.get(), name_.c_str(), 0);
  }
}

void file_replacement::impl::write(std::string_view bytes) {
  throw_if_failed();
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, buffer_size - buffer_.size());
    buffer_.append(some);
    bytes.remove_prefix(some.size());
    if (buffer_.size() == buffer_size) flush();
  }
}

void file_replacement::impl::flush() {
  throw_if_failed();
  failed_ = true;
  std::string_view left = buffer_;
  if (!left.empty()) synced_ = false;
  while (!left.empty()) {
    const ssize_t n =
        os::uninterrupted([&] { return ::write(file_.get(), left.data(), left.size()); });
    if (n == -1) fail("write the new version of");
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  buffer_.clear();
  failed_ = false;
}

void file_replacement::impl::sync() {
  flush();
  if (synced_) return;
  failed_ = true;  // for good: a second fsync may succeed although nothing is on the disk
  if (os::uninterrupted([&] { return fsync(file_.get()); }) != 0) fail("sync the new version of");
  failed_ = false;
  synced_ = true;
}

void file_replacement::impl::commit() {
  TAKT_ASSERT(!committed_);
  sync();
  failed_ = true;
  if (renameat(folder_.get(), name_.c_str(), folder_.get(), target_name_.c_str()) != 0) {
    fail("replace");
  }
  failed_ = false;
  committed_ = true;
  if (os::uninterrupted([&] { return fsync(folder_.get()); }) != 0 && errno != EINVAL &&
      errno != ENOTSUP) {
    fail("sync the folder of");
  }
}

file_replacement::file_replacement(const fs::path& target)
    : impl_(std::make_unique<impl>(target)) {}
file_replacement::~file_replacement() = default;

void file_replacement::write(std::string_view bytes) { impl_->write(bytes); }
void file_replacement::sync() { impl_->sync(); }
void file_replacement::commit() { impl_->commit(); }
bool file_replacement::is_committed() const noexcept { return impl_->committed_; }
const fs::path& file_replacement::target() const noexcept { return impl_->target_; }
int file_replacement::descriptor() const noexcept { return impl_->file_.get(); }

}  // namespace takt::inline TAKT_ABI

#include <takt/service/log_sink.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ios>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>

#include "../base/os.hpp"
#include "unique_descriptor.hpp"

namespace takt::inline TAKT_ABI {
namespace {

class stream_sink final : public log_sink {
 public:
  explicit stream_sink(std::ostream& stream) noexcept : stream_(stream) {}
  void write(std::string_view line) override {
    stream_ << line << '\n';
    check();
  }
  void flush() override {
    stream_.flush();
    check();
  }

 private:
  void check() {
    if (!stream_) throw std::ios_base::failure("takt::to_stream: the stream has failed");
  }
  std::ostream& stream_;
};

// True if a file is empty, ends with a line end, or cannot be read.
bool ends_with_line(const std::string& path, std::FILE* file) noexcept {
  struct stat written{};
  if (fstat(fileno(file), &written) != 0 || !S_ISREG(written.st_mode) || written.st_size == 0) {
    return true;
  }
  // The file itself may be open for writing only.
  const unique_descriptor readable =
      unique_descriptor::open(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK);
  struct stat found{};
  char last = '\n';
  if (!readable.is_open() || fstat(readable.get(), &found) != 0 || found.st_dev != written.st_dev ||
      found.st_ino != written.st_ino ||
      os::uninterrupted([&] { return pread(readable.get(), &last, 1, written.st_size - 1); }) !=
          1) {
    return true;
  }
  return last == '\n';
}

// Buffers lines itself and leaves the stream unbuffered: lines of a failed flush, which the service
// returns to the caller, are not written by a later call.
//
// A failed flush removes what it has written if that is still the end of a regular file. Otherwise
// the next line begins with a line end, to terminate the partial line.
class file_sink final : public log_sink {
 public:
  file_sink(const std::string& path, const file_sink_options& options)
      : path_(path), sync_(options.sync), file_(os::open_file(path.c_str(), "ae")) {
    if (file_ == nullptr) fail("cannot be opened");
    std::setvbuf(file_, nullptr, _IONBF, 0);
    if (!options.append && !is_emptied()) close_and_fail("cannot be emptied");
    at_line_start_ = ends_with_line(path, file_);
    if (sync_ == file_sync::none || os::sync_name_to_disk(path)) return;
    close_and_fail("cannot be synced");
  }
  ~file_sink() override {
    if (file_ != nullptr) static_cast<void>(std::fclose(file_));
  }
  file_sink(const file_sink&) = delete;
  file_sink& operator=(const file_sink&) = delete;

  void write(std::string_view line) override {
    if (buffer_.empty() && !at_line_start_) buffer_.push_back('\n');
    buffer_.append(line);
    buffer_.push_back('\n');
  }

  void flush() override {
    const std::optional<off_t> before = size();
    std::string_view left = buffer_;
    do {
      errno = 0;
      std::clearerr(file_);
      left.remove_prefix(std::fwrite(left.data(), 1, left.size(), file_));
    } while (!left.empty() && errno == EINTR);  // interrupted by a signal: write the rest
    const bool all = left.empty();
    const bool good = all && (sync_ != file_sync::at_flush || os::sync_to_disk(file_));
    const int why = errno;
    const std::string_view written =
        std::string_view(buffer_).substr(0, buffer_.size() - left.size());
    if (!written.empty() && (good || !remove_written(before, written.size()))) {
      at_line_start_ = written.back() == '\n';
    }
    buffer_.clear();
    errno = why;
    if (!good) fail(all ? "cannot be synced" : "cannot be written to");
  }

  void close() override {
    const bool synced = sync_ != file_sync::at_close || os::sync_to_disk(file_);
    const int why = errno;
    const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (!closed) fail("cannot be closed");
    errno = why;
    if (!synced) fail("cannot be synced");
  }

 private:
  // The file is opened for appending all the same: another sink may write to it.
  [[nodiscard]] bool is_emptied() const noexcept {
    return !size() || os::uninterrupted([&] { return ftruncate(fileno(file_), 0); }) == 0;
  }

  // The size of a regular file; empty for other files.
  [[nodiscard]] std::optional<off_t> size() const noexcept {
    struct stat found{};
    if (fstat(fileno(file_), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
    return found.st_size;
  }

  // Removes what this flush has written. \return false if that is not possible, or another writer
  // has written to the file meanwhile.
  [[nodiscard]] bool remove_written(std::optional<off_t> before,
                                    std::size_t written) const noexcept {
    if (!before || size() != *before + static_cast<off_t>(written)) return false;
    return os::uninterrupted([&] { return ftruncate(fileno(file_), *before); }) == 0;
  }

  [[noreturn]] void close_and_fail(const char* what) const {
    const int why = errno;
    static_cast<void>(std::fclose(file_));
    errno = why;
    fail(what);
  }
  [[noreturn]] void fail(const char* what) const {
    throw std::system_error(errno, std::generic_category(), "takt::to_file: " + path_ + " " + what);
  }

  const std::string path_;
  const file_sync sync_;
  std::FILE* file_;
  std::string buffer_;
  bool at_line_start_ = true;
};

}  // namespace

std::unique_ptr<log_sink> to_stream(std::ostream& stream) {
  return std::make_unique<stream_sink>(stream);
}

std::unique_ptr<log_sink> to_file(const std::string& path, const file_sink_options& options) {
  return std::make_unique<file_sink>(path, options);
}

}  // namespace takt::inline TAKT_ABI

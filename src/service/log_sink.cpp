#include <takt/service/log_sink.hpp>

#include <cerrno>
#include <cstdio>
#include <ios>
#include <ostream>
#include <string>
#include <system_error>

#include "../exec/os.hpp"

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

// Keeps lines in a buffer of its own, and the file without one: so what could not be written is
// not written by a later call, after it was given back.
class file_sink final : public log_sink {
 public:
  file_sink(const std::string& path, const file_sink_options& how)
      : path_(path), sync_(how.sync), file_(os::open_file(path.c_str(), mode(how))) {
    if (file_ == nullptr) fail("cannot be opened");
    std::setvbuf(file_, nullptr, _IONBF, 0);
    if (sync_ == file_sync::none || os::sync_name_to_disk(path)) return;
    const int why = errno;
    static_cast<void>(std::fclose(file_));
    errno = why;
    fail("cannot be synced");
  }
  ~file_sink() override {
    if (file_ != nullptr) static_cast<void>(std::fclose(file_));
  }
  file_sink(const file_sink&) = delete;
  file_sink& operator=(const file_sink&) = delete;

  void write(std::string_view line) override {
    buffer_.append(line);
    buffer_.push_back('\n');
  }

  void flush() override {
    std::string_view left = buffer_;
    do {
      errno = 0;
      std::clearerr(file_);
      left.remove_prefix(std::fwrite(left.data(), 1, left.size(), file_));
    } while (!left.empty() && errno == EINTR);  // by a signal: the rest, then
    const bool all = left.empty();
    buffer_.clear();
    if (!all) fail("cannot be written to");
    if (sync_ == file_sync::at_flush && !os::sync_to_disk(file_)) fail("cannot be synced");
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
  // Neither is given to child processes.
  static const char* mode(const file_sink_options& how) noexcept {
    return how.append ? "ae" : "we";
  }

  [[noreturn]] void fail(const char* what) const {
    throw std::system_error(errno, std::generic_category(), "takt::to_file: " + path_ + " " + what);
  }

  const std::string path_;
  const file_sync sync_;
  std::FILE* file_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<log_sink> to_stream(std::ostream& stream) {
  return std::make_unique<stream_sink>(stream);
}

std::unique_ptr<log_sink> to_file(const std::string& path, const file_sink_options& how) {
  return std::make_unique<file_sink>(path, how);
}

}  // namespace takt::inline TAKT_ABI

/// What a file_work_queue asks of the operating system (POSIX).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <takt/base/config.hpp>

#include "unique_descriptor.hpp"

namespace takt::inline TAKT_ABI {

/// A file that this process alone has open, for reading and writing. Errors are work_queue_error
/// with the name of the file and what the system says. Not thread-safe.
class work_file {
 public:
  work_file() = default;

  /// Opens a file, or makes an empty one, and locks it.
  [[nodiscard]] static work_file open(const std::filesystem::path& name);
  /// Locks a new version of a file that is not in place yet, and has it open, too.
  [[nodiscard]] static work_file share(const std::filesystem::path& name, int descriptor);

  [[nodiscard]] std::uint64_t size() const;
  /// Whether no name leads to it any more: what is written to it is lost when it is closed.
  [[nodiscard]] bool is_deleted() const;
  /// Up to `length` bytes from there on; fewer only at the end of the file.
  [[nodiscard]] std::string read(std::uint64_t from, std::size_t length) const;
  /// All of them, or it throws; then some may have been written.
  void write(std::uint64_t at, std::string_view bytes);
  void truncate(std::uint64_t size);
  /// Brings it to the disk.
  void sync();
  /// Brings to the disk that it has its name.
  void sync_name() const;
  /// Whether that name means this file, and no other that somebody has put there.
  [[nodiscard]] bool is_named(const std::filesystem::path& name) const noexcept;

  [[nodiscard]] const std::filesystem::path& name() const noexcept { return name_; }

 private:
  work_file(std::filesystem::path name, unique_descriptor opened);
  [[nodiscard]] bool try_lock() const noexcept;
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path name_;
  unique_descriptor descriptor_;
};

}  // namespace takt::inline TAKT_ABI

/// File access of a file_work_queue (POSIX).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <takt/base/config.hpp>

#include "unique_descriptor.hpp"

namespace takt::inline TAKT_ABI {

/// A locked file, open for reading and writing. Errors are work_queue_error with the name of the
/// file and the message of the system. Not thread-safe.
class work_file {
 public:
  work_file() = default;

  /// Opens a file, creates it if it is missing, and locks it.
  [[nodiscard]] static work_file open(const std::filesystem::path& name);
  /// Locks a new version of the file `name`, not in place yet, through a duplicate descriptor.
  [[nodiscard]] static work_file share(const std::filesystem::path& name, int descriptor);

  [[nodiscard]] std::uint64_t size() const;
  /// True if the file has no name any more: what is written to it is lost when it is closed.
  [[nodiscard]] bool is_deleted() const;
  /// Reads `length` bytes at `from`; fewer only at the end of the file.
  [[nodiscard]] std::string read(std::uint64_t from, std::size_t length) const;
  /// Writes all bytes. If it throws, some of them may have been written.
  void write(std::uint64_t at, std::string_view bytes);
  void truncate(std::uint64_t size);
  /// Syncs the content of the file.
  void sync();
  /// Syncs the folder, so that the name of the file is on the disk.
  void sync_name() const;
  /// True if `name` names this file, not another one that has replaced it.
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

/// What a file_work_list asks of the operating system (POSIX).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// A file that this process alone has open, for reading and writing. Errors are work_list_error
/// with the name of the file and what the system says. Not thread-safe.
class work_file {
 public:
  work_file() = default;
  work_file(work_file&& other) noexcept;
  work_file& operator=(work_file&& other) noexcept;
  ~work_file();

  /// Opens a file, or makes an empty one, and locks it.
  [[nodiscard]] static work_file open(const std::filesystem::path& name);
  /// Makes an empty one, whatever was there, and locks it.
  [[nodiscard]] static work_file create(const std::filesystem::path& name);

  [[nodiscard]] std::uint64_t size() const;
  /// Up to `length` bytes from there on; fewer only at the end of the file.
  [[nodiscard]] std::string read(std::uint64_t from, std::size_t length) const;
  /// All of them, or it throws; then some may have been written.
  void write(std::uint64_t at, std::string_view bytes);
  void truncate(std::uint64_t size);
  /// Brings it to the disk.
  void sync();
  /// Brings to the disk that it has its name.
  void sync_name() const;
  /// Gives it another name, in place of what had it before.
  void rename(std::filesystem::path name);

  [[nodiscard]] const std::filesystem::path& name() const noexcept { return name_; }

 private:
  work_file(std::filesystem::path name, int flags);
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path name_;
  int descriptor_ = -1;  // after what may throw
};

}  // namespace takt::inline TAKT_ABI

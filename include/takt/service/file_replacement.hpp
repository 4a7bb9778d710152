/// \file
/// Atomic replacement of a file.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Writes a new version of a file beside it and renames it into place. Readers see the old file or
/// the new one, never a mixture. Compare Qt's QSaveFile.
///
/// \code
/// takt::file_replacement file("words.txt");
/// for (const std::string& word : words) file.write(word + "\n");
/// file.commit();                 // without this, words.txt stays as it was
/// \endcode
///
/// **Target.** A missing file, a regular file, or a symbolic link to either; of a link, the file
/// that it names is replaced, and the link stays. The constructor refuses anything else. The new
/// file has the mode and owner of the old one before its first byte is written, or, if there
/// is none, mode 0666 without the bits of the umask. Access control lists and extended attributes
/// are not copied, and other hard links keep the old file.
///
/// **Temporary file.** Its name is `.NAME.XXXXXXXXXXXXXXXX.tmp` (16 random hexadecimal digits), in
/// the folder of the target. The destructor removes it unless it was committed. A killed process
/// leaves it behind; it may be deleted. Of concurrent replacements the last commit wins.
///
/// **Errors.** Failed system calls throw std::system_error with the name of the target. The target
/// is unchanged then, and a later commit() throws again. One exception: if commit() has thrown and
/// is_committed() is true, the target was replaced, but a power cut may undo that.
///
/// **Thread safety.** None. In a child process after fork() the destructor removes nothing.
class file_replacement {
 public:
  /// Creates the temporary file. \throws std::system_error also if the target is refused, or its
  /// owner and mode cannot be kept.
  explicit file_replacement(const std::filesystem::path& target);
  ~file_replacement();
  file_replacement(const file_replacement&) = delete;
  file_replacement& operator=(const file_replacement&) = delete;

  /// Appends bytes. They may stay in a buffer until sync() or commit().
  void write(std::string_view bytes);
  /// Writes all bytes to the disk (fsync). The target does not change.
  void sync();
  /// Calls sync(), replaces the target and syncs its folder. Requires that is_committed() is false.
  void commit();
  /// Returns true once the target has been replaced.
  [[nodiscard]] bool is_committed() const noexcept;

  /// Returns the absolute path of the file that is replaced; symbolic links are resolved.
  [[nodiscard]] const std::filesystem::path& target() const noexcept;
  /// Returns the descriptor of the new file, open for reading and writing, for instance to lock the
  /// file before commit(). The destructor closes it; a duplicate (dup()) stays open.
  [[nodiscard]] int descriptor() const noexcept;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace takt::inline TAKT_ABI

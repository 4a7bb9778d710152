/// \file
/// Replaces a file as a whole.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Writes a new version of a file beside it, and puts that in its place in one step: readers see
/// the old file or the new one, whatever happens meanwhile. (Qt's QSaveFile is the same idea.)
///
/// \code
/// takt::file_replacement file("words.txt");
/// for (const std::string& word : words) file.write(word + "\n");
/// file.commit();                 // without this, words.txt stays as it was
/// \endcode
///
/// **The target** may be missing, a regular file, or a symbolic link to one of these: then the file
/// that the link names is replaced, and the link stays. Anything else is refused. The new file has
/// the mode and the owner of the old one before the first byte is written; access control lists and
/// extended attributes are not copied, and other hard links keep the old file. Where there was no
/// file, the mode is 0666 without the bits of the umask.
///
/// **The temporary file** is called `.NAME.XXXXXXXXXXXXXXXX.tmp`, with 16 hexadecimal digits at
/// random, in the folder of the target. The destructor removes it unless it was committed, and
/// removes nothing else. A process that is killed leaves it behind, and it may be deleted.
/// Replacements of one file at the same time do not meet: the last commit wins.
///
/// **Errors** are std::system_error, with the name of the target. After write(), sync() or commit()
/// has thrown, the target is as it was, and commit() throws again; only if is_committed() the
/// target has been replaced, and perhaps not yet for the case of a power cut.
///
/// **Thread safety**: none. **Destruction** in a child process after fork() removes nothing.
class file_replacement {
 public:
  /// Creates the temporary file.
  explicit file_replacement(const std::filesystem::path& target);
  ~file_replacement();
  file_replacement(const file_replacement&) = delete;
  file_replacement& operator=(const file_replacement&) = delete;

  /// Appends bytes, which may stay in a buffer until sync() or commit().
  void write(std::string_view bytes);
  /// Brings all bytes to the disk (fsync). The target does not change.
  void sync();
  /// Does what sync() does, replaces the target, and brings its name to the disk. Requires that it
  /// was not committed before.
  void commit();
  [[nodiscard]] bool is_committed() const noexcept;

  /// The file that is replaced: absolute, and not a symbolic link.
  [[nodiscard]] const std::filesystem::path& target() const noexcept;
  /// The descriptor of the new file, for reading and writing, for instance to lock it before
  /// commit(). It is closed by the destructor; a duplicate (dup()) stays open.
  [[nodiscard]] int descriptor() const noexcept;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// A list of work in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/service/work_list.hpp>

namespace takt::inline TAKT_ABI {

/// When a file_work_list has the system bring what it wrote to the disk.
enum class work_sync : std::uint8_t {
  /// Before accept() and confirm() return: what they return from survives a power cut.
  each,
  /// When it is closed: until then the system decides. Survives the end of the process, kill -9
  /// included, but perhaps not that of the machine.
  at_close,
};

/// How a file_work_list is opened.
struct file_work_list_options {
  work_sync sync = work_sync::each;  ///< See work_sync.
  /// A file of more bytes than this, more than half of which nobody needs any more, is written
  /// anew when it is opened.
  std::uint64_t compact_above = 65'536;
};

/// What opening a file_work_list has found and done.
struct file_work_list_recovery {
  std::size_t dropped_records = 0;  ///< 1 if the last record was cut short, and dropped; else 0.
  std::uint64_t dropped_bytes = 0;  ///< Its length, as far as it was there.
  bool compacted = false;           ///< Whether the file was written anew.
};

/// A work_list in a file of its own, to which records are added at the end: it survives the
/// process, also if that is killed in the middle of a write.
///
/// \code
/// takt::file_work_list list{"site.crawl"};          // made if it is not there
/// list.accept({.key = "https://example.org/"});     // once, however often this is run
/// takt::crawler crawl{pool, list, fetch};
/// \endcode
///
/// **The file** has a header, and records with their length and checksums; docs/services.md
/// describes it. One process has it open at a time (flock). Each accept() and confirm() is one
/// record: it is in the file as a whole, or not at all.
///
/// **What opening does.** A last record that is cut short, as a killed process or a power cut
/// leaves it, is dropped: nobody was told that it was kept. A file that is something else, or is
/// damaged anywhere else, is refused (work_list_error: foreign, damaged) and left as it is. Claims
/// are not in the file: what was claimed and not confirmed waits again.
///
/// **After a power cut** with work_sync::each all that was acknowledged is there. With at_close the
/// system may have written later pages and not earlier ones: then the file is damaged in the
/// middle, and refused. The error tells how many bytes before that are whole: shortened to them, by
/// hand, the file is the list as it was earlier, and what was done since is done again. The same
/// may happen with each to a record on two pages that nobody was told of.
///
/// **Errors.** If the disk is full, accept() and confirm() throw work_list_error (failed), nothing
/// has changed, and when there is room they work again. If the system cannot take back a record
/// that it has written in part, or cannot bring it to the disk, they throw from then on: open the
/// file again. What was kept before is not touched.
///
/// **Memory**: all keys, those of confirmed items too; and the data of the others.
///
/// **Thread safety**: as in work_list; a write is made under the lock. **Destruction**: with
/// work_sync::at_close, tries to bring what was written to the disk, and tells nobody if that
/// fails; lets go of the file. In a child process after fork() it only closes the file, which the
/// parent still has, and which nobody else can open while the child has it.
class file_work_list final : public work_list {
 public:
  using options = file_work_list_options;

  /// Opens the file, or makes it. \throws work_list_error.
  explicit file_work_list(const std::string& file, const options& how = {});
  ~file_work_list() override;

  /// What opening it has found and done.
  [[nodiscard]] const file_work_list_recovery& recovery() const noexcept;

  using work_list::accept;
  using work_list::confirm;
  std::size_t accept(std::span<const work_item> items) override;
  [[nodiscard]] std::optional<work_item> claim() override;
  std::size_t confirm(std::string_view key, std::span<const work_item> found) override;
  void give_back(std::string_view key) override;
  [[nodiscard]] work_counts counts() const override;
  [[nodiscard]] std::vector<work_item> unconfirmed() const override;

 private:
  class impl;
  impl* const impl_;
};

}  // namespace takt::inline TAKT_ABI

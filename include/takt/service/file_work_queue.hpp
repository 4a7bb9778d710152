/// \file
/// A list of work in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/service/work_queue.hpp>

namespace takt::inline TAKT_ABI {

/// When a file_work_queue has the system bring what it wrote to the disk.
enum class work_sync : std::uint8_t {
  /// Before enqueue() and complete() return: what they return from survives a power cut.
  each,
  /// When it is closed: until then the system decides. Survives the end of the process, kill -9
  /// included, but perhaps not that of the machine.
  at_close,
};

/// What opening a file_work_queue does if records in the middle of the file cannot be read.
enum class damage_policy : std::uint8_t {
  refuse,  ///< Throws work_queue_error (damaged), and leaves the file alone.
  skip,  ///< Writes all others to a new file, which replaces this one; recovery() counts the rest.
};

/// How a file_work_queue is opened.
struct file_work_queue_options {
  work_sync sync = work_sync::each;  ///< See work_sync.
  /// A file of more bytes than this, more than half of which nobody needs any more, is written
  /// anew when it is opened.
  std::uint64_t compact_above = 65'536;
  damage_policy damaged = damage_policy::refuse;  ///< See damage_policy.
  /// Called with what an existing list holds before anything in the file is changed. What it throws
  /// leaves the constructor: for refusing lists of another program, or of other options.
  std::function<void(const std::string& metadata, const work_counts& items)> check_existing{};
};

/// What opening a file_work_queue has found and done.
struct file_work_queue_recovery {
  /// 1 if the last enqueue(), complete() or set_metadata() was cut short, and dropped; else 0.
  std::size_t dropped_records = 0;
  std::uint64_t dropped_bytes = 0;  ///< Its length, as far as it was there.
  std::uint64_t lost_records = 0;   ///< With damage_policy::skip: records that could not be read.
  std::uint64_t lost_bytes = 0;     ///< How many bytes were there in place of them.
  bool compacted = false;           ///< Whether the file was written anew.
};

/// A work_queue in a file of its own, to which records are added at the end: it survives the
/// process, also if that is killed in the middle of a write.
///
/// \code
/// takt::file_work_queue list{"site.crawl"};          // made if it is not there
/// list.accept({.key = "https://example.org/"});     // once, however often this is run
/// takt::crawler crawl{pool, list, fetch};
/// \endcode
///
/// **The file** has a header, and a numbered record with a checksum for each item;
/// docs/services.md describes it. One process has it open at a time (flock). The records of one
/// enqueue() or complete() are in the file all together, or not at all. Files of takt 0.1.0 are
/// converted when they are opened.
///
/// **What opening does.** A tail that a killed process or a power cut has left is dropped: nobody
/// was told that it was kept. A file that is something else, or has damage before whole records, is
/// refused (work_queue_error: foreign, damaged) and left as it is; with damage_policy::skip it is
/// opened without the damaged records. Claims are not in the file: what was claimed and not
/// confirmed waits again.
///
/// **After a power cut** with work_sync::each all that was acknowledged is there. With at_close the
/// system may have written later pages and not earlier ones: that looks like damage.
///
/// **Errors.** If the disk is full, enqueue() and complete() throw work_queue_error (failed),
/// nothing has changed, and when there is room they work again. If the system cannot bring a record
/// to the disk, the list is written to a new file, which replaces the first. If that fails, too, or
/// a record that was written in part cannot be removed, they throw from then on: open the file
/// again.
///
/// **Metadata.** Bytes that the owner keeps in the list besides its items, such as the options that
/// decided which items were accepted. set_metadata() is as durable as enqueue(), and has the same
/// errors; the last call wins.
///
/// **Memory**: all keys, those of confirmed items too; and the data of the others.
///
/// **Thread safety**: as in work_queue; a write is made under the lock. **Destruction**: with
/// work_sync::at_close, tries to bring what was written to the disk, and tells nobody if that
/// fails; lets go of the file. In a child process after fork() it only closes the file, which the
/// parent still has, and which nobody else can open while the child has it.
class file_work_queue final : public work_queue {
 public:
  using options = file_work_queue_options;

  /// Opens the file, or makes it. \throws work_queue_error, and what check_existing throws.
  explicit file_work_queue(const std::string& file, const options& how = {});
  ~file_work_queue() override;

  /// What opening it has found and done.
  [[nodiscard]] const file_work_queue_recovery& recovery() const noexcept;

  using work_queue::complete;
  using work_queue::enqueue;
  std::size_t enqueue(std::span<const work_item> items) override;
  [[nodiscard]] std::optional<work_item> claim() override;
  std::size_t complete(std::string_view key, std::span<const work_item> found) override;
  void release(std::string_view key) override;
  [[nodiscard]] work_counts counts() const override;
  [[nodiscard]] std::vector<work_item> incomplete() const override;
  /// The keys of the confirmed items, in the order of their acceptance. Together with incomplete()
  /// these are all keys that were ever accepted.
  [[nodiscard]] std::vector<std::string> completed_keys() const;

  /// The bytes that set_metadata() was given last; empty in a new list.
  [[nodiscard]] std::string metadata() const;
  /// Replaces the metadata. \throws work_queue_error and std::bad_alloc, as enqueue(); then the
  /// metadata have not changed.
  void set_metadata(std::string_view bytes);

 private:
  class impl;
  impl* const impl_;
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// A durable work queue in a file.
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

/// Policy for syncing the writes of a file_work_queue to the disk (fsync).
enum class work_sync : std::uint8_t {
  /// Syncs before each enqueue(), complete() and set_metadata() returns. The change survives a
  /// power cut.
  each,
  /// Syncs in the destructor; until then the system decides. A change survives the end of the
  /// process, even by `kill -9`, but may be lost in a power cut.
  at_close,
};

/// Policy for unreadable records in the middle of a file that a file_work_queue opens.
enum class damage_policy : std::uint8_t {
  refuse,  ///< Throws work_queue_error (damaged) and leaves the file unchanged.
  skip,    ///< Writes the readable records to a new file, which replaces this one.
};

/// Options of a file_work_queue.
struct file_work_queue_options {
  work_sync sync = work_sync::each;  ///< See work_sync.
  /// Opening compacts a file that has more bytes than this, if more than half of them are obsolete.
  std::uint64_t compact_above = 65'536;
  damage_policy damaged = damage_policy::refuse;  ///< See damage_policy.
  /// Called with the metadata and the number of items of an existing file, before the file is
  /// changed. An exception leaves the constructor, for instance to refuse another program's queue.
  std::function<void(const std::string& metadata, const work_counts& items)> check_existing{};
};

/// Report on the opening of a file_work_queue.
struct file_work_queue_recovery {
  /// 1 if the last enqueue(), complete() or set_metadata() was incomplete and was dropped, else 0.
  std::size_t dropped_records = 0;
  std::uint64_t dropped_bytes = 0;  ///< Bytes of the dropped tail.
  std::uint64_t lost_records = 0;   ///< Unreadable records, with damage_policy::skip.
  std::uint64_t lost_bytes = 0;     ///< Unreadable bytes in place of these records.
  bool compacted = false;           ///< True if the file was written anew.
};

/// A work_queue that appends records to a file. It survives the process, even one that is killed in
/// the middle of a write.
///
/// \code
/// takt::file_work_queue queue{"site.crawl"};         // created if missing
/// queue.enqueue({.key = "https://example.org/"});    // accepted once, however often this runs
/// takt::crawler crawl{pool, queue, fetch};
/// \endcode
///
/// **File.** One queue at a time has the file open (flock). The records of one enqueue() or
/// complete() count together or not at all. Claims are not stored: after reopening, claimed items
/// are waiting. Opening drops an incomplete tail, which a killed process or a power cut leaves, and
/// refuses a foreign or damaged file without changing it. See docs/services.md.
///
/// **Errors.** If the disk is full, enqueue(), complete() and set_metadata() throw work_queue_error
/// (failed), nothing has changed, and they work again once there is space. If fsync fails, the
/// queue writes itself to a new file, which replaces the old one. If that fails too, or a partial
/// record cannot be removed, the three members throw until the file is opened again.
///
/// **Thread safety.** As in work_queue; a lock is held during writes. In a child process after
/// fork() the destructor only closes the file, which stays locked while the child has it open.
///
/// **Cost.** Memory for all keys, also of completed items, and for the data of the other items.
class file_work_queue final : public work_queue {
 public:
  using options_type = file_work_queue_options;

  /// Opens the file or creates it. \throws work_queue_error; what check_existing throws;
  /// std::bad_alloc.
  explicit file_work_queue(const std::string& file, const options_type& options = {});
  /// With work_sync::at_close, syncs the file; an error is ignored.
  ~file_work_queue() override;

  /// Returns the report on the opening.
  [[nodiscard]] const file_work_queue_recovery& recovery() const noexcept;

  using work_queue::complete;
  using work_queue::enqueue;
  std::size_t enqueue(std::span<const work_item> items) override;
  [[nodiscard]] std::optional<work_item> claim() override;
  std::size_t complete(std::string_view key, std::span<const work_item> found) override;
  void release(std::string_view key) override;
  [[nodiscard]] work_counts counts() const override;
  [[nodiscard]] std::vector<work_item> incomplete() const override;
  /// Returns the keys of completed items, in the order of acceptance. Together with incomplete()
  /// these are all keys that were ever accepted.
  [[nodiscard]] std::vector<std::string> completed_keys() const;

  /// Returns bytes that the owner has stored in the queue, such as the options that decided which
  /// items were accepted. Empty in a new queue.
  [[nodiscard]] std::string metadata() const;
  /// Replaces the metadata, as durably as enqueue(). \throws work_queue_error, std::bad_alloc; then
  /// the metadata has not changed.
  void set_metadata(std::string_view bytes);

 private:
  class impl;
  impl* const impl_;
};

}  // namespace takt::inline TAKT_ABI

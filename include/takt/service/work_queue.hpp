/// \file
/// Queues of work items that are accepted once and are not lost when a worker stops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// A work item. The key identifies the item; the queue stores the data and does not interpret it.
/// Both are arbitrary bytes.
struct work_item {
  std::string key;
  std::string data{};
  friend bool operator==(const work_item&, const work_item&) = default;
};

/// Number of items in each state.
struct work_counts {
  std::size_t waiting = 0;    ///< Items that can be claimed.
  std::size_t claimed = 0;    ///< Items that a worker has claimed.
  std::size_t completed = 0;  ///< Items that are done and never claimed again.
  friend bool operator==(const work_counts&, const work_counts&) = default;
};

/// Thrown by a work_queue that cannot be opened, or cannot store a change.
class work_queue_error : public std::runtime_error {
 public:
  enum class reason : std::uint8_t {
    foreign,  ///< The file is no work queue, or of an unknown version.
    damaged,  ///< The file is a work queue, but parts of it cannot be read.
    in_use,   ///< Another queue or process has the file open.
    failed,   ///< A system call failed: no permission, no space, no disk.
  };
  work_queue_error(reason why, const std::string& what) : std::runtime_error(what), why_(why) {}
  [[nodiscard]] reason why() const noexcept { return why_; }

 private:
  reason why_;
};

/// Accepts each work item once, by its key. Workers, such as a crawler, claim items and complete or
/// release them. Implementations: memory_work_queue and the durable file_work_queue.
///
/// \code
/// while (std::optional<takt::work_item> item = queue.claim()) {
///   try {
///     queue.complete(item->key, process(*item));   // and enqueues the items that process() found
///   } catch (...) {
///     queue.release(item->key);                    // for a later attempt
///     throw;
///   }
/// }
///
///   enqueue() --> waiting ---claim()--> claimed --complete()--> completed
///                    ^----release()-------'
/// \endcode
///
/// **Order.** Items are claimed in the order of acceptance; a released item keeps its place. A key
/// that was ever accepted is not accepted again, even if it is completed.
///
/// **Errors.** enqueue() and complete() throw work_queue_error or std::bad_alloc, and then nothing
/// has changed. A durable queue keeps the changes of calls that have returned, but no claims.
///
/// **Thread safety.** All members may be called from any thread, except the destructor. The
/// destructor releases no claimed items.
class work_queue {
 public:
  virtual ~work_queue();
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;

  /// Accepts the items whose keys are new. \return the number of accepted items.
  virtual std::size_t enqueue(std::span<const work_item> items) = 0;
  std::size_t enqueue(const work_item& item) { return enqueue({&item, 1}); }

  /// Claims the oldest waiting item; empty if no item waits.
  [[nodiscard]] virtual std::optional<work_item> claim() = 0;

  /// Completes a claimed item and accepts the new ones of the `found` items, as enqueue() does, in
  /// one step. \return the number of accepted items. \throws std::logic_error if the key is not
  /// claimed.
  virtual std::size_t complete(std::string_view key, std::span<const work_item> found) = 0;
  void complete(std::string_view key) { complete(key, {}); }

  /// Releases a claimed item, which waits again at its old position. \throws std::logic_error if
  /// the key is not claimed.
  virtual void release(std::string_view key) = 0;

  /// Returns the number of items in each state.
  [[nodiscard]] virtual work_counts counts() const = 0;
  /// Returns the waiting and claimed items, in the order of acceptance.
  [[nodiscard]] virtual std::vector<work_item> incomplete() const = 0;

 protected:
  work_queue() = default;
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// Work that is to be done once, and is not lost when whoever does it stops.
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

/// A piece of work: the key by which it is accepted once, and what else is to be known of it. Any
/// bytes.
struct work_item {
  std::string key;
  std::string data{};
  friend bool operator==(const work_item&, const work_item&) = default;
};

/// How many items a list has of each kind.
struct work_counts {
  std::size_t waiting = 0;    ///< To be claimed.
  std::size_t claimed = 0;    ///< Somebody is at it.
  std::size_t completed = 0;  ///< Done, and never claimed again.
  friend bool operator==(const work_counts&, const work_counts&) = default;
};

/// Thrown by a work_queue that cannot be opened, or cannot keep what it is given.
class work_queue_error : public std::runtime_error {
 public:
  enum class reason : std::uint8_t {
    foreign,  ///< What is there is no work list, or one of another version.
    damaged,  ///< It was one, and cannot be read.
    in_use,   ///< Somebody else has it open.
    failed,   ///< The system refuses: no permission, no space, no disk.
  };
  work_queue_error(reason why, const std::string& what) : std::runtime_error(what), why_(why) {}
  [[nodiscard]] reason why() const noexcept { return why_; }

 private:
  reason why_;
};

/// Items of work, each of which is accepted once, claimed, and confirmed when it is done: what a
/// crawler goes through. memory_work_queue keeps them in memory, file_work_queue in a file that
/// survives the process.
///
/// \code
/// void work_on(takt::work_queue& list) {
///   while (std::optional<takt::work_item> item = list.claim()) {
///     try {
///       list.confirm(item->key, do_it(*item));     // with what it has led to
///     } catch (...) {
///       list.give_back(item->key);                 // for another day
///       throw;
///     }
///   }
/// }
/// \endcode
///
/// \code
///   enqueue() --> waiting <--> claimed --> confirmed
///                   claim(), release()   complete()
/// \endcode
///
/// **Order.** Items are claimed in the order in which they were accepted; one that is given back
/// has its old place. **Once.** An item whose key was ever accepted is not accepted again, also
/// when it is confirmed. **Nothing is lost**: what was claimed and not confirmed by a process that
/// is gone is waiting in the next one, if the list survives processes at all; what enqueue() or
/// complete() has returned from is kept.
///
/// **Errors.** enqueue() and complete() throw work_queue_error if they cannot keep what they were
/// told, and std::bad_alloc; then nothing has changed.
///
/// **Thread safety**: all members from any thread. **Destruction**: when nobody uses it; it does
/// not end what is claimed. There is nothing to shut down.
class work_queue {
 public:
  virtual ~work_queue();
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;

  /// Takes items whose keys are new. \return how many were.
  virtual std::size_t enqueue(std::span<const work_item> items) = 0;
  std::size_t enqueue(const work_item& item) { return enqueue({&item, 1}); }

  /// The oldest item that waits, for the caller to do; none if none waits.
  [[nodiscard]] virtual std::optional<work_item> claim() = 0;

  /// A claimed item is done; takes what it has led to, as enqueue() does, in one step. \return how
  /// many of those were new. \throws std::logic_error if the key is not claimed.
  virtual std::size_t complete(std::string_view key, std::span<const work_item> found) = 0;
  void complete(std::string_view key) { complete(key, {}); }

  /// A claimed item is not done, and waits again. \throws std::logic_error if the key is not
  /// claimed.
  virtual void release(std::string_view key) = 0;

  /// How many there are of each kind.
  [[nodiscard]] virtual work_counts counts() const = 0;
  /// Those that wait and those that are claimed, in order.
  [[nodiscard]] virtual std::vector<work_item> incomplete() const = 0;

 protected:
  work_queue() = default;
};

}  // namespace takt::inline TAKT_ABI

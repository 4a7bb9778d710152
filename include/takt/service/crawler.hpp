/// \file
/// Processes a work queue that grows meanwhile, and can be stopped and continued at any time.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/service/work_queue.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a crawler.
struct crawler_options {
  /// Maximum number of visits that are queued or running in the executor at a time; at least 1.
  std::size_t visits = 4;

  /// Returns the time before which a visit must not begin, by the clock of `timers`. Called once
  /// for each claimed item, never by two threads at once. Delayed visits wait on `timers` and hold
  /// no thread. Must not throw.
  std::function<clock::time_point(const work_item&)> not_before{};
  /// The scheduler of delayed visits, for instance a scheduled_pool, an event_loop or
  /// wheel_scheduler::on(executor). Must outlive the crawler. Null if not_before is empty.
  scheduler* timers = nullptr;
  /// Maximum number of delayed visits at a time; at least 1.
  std::size_t waiting = 1000;

  /// Receives exceptions of visits, except takt::cancelled, on the thread of the visit. Must not
  /// throw. If empty, the unhandled hook receives them.
  std::function<void(const work_item&, const std::exception_ptr&)> failed{};

  const clock* time = &steady;  ///< Clock for deadlines. Must outlive the crawler.
  /// Receives exceptions of visits if `failed` is empty. Must outlive the crawler.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
};

/// Claims items from a work_queue, visits each on an executor, and enqueues the items that visits
/// find, as a web crawler does. Stopping it at any time leaves unfinished items in the queue;
/// another crawler can continue with them.
///
/// \code
/// takt::crawler crawl{pool, queue, [](const takt::work_item& page, const std::stop_token& stop) {
///   std::vector<takt::work_item> links;
///   for (const std::string& url : fetch(page.key, stop)) links.push_back({.key = url});
///   return links;                              // throw takt::cancelled if stop is requested
/// }, {.visits = 8}};
/// crawl.start();
/// crawl.close(takt::drain_for(10min));         // unfinished items stay in the queue
/// \endcode
///
/// **Order.** Visits begin in the order of the queue and overlap: the callable must be thread-safe.
///
/// **Errors.** If a visit throws, its item is released when the crawler ends. The crawler stops if
/// the executor rejects or drops a visit, or the queue fails; error() returns the cause.
///
/// **Shutdown.** shutdown() finishes the queue; shutdown_and_cancel() and the destructor release
/// items that have not begun and request stop of running visits. In a child process after fork()
/// the destructor does nothing. See docs/services.md.
///
/// **Thread safety.** All members may be called from any thread, also from visits, except the
/// destructor. A visit may destroy its crawler; only then the destructor does not wait.
class crawler : public lifecycle_interface<crawler> {
 public:
  using options_type = crawler_options;
  /// Visits an item and returns the items that it found. Should end early, by throwing
  /// takt::cancelled, when stop is requested.
  using visit = std::function<std::vector<work_item>(const work_item&, const sync::stop_token&)>;

  /// Creates a crawler of the queue `list`. Executor and queue must outlive it.
  /// \throws std::invalid_argument if `handler` is empty, visits or waiting is 0, time or unhandled
  /// is null, or only one of not_before and timers is given.
  crawler(any_executor executor, work_queue& list, visit handler, options_type options = {});
  ~crawler();
  crawler(const crawler&) = delete;
  crawler& operator=(const crawler&) = delete;

  /// Starts the crawler. Does nothing a second time. \throws takt::rejected if it is shut down.
  void start();

  /// Adds items to the queue, to be visited. \return the number of new items. \throws
  /// takt::rejected if the crawler is shut down; errors of the queue.
  std::size_t add(std::span<const work_item> items);
  std::size_t add(const work_item& item) { return add({&item, 1}); }

  /// Rejects add(), and terminates when the queue has no more items to claim.
  void shutdown() noexcept;
  /// Rejects add(), begins no more visits, and requests stop of running ones.
  void shutdown_and_cancel() noexcept;

  /// Returns the error of the queue, the executor or the timers that stopped the crawler, or the
  /// queue's error in releasing an item; null if there is none.
  [[nodiscard]] std::exception_ptr error() const;

  /// Returns the ledger of visits. `submitted`: items claimed. `finished`: visits that returned or
  /// threw; `failed` of them threw, or their items could not be completed. `cancelled`: visits that
  /// threw takt::cancelled. `returned`: items released unvisited. `rejected`: visits that the
  /// executor or the timers rejected or dropped.
  [[nodiscard]] task_totals totals() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  class impl;
  impl* impl_;  // reference-counted: visits have a reference, too
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// Goes through a list of work that grows while it is done, and can be stopped at any time.
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

/// How a crawler is made.
struct crawler_options {
  /// As many visits the executor has at a time, at most; at least 1.
  std::size_t visits = 4;

  /// When a visit may begin, by the clock of `timers`, if not at once: called for each item that is
  /// claimed, by one thread at a time. Such visits wait on `timers`, and hold no thread meanwhile.
  /// Does not throw.
  std::function<clock::time_point(const work_item&)> not_before{};
  /// Where they wait: a scheduled_pool, an event_loop, wheel_scheduler::on(where). Outlives the
  /// crawler. Only for not_before.
  scheduler* timers = nullptr;
  /// As many wait at a time, at most; at least 1.
  std::size_t waiting = 1000;

  /// Told of what a visit throws, on its thread, before the item is put aside. Does not throw. If
  /// it is empty, that goes to the unhandled hook.
  std::function<void(const work_item&, const std::exception_ptr&)> failed{};

  const clock* time = &steady;  ///< For waiting for its end. Outlives it.
  const unhandled_hook* unhandled = &terminate_on_unhandled;  ///< Outlives it.
};

/// Takes items out of a work_queue, visits each of them on an executor, and adds what the visits
/// find to the list: a web crawler, without the web. Stopped at any time, it leaves everything in
/// the list that is not done, and another one goes on from there.
///
/// \code
/// takt::thread_pool pool{{.core_threads = 8}};
/// takt::file_work_queue list{"site.crawl"};
/// list.accept({.key = "https://example.org/"});
///
/// takt::crawler crawl{pool, list, [](const takt::work_item& page, const std::stop_token& stop) {
///   std::vector<takt::work_item> links;
///   for (const std::string& url : fetch(page.key, stop)) links.push_back({.key = url});
///   return links;                                // throw takt::cancelled if told to stop
/// }, {.visits = 8}};
///
/// crawl.start();
/// crawl.close(takt::drain_for(10min));           // to the end, or for so long; the rest is kept
/// \endcode
///
/// **Visits.** One that returns is done: what it has found is added to the list, in one step with
/// its being confirmed. One that throws is not done, and its item is put aside until the crawler
/// ends; then it waits in the list again, for the next one. takt::cancelled is how a visit says
/// that it was cut off, and is reported to nobody; anything else is an error, see `failed`. Visits
/// begin in the order of the list, and overlap: the callable is called by several threads at once.
///
/// **The list** is borrowed, and may be shared with others. What somebody else adds to it is seen
/// when a visit ends; what is added by add(), at once.
///
/// **An executor that rejects** or drops a visit, and a list that fails, stop the crawler, as
/// shutdown_and_cancel() does; error() tells why. So it needs an executor that takes `visits` tasks
/// from it at a time.
///
/// **Shutdown.** It has one life: to restart, make another one on the same list. shutdown(): takes
/// no more by add(), and goes on until the list has nothing more to claim, what visits find
/// included; then it is terminated. shutdown_and_cancel(), to stop: begins no more visits and asks
/// those under way to stop. What has not begun goes back to the list at once, whatever the executor
/// and the timers do with the task that they still have, which does nothing any more; what is cut
/// off goes back to it, too; what visits return that end all the same, meanwhile or after a wait
/// for the end has timed out, is confirmed and added. Before start(), both end it at once. The
/// destructor is shutdown_and_cancel() and waits for the visits that run, unless one of them is its
/// caller. When it is terminated, its callables are gone, and the list is its owner's again. In a
/// child process after fork() the destructor does nothing.
///
/// **Thread safety**: all members from any thread, visits included, but for the destructor.
class crawler : public lifecycle_interface<crawler> {
 public:
  using options = crawler_options;
  /// What is done with an item: returns what it has found. Heeds the token, by throwing
  /// takt::cancelled.
  using visit = std::function<std::vector<work_item>(const work_item&, const sync::stop_token&)>;

  /// Executor and list have to outlive it. \throws std::invalid_argument if `what` is empty, visits
  /// or waiting is 0, time or unhandled is null, or there is one of not_before and timers without
  /// the other.
  crawler(any_executor where, work_queue& list, visit what, options how = {});
  ~crawler();
  crawler(const crawler&) = delete;
  crawler& operator=(const crawler&) = delete;

  /// Begins; again, does nothing. \throws takt::rejected if it is shut down.
  void start();

  /// Adds items to the list, and goes on with them. \return how many were new. \throws
  /// takt::rejected if it is shut down; what the list throws.
  std::size_t add(std::span<const work_item> items);
  std::size_t add(const work_item& item) { return add({&item, 1}); }

  /// See above.
  void shutdown() noexcept;
  void shutdown_and_cancel() noexcept;

  /// Why it has stopped by itself; null if it has not.
  [[nodiscard]] std::exception_ptr error() const;

  /// The ledger, of visits: submitted when their items are claimed; finished, of which `failed`
  /// threw; cancelled if they were cut off; returned if they had not begun; rejected by the
  /// executor.
  [[nodiscard]] task_totals totals() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  class impl;
  impl* impl_;  // counted: visits have a reference, too
};

}  // namespace takt::inline TAKT_ABI

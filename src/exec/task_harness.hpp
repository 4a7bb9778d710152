/// Runs the tasks of every executor with a queue: hooks, errors, events and counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/task/unhandled.hpp>

#include "running_task.hpp"

namespace takt::inline TAKT_ABI {

/// The outcome of a run.
enum class run_result : std::uint8_t {
  finished,
  failed,
  cancelled_before,  ///< The task did not begin.
  cancelled_within,  ///< The task was cancelled while it ran.
  again,             ///< The task ran, and is to run again.
  skipped,           ///< This run of a series was dropped by `decorate`; the series continues.
};

/// Counts an outcome. The caller holds the lock that guards `totals`.
inline void count(run_result r, task_totals& totals) noexcept {
  if (r == run_result::skipped) return;
  if (r == run_result::cancelled_before) {
    ++totals.cancelled;
    return;
  }
  ++totals.started;
  if (r >= run_result::cancelled_within) {
    ++totals.ran;
    if (r == run_result::cancelled_within) ++totals.cancelled;
    return;
  }
  ++totals.finished;
  if (r == run_result::failed) ++totals.failed;
}

/// Counts outcomes without a lock: one thread at a time counts, any thread may read.
class run_counts {
 public:
  void count_submitted() noexcept { add(submitted_); }
  void count_rejected() noexcept { add(rejected_); }
  void count(run_result r) noexcept {
    if (r == run_result::skipped) return;
    if (r == run_result::failed) add(failed_);
    if (r >= run_result::cancelled_within) add(ran_);
    if (r == run_result::again) return;
    add(r < run_result::cancelled_before ? finished_ : cancelled_);
  }

  /// Readers add the outcomes of all threads first, and then the submissions; so the sum never has
  /// more outcomes than submissions.
  void add_ends_to(task_totals& totals) const noexcept {
    const std::uint64_t finished = value(finished_);
    const std::uint64_t ran = value(ran_);
    totals.finished += finished;
    totals.ran += ran;
    totals.started += finished + ran;
    totals.failed += value(failed_);
    totals.cancelled += value(cancelled_);
    totals.rejected += value(rejected_);
  }
  void add_submissions_to(task_totals& totals) const noexcept {
    totals.submitted += value(submitted_);
  }

 private:
  using number = sync::atomic<std::uint64_t>;

  static void add(number& n) noexcept {
    // relaxed: only this thread writes it; release: all that happened before, to the reader
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  static std::uint64_t value(const number& n) noexcept {
    return n.load(std::memory_order_acquire);  // acquire: all that happened before the count
  }

  // Atomic. Written by the counting thread.
  number submitted_{0};
  number rejected_{0};
  number finished_{0};
  number failed_{0};
  number ran_{0};
  number cancelled_{0};
};

/// Functions called around a task. Null pointers are skipped; the functions are not empty.
struct run_hooks {
  const std::function<void(const task&)>* before = nullptr;
  const std::function<void(const task&, const std::exception_ptr&)>* after = nullptr;
  const std::function<task(task)>* decorate = nullptr;  // returns the task that runs instead
};

/// Runs tasks, reports events to the observer, and holds the executor's totals.
///
/// **Thread safety**: `totals` is guarded by the executor's lock. The other members are constant,
/// and are called without that lock.
class task_harness {
 public:
  task_harness(const clock& time, const unhandled_hook& unhandled, task_observer* observer) noexcept
      : time_(time), unhandled_(unhandled), observer_(observer) {}

  [[nodiscard]] bool observed() const noexcept { return observer_ != nullptr; }

  /// Reports an event of a task that does not run.
  void report(task_event::kind what, const task& t) const noexcept;
  /// Reports that runs of a periodic task were missed.
  void report_missed(const task& t, std::uint64_t runs) const noexcept;
  /// Reports the submission of a task, and sets its deadline to the present time.
  void report_submitted(task& t) const noexcept {
    if (observer_ == nullptr) return;
    t.set_deadline(time_.now());
    report(task_event::kind::submitted, t);
  }
  /// Reports that a run begins. \return the event, to be passed to report_ended(); empty if there
  /// is no observer.
  [[nodiscard]] std::optional<task_event> report_started(const task& t) const noexcept;
  /// Reports that a run has ended.
  void report_ended(std::optional<task_event>& begun, run_result result) const noexcept;

  /// Runs `t`, and destroys it unless it is to run again. While it runs, `running`, if given,
  /// refers to it; stop is requested at once if `life` is in stop or later. An exception that no
  /// future takes goes to `caught`, if given, else to the unhandled hook.
  run_result run(task& t, const lifecycle& life, running_task* running, const run_hooks& hooks = {},
                 std::exception_ptr* caught = nullptr) const noexcept {
    const bool hooked =
        hooks.before != nullptr || hooks.after != nullptr || hooks.decorate != nullptr;
    if (t.state() == nullptr && !hooked && observer_ == nullptr) return run_plain(t, caught);
    return run_observed(t, life, running, hooks, caught);
  }

  /// Appends a task that will not run to the list, or cancels it if there is no memory.
  /// \return the number of tasks cancelled.
  std::size_t keep_or_cancel(task& t, task_list& unstarted) const noexcept;

  /// Reports that a task which has not begun is returned, and detaches it from the executor.
  void mark_returned(task& t) const noexcept;

  /// Completes tasks that will not run. With `return_tasks`, tasks that are neither cancelled nor
  /// the resumption of a coroutine stay in `unstarted`, marked as returned. All other tasks are
  /// cancelled and removed. \return the number of tasks cancelled.
  std::size_t end_unstarted(task_list& unstarted, bool return_tasks) const noexcept;

  task_totals totals;

 private:
  run_result run_plain(task& t, std::exception_ptr* caught) const noexcept;
  run_result run_observed(task& t, const lifecycle& life, running_task* running,
                          const run_hooks& hooks, std::exception_ptr* caught) const noexcept;
  [[nodiscard]] std::optional<task_event> started_event(const task& t) const noexcept;
  static run_result result_of(task_outcome outcome) noexcept;
  static task decorate(task& t, const std::function<task(task)>& hook);
  run_result end_dropped(const task& t, const std::optional<task_event>& event) const noexcept;
  static run_result run_instead(task& instead, const task& t);
  void report_uncaught(const std::exception_ptr& uncaught,
                       std::exception_ptr* caught) const noexcept;

  const clock& time_;
  const unhandled_hook& unhandled_;
  task_observer* const observer_;
};

}  // namespace takt::inline TAKT_ABI

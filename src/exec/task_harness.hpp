/// What every executor with a queue does with a task: runs it, tells the observer, counts its end.
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

/// What became of a task when its turn had come.
enum class run_result : std::uint8_t {
  finished,
  failed,
  cancelled_before,  ///< It did not begin.
  cancelled_within,  ///< It was cancelled while it ran.
  again,             ///< It ran, and is to run again.
  skipped,           ///< This run of a series was dropped by `decorate`; the series continues.
};

/// Counts it.
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

/// The same without a lock: one thread at a time counts, and any thread reads meanwhile.
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

  /// Ends first, of all threads, and then submissions: so none has more ends than submissions.
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
    // relaxed: this thread alone writes it; release: what happened before, to who sees the count
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  static std::uint64_t value(const number& n) noexcept {
    return n.load(std::memory_order_acquire);  // acquire: what happened before the counts seen
  }

  // Atomic. Written by the thread that counts.
  number submitted_{0};
  number rejected_{0};
  number finished_{0};
  number failed_{0};
  number ran_{0};
  number cancelled_{0};
};

/// What is called around a task, unless null; not empty.
struct run_hooks {
  const std::function<void(const task&)>* before = nullptr;
  const std::function<void(const task&, const std::exception_ptr&)>* after = nullptr;
  const std::function<task(task)>* decorate = nullptr;  // what is run instead
};

/// Thread safety: `totals` belongs to the executor's lock; the rest is constant, and is called
/// without it.
class task_harness {
 public:
  task_harness(const clock& time, const unhandled_hook& unhandled, task_observer* observer) noexcept
      : time_(time), unhandled_(unhandled), observer_(observer) {}

  [[nodiscard]] bool observed() const noexcept { return observer_ != nullptr; }

  /// Something has happened to a task that does not run.
  void report(task_event::kind what, const task& t) const noexcept;
  /// Runs of a periodic task were left out.
  void report_missed(const task& t, std::uint64_t runs) const noexcept;
  /// The first event; stamps the task.
  void report_submitted(task& t) const noexcept {
    if (observer_ == nullptr) return;
    t.set_deadline(time_.now());
    report(task_event::kind::submitted, t);
  }
  /// A run is about to begin, and has come to its end. What report_started() gives is for
  /// report_ended() only; empty if nobody listens.
  [[nodiscard]] std::optional<task_event> report_started(const task& t) const noexcept;
  void report_ended(std::optional<task_event>& begun, run_result result) const noexcept;

  /// Runs `t` and drops it, unless it is to run again. If `where` is given, it is asked to stop
  /// when `life` is in stop or later, or gets there meanwhile. What nobody else catches goes to
  /// `caught`, if given, or to the hook.
  run_result run(task& t, const lifecycle& life, running_task* running, const run_hooks& hooks = {},
                 std::exception_ptr* caught = nullptr) const noexcept {
    const bool hooked =
        hooks.before != nullptr || hooks.after != nullptr || hooks.decorate != nullptr;
    if (t.state() == nullptr && !hooked && observer_ == nullptr) return run_plain(t, caught);
    return run_observed(t, life, running, hooks, caught);
  }

  /// Adds one that will not be run to the list; if there is no memory for that, cancels it.
  /// \return how many were cancelled.
  std::size_t keep_or_cancel(task& t, task_list& unstarted) const noexcept;

  /// One that has not begun is given back.
  void mark_returned(task& t) const noexcept;

  /// Ends tasks that will not be run: those that were cancelled, or all unless `return_tasks`, are
  /// cancelled; the rest are left in `unstarted`, to be given back. \return how many were
  /// cancelled.
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

/// What every executor with a queue does with a task: runs it, tells the observer, counts its end.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>
#include <takt/task/unhandled.hpp>

#include "running_task.hpp"

namespace takt::inline TAKT_ABI {

/// How the run of a task ended, to be counted.
struct run_result {
  bool started = false;
  bool failed = false;
  bool cancelled = false;
};

/// What is called around a task, unless null or empty.
struct run_hooks {
  const std::function<void(const task&)>* before = nullptr;
  const std::function<void(const task&, const std::exception_ptr&)>* after = nullptr;
};

/// Thread safety: `totals` and count() belong to the executor's lock; the rest is constant, and is
/// called without it.
class ledger {
 public:
  ledger(const clock& time, const unhandled_hook& unhandled, task_observer* observer) noexcept
      : time_(time), unhandled_(unhandled), observer_(observer) {}

  [[nodiscard]] bool observed() const noexcept { return observer_ != nullptr; }

  /// Something has happened to a task that does not run.
  void tell(task_event::kind what, const task& t) const noexcept;
  /// The first event; stamps the task.
  void tell_submitted(task& t) const noexcept;

  /// Runs `t` and drops it. If `where` is given, it is asked to stop when `life` is in stop or
  /// later, or gets there meanwhile. What nobody else catches goes to `caught`, if given, or to the
  /// hook.
  run_result run(task& t, const lifecycle& life, running_task* where, const run_hooks& hooks = {},
                 std::exception_ptr* caught = nullptr) const noexcept;

  /// Ends tasks that will not be run: those that were cancelled, or all unless `give_back`, are
  /// cancelled; the rest are left in `unstarted`, to be given back. \return how many were
  /// cancelled.
  std::size_t end_unstarted(task_list& unstarted, bool give_back) const noexcept;

  void count(const run_result& r) noexcept;

  task_totals totals;

 private:
  const clock& time_;
  const unhandled_hook& unhandled_;
  task_observer* const observer_;
};

}  // namespace takt::inline TAKT_ABI

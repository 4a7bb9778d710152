/// \file
/// Runs tasks where they are submitted.
#pragma once

#include <takt/base/config.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Runs each task within execute(), on the thread that calls it. For tests, and where an executor
/// is asked for but none is needed.
///
/// \code
/// takt::inline_executor here;
/// here.execute([] { step(); });                        // has been done
/// \endcode
///
/// What a task without a future throws leaves execute(), but for takt::cancelled. **Thread
/// safety**: all members from any thread; it has no state. **Shutdown**: there is none, nothing is
/// ever queued.
class inline_executor : public executor_interface<inline_executor> {
 public:
  static constexpr bool may_defer_resumption = true;

  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): executors are called so
  void execute(task t) const { t.run(); }
};

}  // namespace takt::inline TAKT_ABI

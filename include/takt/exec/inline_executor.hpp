/// \file
/// Runs tasks on the submitting thread.
#pragma once

#include <takt/base/config.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Runs each task within execute(), on the calling thread. For tests, and for interfaces that
/// require an executor where none is needed.
///
/// \code
/// takt::inline_executor here;
/// here.execute([] { step(); });                        // step() has returned
/// \endcode
///
/// **Errors.** execute() throws what a task without a future throws, except takt::cancelled.
///
/// **Thread safety.** All members may be called concurrently; the class has no state.
class inline_executor : public executor_interface<inline_executor> {
 public:
  static constexpr bool may_defer_resumption = true;

  /// Runs `t`.
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): called on an object
  void execute(task t) const { t.run(); }
};

}  // namespace takt::inline TAKT_ABI

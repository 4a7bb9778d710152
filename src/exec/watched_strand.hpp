/// A serial_executor that reports to its owner which tasks it takes out of its queue.
#pragma once

#include <takt/base/config.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Calls `taken` with each task that it takes out of the queue to run, under the lock that
/// shutdown_now() takes as well. So each task is either returned by shutdown_now(), or was reported
/// before that call took the lock.
class watched_strand final : public serial_executor {
 public:
  watched_strand(any_executor executor, const options_type& options,
                 void (*taken)(task& t) noexcept)
      : serial_executor(executor, options, taken) {}
};

}  // namespace takt::inline TAKT_ABI

/// A serial_executor that tells its owner what it takes out of its queue.
#pragma once

#include <takt/base/config.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/serial_executor.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Calls `taken` with each task that is taken out to be run, under the lock that shutdown_now()
/// takes, too: so a task is given back by that, or it was told before.
class watched_strand final : public serial_executor {
 public:
  watched_strand(any_executor where, const options& how, void (*taken)(task& t) noexcept)
      : serial_executor(where, how, taken) {}
};

}  // namespace takt::inline TAKT_ABI

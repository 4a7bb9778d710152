/// \file
/// Runs actions as soon as the current task has returned.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/batch_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Runs actions as microtasks of an event_loop: after the current task, before any other; see
/// batch_scheduler.
///
/// \code
/// takt::rx::asap_scheduler asap{loop};
/// asap.schedule([] { print("second"); });
/// print("first");
/// \endcode
///
/// Everything else is as in async_scheduler.
class asap_scheduler final : public batch_scheduler {
 public:
  explicit asap_scheduler(event_loop& loop) : batch_scheduler(loop, loop.microtasks()) {}
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

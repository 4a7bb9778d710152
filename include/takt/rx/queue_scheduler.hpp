/// \file
/// Runs actions immediately, one at a time.
#pragma once

#include <chrono>

#include <takt/base/config.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Runs actions within schedule(), but never one within another: an action that is scheduled by a
/// running action waits until that one has returned, and the outermost schedule() then runs it.
/// This turns recursion into a loop.
///
/// \code
/// takt::rx::queue_scheduler queue{loop};
///
/// queue.schedule([&] {
///   queue.schedule([] { print("second"); });
///   print("first");
/// });
/// print("third");
/// \endcode
///
/// **Delays.** An action with a delay above 0 waits on a timer, as in async_scheduler, and then
/// runs as above.
///
/// **Scheduling again.** An action that is waiting in the queue and is scheduled again without a
/// delay runs twice, both times with the later state. A pending timer of the action is cancelled.
///
/// **Errors.** When an action throws, all queued actions are closed. The outermost schedule(), or
/// the loop's run() if that called the action, throws the error. The scheduler stays usable.
///
/// Everything else is as in async_scheduler. Without delays the loop does not have to run.
class queue_scheduler final : public async_scheduler {
 public:
  using async_scheduler::async_scheduler;

 private:
  void request(action_node& a, std::chrono::nanoseconds delay) override {
    if (delay > std::chrono::nanoseconds(0)) {
      async_scheduler::request(a, delay);
    } else {
      flush_from(a);
    }
  }
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// Actions at once, one after the other.
#pragma once

#include <chrono>

#include <takt/base/config.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Runs actions within schedule(), but never one within another: what an action schedules is run
/// when it has ended, by the outermost schedule(). So recursion becomes a loop.
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
/// With a delay above 0 it does what async_scheduler does; when that has come, it is run as above.
/// An action that is scheduled twice without a delay, before it is run, is run twice, both times
/// with the later state; a timer that it had is taken back.
///
/// **Errors.** When an action throws, all that wait are closed, and the outermost schedule() throws
/// that; or the loop's run(), if it was called from there. The scheduler goes on to be usable.
///
/// **Thread safety** and the rest: as in async_scheduler. Without a delay the loop is not needed,
/// and does not have to be run.
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

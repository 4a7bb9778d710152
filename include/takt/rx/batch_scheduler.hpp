/// \file
/// Runs actions in batches, on a queue of an event loop.
#pragma once

#include <chrono>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/loop_requests.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// The common base of asap_scheduler (see there for an example) and animation_frame_scheduler. All
/// actions scheduled since the previous batch form a batch, which one task of the loop's microtask
/// or frame queue runs.
///
/// **Batches.** Actions scheduled while a batch runs belong to the next batch. When an action
/// throws, the rest of its batch is closed, but not the next batch. If all actions of a batch are
/// closed before it begins, its request on the queue is cleared; see loop_requests.
///
/// **Delays.** An action with a delay above 0 waits on a timer, as in async_scheduler, and runs
/// outside of batches.
///
/// Everything else is as in async_scheduler.
class batch_scheduler : public async_scheduler {
 public:
  ~batch_scheduler() override { close(); }

 protected:
  batch_scheduler(event_loop& loop, loop_queue& queue) : async_scheduler(loop), calls_(queue) {}

 private:
  void request(action_node& a, std::chrono::nanoseconds delay) override;
  bool recycle(action_node& a, action_delay delay) noexcept override;
  void flush_from(action_node& due) override;

  loop_requests calls_;
  loop_requests::handle call_;  // of the latest batch; invalid if that has none
  std::uint64_t batch_ = 0;     // number of the latest batch
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

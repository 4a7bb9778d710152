/// \file
/// Actions in batches, on a queue of an event loop.
#pragma once

#include <chrono>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/loop_requests.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// What asap_scheduler and animation_frame_scheduler have in common: one call on a queue of the
/// loop for all actions that were scheduled since the last one. asap_scheduler has an example.
///
/// **Batches.** What an action schedules while its batch is run is for the next one. When an action
/// throws, the rest of its batch is closed, and the next batch is not. If all of a batch are taken
/// back before it has begun, it is not asked for any more.
///
/// With a delay above 0 it does what async_scheduler does, and no batch has to do with that.
///
/// **Errors**, **thread safety** and the rest: as in async_scheduler.
class batch_scheduler : public async_scheduler {
 public:
  ~batch_scheduler() override { close(); }

 protected:
  batch_scheduler(event_loop& loop, loop_queue& where) : async_scheduler(loop), calls_(where) {}

 private:
  void request(action_node& a, std::chrono::nanoseconds delay) override;
  bool recycle(action_node& a, action_delay delay) noexcept override;
  void flush_from(action_node& due) override;

  loop_requests calls_;
  loop_requests::handle call_;  // for the latest batch; names none if that is not asked for
  std::uint64_t batch_ = 0;     // the latest one
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

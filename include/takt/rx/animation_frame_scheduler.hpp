/// \file
/// Runs actions in the next frame.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/batch_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Runs actions in the next frame of an event_loop; see batch_scheduler. Frames occur at the rate
/// set in the loop's options, or when a render loop calls run_frame().
///
/// \code
/// takt::event_loop loop{{.frame = 16ms}};
/// takt::rx::animation_frame_scheduler frames{loop};
///
/// frames.schedule([&](auto& self) {
///   draw();
///   self.schedule(0ms);          // again in the next frame
/// });
/// \endcode
///
/// Everything else is as in async_scheduler.
class animation_frame_scheduler final : public batch_scheduler {
 public:
  explicit animation_frame_scheduler(event_loop& loop) : batch_scheduler(loop, loop.frames()) {}
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// Cancellable calls on the queues of an event loop.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/timer/detail/slot_map.hpp>
#include <takt/timer/timer_id.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Calls on a queue of an event_loop, identified by handles. On the loop's microtasks, set() and
/// clear() are JavaScript's setImmediate and clearImmediate; on its frames, requestAnimationFrame
/// and cancelAnimationFrame.
///
/// \code
/// takt::rx::loop_requests immediate{loop.microtasks()};
///
/// const auto handle = immediate.set([] { tidy_up(); });
/// immediate.clear(handle);           // tidy_up() will not be called
/// \endcode
///
/// A handle becomes invalid when its call begins or is cleared. It never names another call.
///
/// **Thread safety**: for the thread of the loop only. **Destruction** clears pending calls. The
/// queue must outlive this object.
class loop_requests {
 public:
  using handle = timer_id;

  explicit loop_requests(loop_queue& queue) : queue_(queue), core_(new core) {}
  ~loop_requests();
  loop_requests(const loop_requests&) = delete;
  loop_requests& operator=(const loop_requests&) = delete;

  /// Calls `f` when the queue runs. Errors of `f` leave run() of the loop.
  /// \throws std::invalid_argument if `f` is empty; takt::rejected if the loop is shut down;
  /// std::bad_alloc.
  handle set(move_only_function<void()> f);
  /// Cancels a call and destroys its callable. The loop still runs an empty task in its place, so a
  /// frame stays requested. \return false if the call has begun or was cleared before.
  bool clear(handle which) noexcept;
  /// Returns the number of pending calls.
  [[nodiscard]] std::size_t pending() const noexcept { return core_->calls.size(); }

 private:
  struct core final : detail::ref_counted<core> {
    detail::slot_map<move_only_function<void()>> calls;
  };

  loop_queue& queue_;
  core* const core_;  // retained; also by the tasks of the loop
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

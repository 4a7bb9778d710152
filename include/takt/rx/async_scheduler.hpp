/// \file
/// Actions on the timers of an event loop.
#pragma once

#include <chrono>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/rx/action_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Runs actions by the timers of an event_loop, which outlives it.
///
/// \code
/// takt::event_loop loop;
/// takt::rx::async_scheduler async{loop};
///
/// async.schedule(1s, [](auto& self, int n) {
///   print(n);
///   self.schedule(1s, n + 1);         // the same delay: an interval, that does not drift
/// }, 1);
/// loop.run();
/// \endcode
///
/// **Scheduling again.** State and delay are replaced. What is pending is taken back, so that an
/// action runs once, however often it was scheduled. If an action schedules itself with the delay
/// that it had, its timer is kept, as an interval: it is due that long after it was due the last
/// time, however late that was; if it is behind, runs whose time has passed are left out.
///
/// **Errors** leave run(), run_one() and the like of the loop; the action is closed, and all goes
/// on with the next call. So does std::bad_alloc for an interval's next turn; that one is idle.
///
/// **Thread safety**: as in action_scheduler. unsubscribe() of an action may be called by any
/// thread, once the loop has been run and as long as the scheduler is there: its work is not begun
/// after that, unless it was about to be, and is destroyed by the thread of the loop;
/// if that has ended, perhaps with the last handle.
///
/// **Shutdown**: when the loop is shut down, schedule() gives an action that is closed and
/// is_rejected(); what is pending runs or not, as the loop says, but does not run again. What the
/// loop drops stays pending, and is closed with the scheduler.
/// **Destruction**: as in action_scheduler; the loop goes on.
class async_scheduler : public action_scheduler {
 public:
  explicit async_scheduler(event_loop& loop) noexcept : loop_(loop) {}
  ~async_scheduler() override { close(); }

  [[nodiscard]] clock::time_point now() const noexcept override { return loop_.now(); }
  [[nodiscard]] event_loop& loop() const noexcept { return loop_; }

 protected:
  void request(action_node& a, std::chrono::nanoseconds delay) override;
  bool recycle(action_node& a, action_delay delay) noexcept override;
  [[nodiscard]] bool is_elsewhere(action_node& closed) noexcept override;
  void check_thread() const override;

 private:
  struct timer_task;

  void arm(action_node& a);
  void fire(action_node& a);

  event_loop& loop_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// Runs actions by the timers of an event loop.
#pragma once

#include <chrono>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/rx/action_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Runs actions by the timers of an event_loop, which must outlive the scheduler.
///
/// \code
/// takt::event_loop loop;
/// takt::rx::async_scheduler async{loop};
///
/// async.schedule(1s, [](auto& self, int n) {
///   print(n);
///   self.schedule(1s, n + 1);         // the same delay: an interval without drift
/// }, 1);
/// loop.run();
/// \endcode
///
/// **Scheduling again** replaces state, delay and timer: an action runs once, however often it was
/// scheduled. An action that schedules itself with an unchanged delay is an interval; see
/// docs/rx.md.
///
/// **Errors** of an action leave run(), run_one() and the like of the loop, and close the action.
/// std::bad_alloc for an interval's next timer leaves them, too; that action is idle then.
///
/// **Shutdown.** Once the loop is shut down, schedule() returns a closed action that is_rejected().
///
/// **Thread safety**: as in action_scheduler. Any thread may call unsubscribe() of an action; see
/// docs/rx.md.
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

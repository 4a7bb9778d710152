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
/// **Scheduling again** replaces state, delay and timer: an action that is scheduled several times
/// before it runs, runs once. An action that schedules itself with an unchanged delay is an
/// interval; see docs/rx.md.
///
/// **Errors.** An action that throws is closed, and run(), poll() or the other member of the loop
/// that runs it throws the error. They throw std::bad_alloc if there is no memory for an interval's
/// next timer; that action stays open, and is not scheduled.
///
/// **Shutdown.** Once the loop is shut down, schedule() returns a closed action that is_rejected().
///
/// **Thread safety**: as in action_scheduler. Once the loop has been run, any thread may call
/// unsubscribe() of an action while the scheduler exists; see docs/rx.md.
class async_scheduler : public action_scheduler {
 public:
  explicit async_scheduler(event_loop& loop) : loop_(loop) {}
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

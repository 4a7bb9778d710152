/// \file
/// Actions in virtual time.
#pragma once

#include <chrono>
#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/rx/action.hpp>
#include <takt/rx/action_scheduler.hpp>
#include <takt/timer/delay_heap.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// How a virtual_time_scheduler is made.
struct virtual_time_scheduler_options {
  clock::time_point start{};  ///< What now() is at first.
  /// flush() runs what is due within that, from the start on; later actions stay.
  std::chrono::nanoseconds max_time = never;
};

/// Runs actions in the order of their time, without waiting: flush() goes from one to the next.
/// For tests and simulations.
///
/// \code
/// takt::rx::virtual_time_scheduler test;
/// blink(test, lamp);                            // takes an action_scheduler&
///
/// test.set_max_time(1h);
/// test.flush();                                 // an hour of it, at once
/// EXPECT_EQ(lamp.toggles(), 7200);
/// \endcode
///
/// **Order.** By time, and of equal times in the order of schedule(). A negative delay goes before
/// what is due now; now() does not go back for it. `never` is never run. An action that is
/// scheduled again runs once, as with async_scheduler.
///
/// **Errors.** When an action throws, all pending actions are closed, including actions that their
/// teardowns schedule meanwhile. Then flush() throws the error; now() stays at the action's time.
///
/// **Thread safety**: for one thread. flush() may be called by an action, and then runs all that is
/// left before it returns. **Destruction** closes what is pending.
class virtual_time_scheduler : public action_scheduler {
 public:
  using options = virtual_time_scheduler_options;

  explicit virtual_time_scheduler(const options& how = {});
  ~virtual_time_scheduler() override { close(); }

  [[nodiscard]] clock::time_point now() const noexcept override { return now_; }
  /// How much of it has passed.
  [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept { return now_ - start_; }

  /// Runs what is due up to max_time, inclusively. \return how many. \throws what an action throws.
  std::size_t flush();
  /// Changes max_time, from the next flush() on; one that is under way keeps to what it began with.
  template <class Rep, class Period>
  void set_max_time(std::chrono::duration<Rep, Period> time) {
    max_time_ = to_nanoseconds(time);
  }
  [[nodiscard]] std::chrono::nanoseconds max_time() const noexcept { return max_time_; }

  /// For code that takes a clock. It is moved by flush() only.
  [[nodiscard]] const manual_clock& time() const noexcept { return time_; }

 protected:
  /// Up to when a flush() that begins now runs actions.
  [[nodiscard]] clock::time_point limit() const noexcept {
    return deadline_after(start_, max_time_);
  }
  /// Runs the next one. \return false if there is none up to then. \throws as flush().
  bool step(clock::time_point until);

 private:
  void request(action_node& a, std::chrono::nanoseconds delay) override;
  bool recycle(action_node& a, action_delay delay) noexcept override;
  void close_pending(detail::error_collector& errors);

  const clock::time_point start_;
  std::chrono::nanoseconds max_time_;
  clock::time_point now_;  // the same as time_
  manual_clock time_;
  delay_heap<action_ref> turns_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// Runs actions in virtual time.
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

/// Options of a virtual_time_scheduler.
struct virtual_time_scheduler_options {
  clock::time_point start{};  ///< Initial value of now().
  /// flush() runs actions that are due up to start + max_time; later ones stay pending.
  std::chrono::nanoseconds max_time = never;
};

/// Runs actions in the order of their due times, without waiting. For tests and simulations.
///
/// \code
/// takt::rx::virtual_time_scheduler test;
/// blink(test, lamp);                            // takes an action_scheduler&
///
/// test.set_max_time(1h);
/// test.flush();                                 // one hour, at once
/// EXPECT_EQ(lamp.toggles(), 7200);
/// \endcode
///
/// **Order.** Actions run by due time, and for equal times in the order of schedule(). An action
/// with a negative delay runs before the actions that are due now; now() does not go back for it.
/// An action with the delay `never` does not run. An action scheduled twice before it runs, runs
/// once.
///
/// **Errors.** When an action throws, all pending actions are closed, including actions that their
/// teardowns schedule meanwhile. Then flush() throws the error; now() stays at the action's time.
///
/// **Thread safety**: for one thread. An action may call flush(), which then runs all other actions
/// that are due up to max_time. **Destruction** closes pending actions.
class virtual_time_scheduler : public action_scheduler {
 public:
  using options_type = virtual_time_scheduler_options;

  explicit virtual_time_scheduler(const options_type& options = {});
  ~virtual_time_scheduler() override { close(); }

  [[nodiscard]] clock::time_point now() const noexcept override { return now_; }
  /// Returns the virtual time that has elapsed since the start.
  [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept { return now_ - start_; }

  /// Runs the actions that are due up to and including start + max_time.
  /// \return the number of actions that ran. \throws what an action throws.
  std::size_t flush();
  /// Changes max_time from the next flush() on; a flush() in progress keeps its limit.
  template <class Rep, class Period>
  void set_max_time(std::chrono::duration<Rep, Period> time) {
    max_time_ = to_nanoseconds(time);
  }
  [[nodiscard]] std::chrono::nanoseconds max_time() const noexcept { return max_time_; }

  /// Returns a clock for code that takes one. Only flush() advances it.
  [[nodiscard]] const manual_clock& time() const noexcept { return time_; }

 protected:
  /// Returns the limit of a flush() that begins now.
  [[nodiscard]] clock::time_point limit() const noexcept {
    return deadline_after(start_, max_time_);
  }
  /// Runs the next action. \return false if none is due up to `until`. \throws as flush().
  bool step(clock::time_point until);

 private:
  void request(action_node& a, std::chrono::nanoseconds delay) override;
  bool recycle(action_node& a, action_delay delay) noexcept override;
  void close_pending(detail::error_collector& errors);

  const clock::time_point start_;
  std::chrono::nanoseconds max_time_;
  clock::time_point now_;  // equal to time_
  manual_clock time_;
  delay_heap<action_ref> timed_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

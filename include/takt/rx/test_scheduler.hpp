/// \file
/// Workers in virtual time.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/missed_runs.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Options of a test_scheduler.
struct test_scheduler_options {
  clock::time_point start{};      ///< Initial value of now().
  bool interruptible = false;     ///< As in worker_options.
  missed_runs missed = catch_up;  ///< Policy for late runs of periodic tasks: skips none.
};

/// A worker_scheduler for tests, with virtual time. Tasks run within advance(), advance_to() and
/// poll(), on the calling thread.
///
/// \code
/// takt::rx::test_scheduler test;
/// service s{test};                           // takes an rx::worker_scheduler&
///
/// test.advance(1s);
/// EXPECT_EQ(s.ticks(), 10);
/// \endcode
///
/// **Order.** Tasks of all workers run by deadline, and for equal deadlines in the order of
/// schedule(). While a task runs, now() is its deadline.
///
/// **Errors** of tasks leave advance(), advance_to() and poll(), with now() at the deadline of that
/// task. The next call continues.
///
/// **Shutdown**: as in worker_scheduler.
///
/// **Thread safety.** One thread at a time may call advance(), advance_to() and poll(); tasks must
/// not. Everything else is as in worker_scheduler.
class test_scheduler : public worker_scheduler {
 public:
  using options_type = test_scheduler_options;

  explicit test_scheduler(const options_type& options = {});

  /// Advances the time by a duration, and runs the tasks that become due.
  /// \return the number of tasks that ran.
  /// \throws std::invalid_argument if the duration is negative; what a task throws.
  template <class Rep, class Period>
  std::size_t advance(std::chrono::duration<Rep, Period> time) {
    return advance_to(target_after(to_nanoseconds(time)));
  }
  /// As above, up to `time`. \throws std::invalid_argument if `time` is before now(); what a task
  /// throws.
  std::size_t advance_to(clock::time_point time);
  /// Runs the tasks that are due now. \return the number of tasks that ran. \throws what a task
  /// throws.
  std::size_t poll() { return advance_to(now()); }

  /// Returns the clock, for code that takes one. Advancing the clock itself runs no tasks.
  [[nodiscard]] manual_clock& time() noexcept;

 private:
  class core;
  explicit test_scheduler(std::unique_ptr<core> made) noexcept;
  [[nodiscard]] clock::time_point target_after(std::chrono::nanoseconds time) const;

  core& core_;  // owned by worker_scheduler
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

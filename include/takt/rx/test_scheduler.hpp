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

/// How a test_scheduler is made.
struct test_scheduler_options {
  clock::time_point start{};      ///< What now() is at first.
  bool interruptible = false;     ///< As in worker_options.
  missed_runs missed = catch_up;  ///< What periodic tasks do when they are behind.
};

/// A scheduler for tests, whose time passes when it is told to. Tasks run within advance() and
/// the like, on the thread that calls it: by their deadlines, and of equal ones in the order of
/// schedule(), whichever worker they are of. Meanwhile now() is the deadline of the task that runs.
///
/// \code
/// takt::rx::test_scheduler test;
/// service s{test};                           // takes an rx::worker_scheduler&
///
/// test.advance(1s);
/// EXPECT_EQ(s.ticks(), 10);
/// \endcode
///
/// What a task throws leaves advance() and the like, at the time of that task; the next call
/// goes on. Time does not go back: that is an error.
///
/// **Thread safety**: advance(), advance_to() and poll() by one thread at a time, and
/// not by a task; the rest as in scheduler. **Shutdown**: as in scheduler.
class test_scheduler : public worker_scheduler {
 public:
  using options = test_scheduler_options;

  explicit test_scheduler(const options& how = {});

  /// Lets so much time pass, and runs what comes due. \return how many tasks.
  /// \throws std::invalid_argument if it is negative; what a task throws.
  template <class Rep, class Period>
  std::size_t advance(std::chrono::duration<Rep, Period> time) {
    return advance_to(target_after(to_nanoseconds(time)));
  }
  /// The same until that time. \throws std::invalid_argument if it is before now().
  std::size_t advance_to(clock::time_point time);
  /// Runs what is due now. \return how many tasks.
  std::size_t poll() { return advance_to(now()); }

  /// For code that takes a clock.
  [[nodiscard]] manual_clock& time() noexcept;

 private:
  class core;
  explicit test_scheduler(std::unique_ptr<core> made) noexcept;
  [[nodiscard]] clock::time_point target_after(std::chrono::nanoseconds time) const;

  core& core_;  // of the scheduler
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

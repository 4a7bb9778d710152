/// \file
/// A clock that moves only when it is advanced.
#pragma once

#include <chrono>
#include <cstddef>
#include <type_traits>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/fwd.hpp>  // manual_clock, manual_wall_clock

namespace takt::inline TAKT_ABI {

/// A clock for tests and simulations. It stands still until a thread advances it. Threads that wait
/// on it really block, and wake when their deadline is reached.
///
/// \code
/// takt::manual_clock time;
/// heartbeat pulse{time};  // examples/heartbeat.cpp
/// std::thread runner{[&] { pulse.run(); }};
///
/// time.wait_for_waiters(1);  // it has beaten once and waits for the next second
/// EXPECT_EQ(pulse.beats(), 1);
/// time.advance(1s);
/// time.wait_for_waiters(1);  // it has beaten again and waits
/// EXPECT_EQ(pulse.beats(), 2);
///
/// pulse.stop();
/// runner.join();
/// \endcode
///
/// Time never goes back and never reaches time_point::max(): a wait with that deadline never
/// expires.
///
/// **Thread safety.** All members may be called concurrently. **Destruction** requires that no
/// thread waits on the clock (checked with TAKT_ASSERT). See docs/time.md.
template <class Base>
class basic_manual_clock final : public basic_clock<Base> {
 public:
  using typename basic_clock<Base>::time_point;

  /// Starts at `start`, or 1 ns before time_point::max() if `start` is later than that.
  explicit basic_manual_clock(time_point start = time_point{}) noexcept;
  ~basic_manual_clock();
  basic_manual_clock(const basic_manual_clock&) = delete;
  basic_manual_clock& operator=(const basic_manual_clock&) = delete;

  [[nodiscard]] time_point now() const noexcept override;
  void park_until(parker& p, time_point deadline) const noexcept override;

  /// Advances by `d`, rounded up to nanoseconds, and wakes all threads whose deadline is reached.
  /// Does not wait for these threads.
  /// \throws std::invalid_argument if `d` is negative or NaN.
  template <class Rep, class Period>
    requires std::is_arithmetic_v<Rep>
  void advance(std::chrono::duration<Rep, Period> d) {
    advance_by(to_nanoseconds(d));
  }

  /// Advances to `t`, as above.
  /// \throws std::invalid_argument if `t` is before now().
  void advance_to(time_point t);

  /// Advances to the earliest deadline of the parked threads. A thread that has been unparked, but
  /// has not yet returned from park_until(), does not count as parked.
  /// \return false, without advancing, if no thread is parked with a deadline.
  bool advance_to_next();

  /// Blocks until at least `count` threads are parked on this clock, with any deadline. A thread
  /// that has been unparked does not count, so after unpark() or advance() this call returns only
  /// when the woken thread has done its work and has parked again.
  void wait_for_waiters(std::size_t count) const;

  /// Number of threads that are parked on this clock now, counted as above.
  [[nodiscard]] std::size_t waiters() const;

 private:
  // Lives on the stack of the parked thread.
  struct waiter : detail::list_node<> {
    waiter(parker& p, time_point d) noexcept : parked(p), deadline(d) {}
    parker& parked;
    time_point deadline;
  };

  [[noreturn]] static void refuse_to_go_back(time_point now, time_point to);
  void advance_by(std::chrono::nanoseconds d);
  void move_to(time_point t) TAKT_REQUIRES(mu_);
  std::size_t count_waiters() const TAKT_REQUIRES(mu_);

  mutable detail::mutex mu_;
  mutable detail::condition waiter_came_;
  time_point now_ TAKT_GUARDED_BY(mu_);
  mutable detail::intrusive_list<waiter> waiters_ TAKT_GUARDED_BY(mu_);
};

extern template class basic_manual_clock<std::chrono::steady_clock>;
extern template class basic_manual_clock<std::chrono::system_clock>;

}  // namespace takt::inline TAKT_ABI

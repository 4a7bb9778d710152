/// \file
/// Time that moves only when told to.
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

/// A clock for tests and simulations: it stands still until advance() and its kin are called, by
/// any thread. Threads that wait on it really block, and wake when their deadline has come.
///
/// \code
/// takt::manual_clock time;
/// heartbeat pulse{time};
/// std::thread runner{[&] { pulse.run(); }};
///
/// time.wait_for_waiters(1);  // it has beaten once, and waits for its next second
/// EXPECT_EQ(pulse.beats(), 1);
/// time.advance(1s);
/// time.wait_for_waiters(1);  // it has beaten again, and is back
/// EXPECT_EQ(pulse.beats(), 2);
///
/// pulse.stop();
/// runner.join();
/// \endcode
/// The heartbeat is that of takt/clock/clock.hpp.
///
/// Time never goes back, and never reaches time_point::max(): what waits until then waits for
/// ever.
///
/// **Thread safety**: all members, from any thread. **Destruction**: nobody waits on it (checked
/// with TAKT_ASSERT).
template <class Base>
class basic_manual_clock final : public basic_clock<Base> {
 public:
  using typename basic_clock<Base>::time_point;

  /// Shows `start` until told otherwise; if that is time_point::max(), the time just before it.
  explicit basic_manual_clock(time_point start = time_point{}) noexcept;
  ~basic_manual_clock();
  basic_manual_clock(const basic_manual_clock&) = delete;
  basic_manual_clock& operator=(const basic_manual_clock&) = delete;

  [[nodiscard]] time_point now() const noexcept override;
  void park_until(parker& p, time_point deadline) const noexcept override;

  /// Lets `d`, any arithmetic duration, rounded up, pass; and wakes all whose deadline has come by
  /// then. It does not wait for them.
  /// \throws std::invalid_argument if `d` is negative or not a number.
  template <class Rep, class Period>
    requires std::is_arithmetic_v<Rep>
  void advance(std::chrono::duration<Rep, Period> d) {
    advance_by(to_nanoseconds(d));
  }

  /// Lets time pass until `t`, as above.
  /// \throws std::invalid_argument if that is before now().
  void advance_to(time_point t);

  /// Lets time pass until the earliest deadline that a parked thread waits for. The deadline of one
  /// that has been unparked, and is on its way out, does not count.
  /// \return false if there is none; time stands still then.
  bool advance_to_next();

  /// Blocks until at least `count` threads are parked on this clock, with whatever deadline. One
  /// that has been unparked and is on its way out does not count, so that after `unpark()` or
  /// `advance()` this waits until the thread has done its work and is back.
  void wait_for_waiters(std::size_t count) const;

  /// How many threads are parked on this clock now, in the same sense.
  [[nodiscard]] std::size_t waiters() const;

 private:
  // On the stack of a parked thread.
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

/// \file
/// Time that is injected: what the time is, and how to wait for a later one.
#pragma once

#include <chrono>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/fwd.hpp>  // clock, wall_clock

namespace takt::inline TAKT_ABI {

/// What the time is, and how a thread waits until a deadline or a notification.
///
/// All that waits in takt does so through a clock that it was given. With a manual_clock a test
/// then decides when time passes; nothing sleeps and hopes.
///
/// \code
/// class heartbeat {
///  public:
///   explicit heartbeat(const takt::clock& time = takt::steady) : time_(time) {}
///
///   // Beats at once and then every second, until stop().
///   void run() {
///     for (auto next = time_.now();; next += 1s) {
///       while (!stopped_ && time_.now() < next) time_.park_until(wake_, next);
///       if (stopped_) return;
///       ++beats_;
///     }
///   }
///
///   void stop() {
///     stopped_ = true;
///     wake_.unpark();
///   }
///   ...
///  private:
///   const takt::clock& time_;
///   takt::parker wake_;
///   std::atomic<bool> stopped_ = false;
///   std::atomic<int> beats_ = 0;
/// };
/// \endcode
/// All of it is in examples/heartbeat.cpp.
///
/// There are two kinds of time, and their deadlines do not mix: a deadline of the other kind does
/// not compile. `takt::clock` counts steadily: it is what schedulers run on. `takt::wall_clock`
/// tells the time of day, which people and administrators may set.
///
/// While a machine is suspended, steady time stands still on Linux, and wall time goes on: a
/// steady deadline comes that much later, a wall deadline on waking up.
///
/// **Thread safety**: all members, from any thread. **Destruction**: nobody waits on it.
template <class Base>
class basic_clock {
 public:
  /// A time of this kind. time_point::max() is never.
  using time_point = std::chrono::time_point<Base, std::chrono::nanoseconds>;

  /// The time now. Never less than an earlier answer to the same thread, if Base is steady.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Parks the calling thread, which is the one that parks on `p`, until somebody unparks it or
  /// `deadline` has come, and takes the token if there is one. A deadline in the past polls.
  ///
  /// It does not say which of the two it was, since both may have come by the time the caller
  /// looks: every caller loops over what it waits for and now(), as in the example.
  virtual void park_until(parker& p, time_point deadline) const noexcept = 0;

 protected:
  basic_clock() = default;
  basic_clock(const basic_clock&) = default;
  basic_clock& operator=(const basic_clock&) = default;
  ~basic_clock() = default;
};

/// The real steady clock. Has no state: all objects are the same; takt::steady is one.
/// Thread safety: all members, from any thread. Destruction: at any time that nobody waits on it.
class steady_clock final : public clock {
 public:
  [[nodiscard]] time_point now() const noexcept override;
  void park_until(parker& p, time_point deadline) const noexcept override;
};

/// The real time of day. Has no state: all objects are the same; takt::wall is one.
/// When it is set, waits end earlier or later accordingly. Thread safety and destruction: as above.
class system_clock final : public wall_clock {
 public:
  [[nodiscard]] time_point now() const noexcept override;
  void park_until(parker& p, time_point deadline) const noexcept override;
};

/// What time options default to.
inline constexpr steady_clock steady{};

/// The time of day, where it is asked for.
inline constexpr system_clock wall{};

}  // namespace takt::inline TAKT_ABI

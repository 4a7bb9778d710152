/// \file
/// The clock interface: reading the time, and waiting for a deadline.
#pragma once

#include <chrono>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/fwd.hpp>  // clock, wall_clock

namespace takt::inline TAKT_ABI {

/// The interface of a clock: reads the time, and blocks a thread until a deadline or a
/// notification. Components take their clock as an option and use it for every timed wait, so a
/// test with a manual_clock decides when time passes.
///
/// \code
/// // Beats at once and then every second, until stop().
/// void heartbeat::run() {
///   for (auto next = time_.now();; next += 1s) {
///     while (!stopped_ && time_.now() < next) time_.park_until(wake_, next);
///     if (stopped_) return;
///     ++beats_;
///   }
/// }
/// \endcode
/// The whole class is in examples/heartbeat.cpp.
///
/// `takt::clock` is basic_clock<std::chrono::steady_clock>: steady time, on which schedulers run.
/// `takt::wall_clock` is basic_clock<std::chrono::system_clock>: the time of day, which may be set.
/// A deadline of one kind does not compile where the other is expected.
///
/// **Thread safety.** All members may be called concurrently. **Destruction** requires that no
/// thread waits on the clock. See docs/time.md.
template <class Base>
class basic_clock {
 public:
  /// A deadline of this clock. time_point::max() means never.
  using time_point = std::chrono::time_point<Base, std::chrono::nanoseconds>;

  /// Returns the current time. If Base is steady, it never decreases as seen by one thread.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Parks the calling thread until `p` has a token or `deadline` has passed, and takes the token,
  /// if any. Only the thread that may park on `p` may call it. A deadline in the past polls.
  ///
  /// park_until() does not report why it returned; both may have happened. Call it in a loop over
  /// the real condition and now(), as in the example.
  virtual void park_until(parker& p, time_point deadline) const noexcept = 0;

 protected:
  basic_clock() = default;
  basic_clock(const basic_clock&) = default;
  basic_clock& operator=(const basic_clock&) = default;
  ~basic_clock() = default;
};

/// The real steady clock. It has no state, so all objects are equivalent; takt::steady is one.
class steady_clock final : public clock {
 public:
  [[nodiscard]] time_point now() const noexcept override;
  void park_until(parker& p, time_point deadline) const noexcept override;
};

/// The real time of day. It has no state, so all objects are equivalent; takt::wall is one. When
/// the time of day is set, waits end earlier or later accordingly.
class system_clock final : public wall_clock {
 public:
  [[nodiscard]] time_point now() const noexcept override;
  void park_until(parker& p, time_point deadline) const noexcept override;
};

/// The real steady clock: the default of options that take a clock.
inline constexpr steady_clock steady{};

/// The real time of day, for code that takes a wall_clock.
inline constexpr system_clock wall{};

}  // namespace takt::inline TAKT_ABI

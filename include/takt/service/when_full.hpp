/// \file
/// Policies for a full queue.
#pragma once

#include <chrono>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/clock/time.hpp>

namespace takt::inline TAKT_ABI {

/// Policy of a channel or log_service for a value that is pushed while its queue is full.
///
/// \code
/// takt::log_service log{takt::to_file("app.log"), {.rejection = takt::when_full::drop()}};
/// \endcode
///
/// Compare rejection_policy, which can also have the caller run a task.
///
/// **Thread safety.** A value type, like an int.
class when_full {
 public:
  /// The producer waits for room. The default of channel_options and log_service_options.
  [[nodiscard]] static constexpr when_full wait() noexcept { return {kind::wait, never}; }
  /// The producer waits for at most `timeout`; then push() or log() throws takt::rejected
  /// (timed_out).
  template <class Rep, class Period>
  [[nodiscard]] static constexpr when_full wait(std::chrono::duration<Rep, Period> timeout) {
    return {kind::wait, to_nanoseconds(timeout)};
  }
  /// The value is dropped and counted: push() or log() returns false.
  [[nodiscard]] static constexpr when_full drop() noexcept { return {kind::drop, never}; }
  /// push() or log() throws takt::rejected (saturated).
  [[nodiscard]] static constexpr when_full fail() noexcept { return {kind::fail, never}; }

  [[nodiscard]] constexpr bool waits() const noexcept { return kind_ == kind::wait; }
  [[nodiscard]] constexpr bool drops() const noexcept { return kind_ == kind::drop; }
  /// Returns the maximum wait; `never` if it is unlimited. Meaningful only if waits() is true.
  [[nodiscard]] constexpr std::chrono::nanoseconds timeout() const noexcept { return timeout_; }

 private:
  enum class kind : std::uint8_t { wait, drop, fail };
  constexpr when_full(kind k, std::chrono::nanoseconds timeout) noexcept
      : kind_(k), timeout_(timeout) {}

  kind kind_;
  std::chrono::nanoseconds timeout_;
};

}  // namespace takt::inline TAKT_ABI

/// \file
/// What becomes of a value for which there is no room.
#pragma once

#include <chrono>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/clock/time.hpp>

namespace takt::inline TAKT_ABI {

/// What a channel, or a service that has one, does with a value for which its queue has no room.
///
/// \code
/// takt::log_service log{takt::to_file("app.log"), {.rejection = takt::when_full::drop()}};
/// \endcode
///
/// The words are those of rejection_policy, which can do more: a pool can also run the task that it
/// has no room for.
///
/// **Thread safety**: as for an int. **Destruction**: nothing to it.
class when_full {
 public:
  /// Who has the value waits for room. The default.
  [[nodiscard]] static constexpr when_full wait() noexcept { return {kind::wait, never}; }
  /// The same for that long at most; then takt::rejected is thrown (timeout_error).
  template <class Rep, class Period>
  [[nodiscard]] static constexpr when_full wait(std::chrono::duration<Rep, Period> timeout) {
    return {kind::wait, to_nanoseconds(timeout)};
  }
  /// The value is dropped, and counted.
  [[nodiscard]] static constexpr when_full drop() noexcept { return {kind::drop, never}; }
  /// takt::rejected is thrown (saturated).
  [[nodiscard]] static constexpr when_full fail() noexcept { return {kind::fail, never}; }

  [[nodiscard]] constexpr bool waits() const noexcept { return kind_ == kind::wait; }
  [[nodiscard]] constexpr bool drops() const noexcept { return kind_ == kind::drop; }
  /// How long it waits at most, if it does.
  [[nodiscard]] constexpr std::chrono::nanoseconds timeout() const noexcept { return timeout_; }

 private:
  enum class kind : std::uint8_t { wait, drop, fail };
  constexpr when_full(kind k, std::chrono::nanoseconds timeout) noexcept
      : kind_(k), timeout_(timeout) {}

  kind kind_;
  std::chrono::nanoseconds timeout_;
};

}  // namespace takt::inline TAKT_ABI

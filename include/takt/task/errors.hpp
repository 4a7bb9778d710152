/// \file
/// What a future may end with instead of a value, and what cancelling did.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Thrown by get() and co_await: the work was cancelled.
class cancelled : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "takt: cancelled"; }
};

/// Thrown by get() and co_await: whoever was to deliver the result is gone without it. The promise
/// was destroyed, or the task was dropped before it ran.
class abandoned : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "takt: abandoned: the promise or task is gone without a result";
  }
};

/// Thrown by get(stop_token): stop was requested before the result was there. The future is still
/// valid, and the work still under way.
class wait_stopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "takt: the wait was stopped"; }
};

/// What cancel() has achieved.
enum class cancel_result : std::uint8_t {
  /// The work had not begun, and never will. Its closure is destroyed already.
  prevented,
  /// The work is under way. The future is cancelled at once and stop is requested, but the body
  /// goes on until it heeds its token; what it refers to must stay alive.
  running,
  /// There was nothing left to cancel: it has ended, was cancelled before, or its end is just
  /// being delivered.
  done,
};

/// "prevented", "running" or "done".
[[nodiscard]] constexpr std::string_view to_string(cancel_result r) noexcept {
  switch (r) {
    case cancel_result::prevented:
      return "prevented";
    case cancel_result::running:
      return "running";
    case cancel_result::done:
      break;
  }
  return "done";
}

}  // namespace takt::inline TAKT_ABI

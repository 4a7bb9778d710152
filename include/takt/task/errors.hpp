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
class broken_promise : public std::exception {
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

/// Thrown by those who wait for a value until a deadline: it was not there by then.
class timeout_error : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "takt: the wait has timed out";
  }
};

/// Why an executor did not take a task, or a channel or a service what it was given.
enum class rejection : std::uint8_t {
  shut_down,  ///< It takes no more work.
  saturated,  ///< Its queue is full; an executor has as many threads as it may have, too.
  no_thread,  ///< It has no thread, and the system gives it none.
  dropped,    ///< By the policy of the executor, after it had been taken or instead.
  timed_out   ///< No room within the time that a submission may wait.
};

/// "shut down", "saturated", and so on.
[[nodiscard]] constexpr std::string_view to_string(rejection r) noexcept {
  switch (r) {
    case rejection::shut_down:
      return "shut down";
    case rejection::saturated:
      return "saturated";
    case rejection::no_thread:
      return "no thread";
    case rejection::dropped:
      return "dropped";
    case rejection::timed_out:
      break;
  }
  return "wait timed out";
}

/// Thrown by execute(), submit(), push() and log(): it was not taken. Also what a future ends with
/// whose task was dropped by a policy.
class rejected : public std::exception {
 public:
  explicit rejected(rejection reason) noexcept : reason_(reason) {}
  [[nodiscard]] rejection reason() const noexcept { return reason_; }
  [[nodiscard]] const char* what() const noexcept override {
    switch (reason_) {
      case rejection::shut_down:
        return "takt: rejected: it is shut down";
      case rejection::saturated:
        return "takt: rejected: there is no room";
      case rejection::no_thread:
        return "takt: rejected: there is no thread, and none could be started";
      case rejection::dropped:
        return "takt: rejected: dropped";
      case rejection::timed_out:
        break;
    }
    return "takt: rejected: there was no room in time";
  }

 private:
  rejection reason_;
};

/// What became of a task that was run.
enum class task_outcome : std::uint8_t {
  finished,   ///< It came to its end.
  failed,     ///< It threw; the exception is in its future.
  cancelled,  ///< It was cancelled, before it began or while it ran.
  again,      ///< It came to its end, and is still there, to be run again.
};

/// What cancel() has achieved.
enum class cancel_result : std::uint8_t {
  /// The work had not begun, and never will. Its closure is destroyed already.
  prevented,
  /// The work is under way, and goes on; what it refers to must stay alive. Of a future: that is
  /// cancelled at once, and stop is requested, which the body may heed. A timer_handle without a
  /// future does not ask the body to stop, and says the same again; nor does a worker ask that is
  /// not interruptible.
  running,
  /// There was nothing left to cancel: it has ended, was cancelled before, or its end is just
  /// being delivered. After a cancel() that gave `running`, the body may still run: only
  /// cancel_and_join() tells when that has ended. So it may after `done` of a wheel_scheduler's
  /// timer_handle without a future: its executor has it.
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

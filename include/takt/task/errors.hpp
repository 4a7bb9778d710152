/// \file
/// Exceptions of futures and executors, outcomes of tasks, and results of cancellation.
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

/// Thrown by get() and co_await: the promise was destroyed without a result, or the task was
/// dropped before it ran.
class broken_promise : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "takt: broken promise: the promise or task was destroyed without a result";
  }
};

/// Thrown by get(stop_token): stop was requested before the future was ready. The future stays
/// valid, and the work continues.
class wait_stopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "takt: the wait was stopped"; }
};

/// Thrown by invoke_any() and by the future of with_timeout(): there was no value by the deadline.
class timeout_error : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "takt: the wait has timed out";
  }
};

/// Why an executor rejected a task, or a channel or a service rejected an item.
enum class rejection : std::uint8_t {
  shut_down,  ///< The component accepts no more work.
  saturated,  ///< The queue is full. An executor also runs its maximum number of threads.
  no_thread,  ///< The executor has no thread, and the system refuses to start one.
  dropped,    ///< The executor dropped the task, on submission or after queueing it.
  timed_out   ///< The queue stayed full for as long as the submission may wait.
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

/// Thrown by execute(), submit(), push() and log() if the work is not accepted. A future fails with
/// it if a rejection policy drops the task.
class rejected : public std::exception {
 public:
  explicit rejected(rejection reason) noexcept : reason_(reason) {}
  [[nodiscard]] rejection reason() const noexcept { return reason_; }
  [[nodiscard]] const char* what() const noexcept override {
    switch (reason_) {
      case rejection::shut_down:
        return "takt: rejected: shut down";
      case rejection::saturated:
        return "takt: rejected: the queue is full";
      case rejection::no_thread:
        return "takt: rejected: no thread could be started";
      case rejection::dropped:
        return "takt: rejected: dropped";
      case rejection::timed_out:
        break;
    }
    return "takt: rejected: the queue stayed full until the time-out";
  }

 private:
  rejection reason_;
};

/// The outcome of running a task.
enum class task_outcome : std::uint8_t {
  finished,   ///< The callable returned.
  failed,     ///< The callable threw. Its future holds the exception.
  cancelled,  ///< The task was cancelled, before it began or while it ran.
  again,      ///< The callable returned, and the periodic task can be run again.
};

/// The effect of cancel().
enum class cancel_result : std::uint8_t {
  /// The work had not begun and never will. Its closure has been destroyed.
  prevented,
  /// The body is running and continues; what it refers to must stay alive. A future is cancelled at
  /// once, and stop is requested on the body's token. A timer_handle without a future requests no
  /// stop, and later calls return `running` again. A worker that is not interruptible requests no
  /// stop either.
  running,
  /// Nothing was left to cancel: the work has ended, was cancelled earlier, or its result is being
  /// delivered right now. After an earlier `running`, the body may still run; only
  /// cancel_and_join() waits for it. It may also still run after `done` from a timer_handle without
  /// a future of a wheel_scheduler: its executor has the task.
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

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

/// Thrown by get() and co_await: the promise, or a task that had not run, was destroyed without a
/// result.
class broken_promise : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "takt: broken promise: the promise or task was destroyed without a result";
  }
};

/// Thrown by get(stop_token) and invoke_any(): stop was requested before there was a result. After
/// get() the future is unchanged and the work continues; invoke_any() has cancelled its callables.
class wait_stopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "takt: the wait was stopped"; }
};

/// Thrown by invoke_any(), and by get() of the future of with_timeout(): there was no value at the
/// deadline.
class timeout_error : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "takt: the wait has timed out";
  }
};

/// Why an executor rejected a task, or a channel or a service rejected an item.
enum class rejection : std::uint8_t {
  shut_down,  ///< The component accepts no more work.
  saturated,  ///< The queue is full, and an executor also runs its maximum number of threads.
  no_thread,  ///< The executor has no thread, and the system refuses to start one.
  dropped,    ///< The executor dropped the task, on submission or after queueing it.
  timed_out   ///< The queue stayed full for as long as the submission was allowed to wait.
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

/// Thrown by calls that submit work, such as execute(), submit(), schedule(), push() and log(), if
/// the work is not accepted. If a rejection policy drops a task instead, the task's future fails
/// with it.
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

/// The result of task::run() and future::outcome(). An executor counts outcomes of its own; see
/// task_event.
enum class task_outcome : std::uint8_t {
  finished,   ///< The callable returned.
  failed,     ///< The callable threw, or the future has an error for another reason.
  cancelled,  ///< The task was cancelled, before it began or while it ran.
  again,      ///< The callable returned, and the periodic task can be run again. Of run() only.
};

/// The effect of cancel().
enum class cancel_result : std::uint8_t {
  /// The work had not begun and never will. Its closure has been destroyed.
  prevented,
  /// The body is running and continues; what it refers to must stay alive. A future is cancelled at
  /// once, and stop is requested on the body's token. There are two exceptions. Cancelling a task
  /// without a future requests no stop, and later calls return `running` again. An rx::worker whose
  /// option `interruptible` is false requests no stop, either.
  running,
  /// Nothing was left to cancel: the work has ended, was cancelled earlier, or its result is being
  /// delivered right now. After an earlier `running`, the body may still run; only
  /// cancel_and_join() waits for it. For a task of a wheel_scheduler without a future, `done` may
  /// also mean that its executor has received the task: its body may run now or later.
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

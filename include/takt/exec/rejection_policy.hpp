/// \file
/// What becomes of a task for which there is no room.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include <takt/base/config.hpp>
#include <takt/clock/time.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {
class pool_core;
}  // namespace detail

/// What a pool does with a task for which it has neither a thread nor room in its queue.
///
/// \code
/// takt::thread_pool pool{{.core_threads = 2,
///                         .queue_capacity = 100,
///                         .rejection = takt::rejection_policy::caller_runs()}};
/// \endcode
///
/// A task that is dropped ends its future with takt::rejected. After shutdown, drop() and
/// drop_oldest() drop the new task, call() is called, and all others throw takt::rejected.
///
/// **Thread safety**: as for a value; what call() is given is called by all threads that submit.
class rejection_policy {
 public:
  /// Called with the task, which it may run, keep or drop, on the thread that submits it.
  using handler = std::function<void(task, rejection)>;

  /// execute() throws takt::rejected. The default.
  [[nodiscard]] static rejection_policy fail() { return rejection_policy(kind::fail); }
  /// execute() runs the task itself, also if no thread can be had at all: who submits too fast is
  /// slowed down. Such a task is its caller's: shutdown_now() does not ask it to stop, and nobody
  /// waits for it.
  [[nodiscard]] static rejection_policy caller_runs() {
    return rejection_policy(kind::caller_runs);
  }
  /// The task is dropped.
  [[nodiscard]] static rejection_policy drop() { return rejection_policy(kind::drop); }
  /// The task at the head of the queue is dropped for it, within execute(): if that task owned the
  /// pool, there is none any more when execute() returns. If nothing is queued, the new one is.
  [[nodiscard]] static rejection_policy drop_oldest() {
    return rejection_policy(kind::drop_oldest);
  }
  /// execute() waits for room. A thread of the pool itself never waits, but throws.
  [[nodiscard]] static rejection_policy wait() { return rejection_policy(kind::wait); }
  /// execute() waits so long for room, then throws (timeout_error); 0 or less is not at all.
  template <class Rep, class Period>
  [[nodiscard]] static rejection_policy wait(std::chrono::duration<Rep, Period> timeout) {
    rejection_policy made(kind::wait);
    made.timeout_ = to_nanoseconds(timeout);
    return made;
  }
  /// Whatever you like. \throws std::invalid_argument if `own` is empty.
  [[nodiscard]] static rejection_policy call(handler own);

  /// Whether it is drop_oldest().
  [[nodiscard]] bool drops_oldest() const noexcept { return kind_ == kind::drop_oldest; }

 private:
  friend class detail::pool_core;
  enum class kind : std::uint8_t { fail, caller_runs, drop, drop_oldest, wait, call };

  explicit rejection_policy(kind k) noexcept : kind_(k) {}

  kind kind_;
  std::chrono::nanoseconds timeout_ = std::chrono::nanoseconds::max();
  handler own_{};
};

}  // namespace takt::inline TAKT_ABI

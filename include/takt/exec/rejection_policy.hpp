/// \file
/// Policies for tasks that a saturated pool cannot accept.
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

/// Determines what a pool does with a submitted task when its queue is full and it cannot start a
/// thread.
///
/// \code
/// takt::thread_pool pool{{.core_threads = 2,
///                         .queue_capacity = 100,
///                         .rejection = takt::rejection_policy::caller_runs()}};
/// \endcode
///
/// The future of a dropped task fails with takt::rejected. After shutdown, drop() and drop_oldest()
/// drop the new task, call() calls its handler, and all other policies throw takt::rejected.
///
/// **Thread safety.** As for an int. Submitting threads may call the handler of call()
/// concurrently.
class rejection_policy {
 public:
  /// Receives the task and the reason, on the submitting thread. It may run, keep or drop the task.
  /// execute() throws what the handler throws.
  using handler = std::function<void(task, rejection)>;

  /// execute() throws takt::rejected. The default.
  [[nodiscard]] static rejection_policy fail() { return rejection_policy(kind::fail); }
  /// execute() runs the task itself, also if no thread can be started at all. This slows down
  /// producers. shutdown_now() does not request stop of such a task, and the pool's termination
  /// does not wait for it.
  [[nodiscard]] static rejection_policy caller_runs() {
    return rejection_policy(kind::caller_runs);
  }
  /// Drops the new task.
  [[nodiscard]] static rejection_policy drop() { return rejection_policy(kind::drop); }
  /// Drops the task at the head of the queue, within execute(), and queues the new task. If no task
  /// is queued, drops the new task. If the dropped task owns the pool, execute() destroys the pool.
  [[nodiscard]] static rejection_policy drop_oldest() {
    return rejection_policy(kind::drop_oldest);
  }
  /// execute() waits until the queue has space. On a thread of the pool itself it throws
  /// takt::rejected (saturated) instead of waiting.
  [[nodiscard]] static rejection_policy wait() { return rejection_policy(kind::wait); }
  /// As above, but throws takt::rejected (timed_out) when the time-out expires. A time-out of 0 or
  /// less does not wait.
  template <class Rep, class Period>
  [[nodiscard]] static rejection_policy wait(std::chrono::duration<Rep, Period> timeout) {
    rejection_policy made(kind::wait);
    made.timeout_ = to_nanoseconds(timeout);
    return made;
  }
  /// Calls `own` with the task and the reason. \throws std::invalid_argument if `own` is empty.
  [[nodiscard]] static rejection_policy call(handler own);

  /// Returns true for drop_oldest().
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

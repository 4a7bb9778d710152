/// \file
/// The handle of a worker's task.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/rx/detail/worker_task.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// The handle of a task scheduled on a worker: a subscription that closes when the task has
/// completed, was cancelled or was rejected. Its children are unsubscribed then.
///
/// \code
/// takt::rx::task_subscription a = worker.schedule(1s, [] { step(); });
/// a.add([] { tidy_up(); });      // called when the task has run or was cancelled
///
/// a.unsubscribe();               // cancels the task; or, to know the outcome:
/// a.cancel();                    // returns prevented, running or done
/// a.cancel_and_join();           // afterwards, what the task refers to can be destroyed
/// \endcode
///
/// **Cancellation.** Cancelling a task whose body is not running destroys the callable before the
/// call returns. A running body continues; stop is requested on its token only if the worker is
/// interruptible, see worker.
///
/// **Errors** and **thread safety**: as for subscription.
class task_subscription : public subscription {
 public:
  /// Creates a closed handle.
  task_subscription() noexcept = default;
  task_subscription(const task_subscription&) noexcept = default;
  task_subscription(task_subscription&& other) noexcept
      : subscription(static_cast<subscription&&>(other)),
        task_(std::exchange(other.task_, nullptr)) {}
  task_subscription& operator=(task_subscription other) noexcept {
    swap(other);
    return *this;
  }
  ~task_subscription() = default;
  void swap(task_subscription& other) noexcept {
    subscription::swap(other);
    std::swap(task_, other.task_);
  }

  /// Unsubscribes and returns the outcome. `prevented`: the task will not run (again). `running`:
  /// its body is running. `done`: the task had completed, or was cancelled, before this call.
  /// \throws what unsubscribing throws.
  cancel_result cancel() const;

  /// Cancels the task, requests stop of a running body even if the worker is not interruptible, and
  /// blocks until the body has ended. Only then is it safe to destroy what the body refers to.
  /// \return `prevented` or `done`; `running` if stop was requested on `stop` first, or if the body
  /// is the caller: it still runs then.
  /// \throws what unsubscribing throws, without having waited.
  cancel_result cancel_and_join(const sync::stop_token& stop = {}) const {
    return cancel_and_join_until(clock::time_point::max(), stop);
  }
  /// As above, but returns `running` once `timeout` has elapsed.
  template <class Rep, class Period>
  cancel_result cancel_and_join_for(std::chrono::duration<Rep, Period> timeout,
                                    const sync::stop_token& stop = {}) const {
    const std::chrono::nanoseconds time = to_nanoseconds(timeout);
    if (task_ == nullptr || task_->has_ended()) return cancel_result::done;
    return cancel_and_join_until(deadline_after(task_->now(), time), stop);
  }
  /// As above, but returns `running` at the deadline, by the worker's clock.
  cancel_result cancel_and_join_until(clock::time_point deadline,
                                      const sync::stop_token& stop = {}) const;

  /// Returns the number of runs that have begun.
  [[nodiscard]] std::uint64_t run_count() const noexcept;
  /// Returns the number of runs of a periodic task that were skipped; see missed_runs.
  [[nodiscard]] std::uint64_t missed_count() const noexcept;

  /// For the rx module: takes over one ownership.
  explicit task_subscription(detail::worker_task& owned) noexcept
      : subscription(owned), task_(&owned) {}
  /// For the rx module: the handle of a task that a closed worker rejected.
  [[nodiscard]] static task_subscription refused() noexcept {
    return task_subscription(subscription::rejected());
  }

 private:
  explicit task_subscription(subscription closed) noexcept : subscription(std::move(closed)) {}

  detail::worker_task* task_ = nullptr;  // the core, downcast; null if there is none
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// A task of a worker, and its handle.
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

/// The handle of a task that was given to a worker: a subscription that is closed when the task has
/// run, was cancelled or was refused. What is added to it is unsubscribed then.
///
/// \code
/// takt::rx::task_subscription a = worker.schedule(1s, [] { step(); });
/// a.add([] { tidy_up(); });      // when it has run, or was cancelled
///
/// a.unsubscribe();               // or, to know what that did:
/// a.cancel();                    // prevented, running or done
/// a.cancel_and_join();           // what it refers to may go
/// \endcode
///
/// Cancelling destroys the callable before it returns, unless that runs. If it runs, it goes on; it
/// is asked to stop only if the worker is interruptible, see there.
///
/// The rest is as for subscription.
class task_subscription : public subscription {
 public:
  /// Closed.
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

  /// As unsubscribe(), and tells what that did. `done`: it has run, or was cancelled before.
  /// \throws what unsubscribing throws.
  cancel_result cancel() const;

  /// cancel(), asks the body to stop, whatever the worker's options, and blocks until it does not
  /// run (any more): only then is it safe to destroy what it refers to.
  /// \return `prevented` or `done`; `running` if stop was requested first, or if called from within
  /// that very body. \throws what unsubscribing throws; and then it has not waited.
  cancel_result cancel_and_join(const sync::stop_token& stop = {}) const {
    return cancel_and_join_until(clock::time_point::max(), stop);
  }
  /// As above, for that long at most: then `running`.
  template <class Rep, class Period>
  cancel_result cancel_and_join_for(std::chrono::duration<Rep, Period> timeout,
                                    const sync::stop_token& stop = {}) const {
    const std::chrono::nanoseconds time = to_nanoseconds(timeout);
    if (task_ == nullptr || task_->has_ended()) return cancel_result::done;
    return cancel_and_join_until(deadline_after(task_->now(), time), stop);
  }
  /// As above, until that time at most.
  cancel_result cancel_and_join_until(clock::time_point deadline,
                                      const sync::stop_token& stop = {}) const;

  /// How many runs have begun; and, of a periodic one, how many were left out, see missed_runs.
  [[nodiscard]] std::uint64_t run_count() const noexcept;
  [[nodiscard]] std::uint64_t missed_count() const noexcept;

  /// For the rx module: takes over an owner.
  explicit task_subscription(detail::worker_task& owned) noexcept
      : subscription(owned), task_(&owned) {}
  /// For the rx module: closed, because the worker is.
  [[nodiscard]] static task_subscription refused() noexcept {
    return task_subscription(subscription::rejected());
  }

 private:
  explicit task_subscription(subscription closed) noexcept : subscription(std::move(closed)) {}

  detail::worker_task* task_ = nullptr;  // the core, if there is one
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

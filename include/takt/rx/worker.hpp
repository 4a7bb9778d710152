/// \file
/// A sequence of tasks on an executor that can be cancelled individually or all at once.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/rx/detail/worker_place.hpp>
#include <takt/rx/detail/worker_task.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/rx/task_subscription.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Options of a worker.
struct worker_options {
  /// Scheduler for delays; used if the executor is not a scheduler itself. Its threads only pass
  /// due tasks on to the executor. Must outlive the worker.
  takt::scheduler* timers = nullptr;
  /// Maximum number of tasks run in a row before other work of the executor may run. 1 is fair;
  /// `unbounded` is eager. No effect on an event_loop, where tasks are tasks of the loop.
  std::size_t batch = unbounded;
  /// If true, cancelling a running task requests stop on its token.
  bool interruptible = false;
  missed_runs missed{};  ///< Policy for late runs of periodic tasks.
  /// Clock of the worker if the executor is not a scheduler and `timers` is null; otherwise the
  /// worker has the scheduler's clock. Must outlive the worker.
  const clock* time = &steady;
  /// Receives errors of tasks. Must outlive the worker and its tasks.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
};

/// Options of a periodic task of a worker.
struct worker_periodic_options {
  /// Policy for late runs. Empty means the worker's.
  std::optional<missed_runs> missed{};
};

/// Runs tasks sequentially on an executor: without a delay, delayed or periodically. Tasks are
/// cancelled individually, or all at once by closing the worker.
///
/// \code
/// takt::scheduled_pool pool;
/// takt::rx::worker steps{pool};                        // borrowed: must outlive the worker
///
/// steps.schedule([] { first(); });
/// auto later = steps.schedule(10ms, [] { second(); });
/// later.unsubscribe();                                 // cancels one task
/// steps.unsubscribe();                                 // cancels all; later tasks are rejected
/// \endcode
///
/// **Order.** Tasks never overlap, and each happens before the next; only the tasks of a worker of
/// schedulers::immediate() may nest or overlap. Tasks without a delay run in the order of
/// schedule().
///
/// **Errors** of tasks go to the `unhandled` hook, and the worker continues. schedule() on a closed
/// or moved-from worker returns a closed handle that is_rejected().
///
/// **Shutdown.** unsubscribe() cancels tasks that have not begun, and does not wait. The destructor
/// also requests stop of the running task and waits for it; after fork() it does nothing in the
/// child process. See docs/rx.md.
///
/// **Thread safety.** All members may be called from any thread, except the destructor and moving.
class worker {
 public:
  using options_type = worker_options;

  /// Creates a worker on an executor, which must outlive it.
  /// \throws std::invalid_argument if batch is 0, or time or unhandled is null; std::bad_alloc.
  template <executor E>
    requires(!std::is_same_v<std::remove_const_t<E>, worker>)
  explicit worker(E& executor, const options_type& options = {})
      : worker(place_on(executor), options) {}

  /// Creates a worker that owns its executor. \throws as above; std::invalid_argument also if
  /// `executor` is null.
  template <executor E>
    requires requires(E& e) { e.shutdown_now(); }
  explicit worker(std::unique_ptr<E> executor, const options_type& options = {})
      : worker(place_on(std::move(executor)), options) {}

  worker(worker&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  worker& operator=(worker&& other) noexcept {
    worker moved(std::move(other));
    std::swap(core_, moved.core_);
    return *this;
  }
  ~worker();

  /// Runs `f`, which takes a stop token or nothing, after the tasks that are queued. If the
  /// executor is shut down, closes the worker and returns a closed handle that is_rejected().
  /// \throws std::invalid_argument if `f` is empty; std::bad_alloc; what the executor throws when
  /// it rejects the task for another reason. If this throws, `f` does not run. All of this applies
  /// to the members below, too.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  task_subscription schedule(F&& f) {
    return start(make<false>(std::forward<F>(f)), std::chrono::nanoseconds(0), nullptr);
  }

  /// Runs `f` when it is due. A delay of 0 or less is none.
  /// \throws std::logic_error also if `due` is in the future, the executor is not a scheduler and
  /// `timers` is null.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  task_subscription schedule(due_time due, F&& f) {
    return start(make<false>(std::forward<F>(f)), due, nullptr);
  }

  /// Runs `f` at first, first + period, first + 2 periods and so on; late runs follow the `missed`
  /// policy. A run that throws ends the series; throwing takt::cancelled ends it without an error.
  /// \throws std::invalid_argument also if the period is not above 0; std::logic_error also if the
  /// executor is not a scheduler and `timers` is null, even if `first` is not in the future.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  task_subscription schedule_at_fixed_rate(due_time first,
                                           std::chrono::duration<Rep, Period> period, F&& f,
                                           const worker_periodic_options& options = {}) {
    const series rate{to_nanoseconds(period), false, options.missed};
    return start(make<true>(std::forward<F>(f)), first, &rate);
  }
  /// As above, but each run is due `delay` after the end of the previous run, so no run is missed.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  task_subscription schedule_with_fixed_delay(due_time first,
                                              std::chrono::duration<Rep, Period> delay, F&& f) {
    const series rate{to_nanoseconds(delay), true, {}};
    return start(make<true>(std::forward<F>(f)), first, &rate);
  }

  /// Closes the worker and cancels its tasks; requests stop of the running task if the worker is
  /// interruptible or owns its executor. \throws what unsubscribing the children of the tasks and
  /// of the worker throws.
  void unsubscribe() { as_subscription().unsubscribe(); }
  /// Returns true once the worker is closed.
  [[nodiscard]] bool is_unsubscribed() const noexcept;
  /// Returns the worker as a subscription that can be a child or a parent of others. Its children
  /// are unsubscribed after the worker's tasks. It does not keep the worker alive.
  [[nodiscard]] subscription as_subscription() const noexcept;

  /// Returns the number of tasks that have not completed.
  [[nodiscard]] std::size_t tracked() const noexcept;
  /// Returns the time of the worker's clock; the clock's epoch for a moved-from worker.
  [[nodiscard]] clock::time_point now() const noexcept;

  /// For the rx module.
  worker(detail::worker_place place, const options_type& options);
  /// For the rx module: the parameters of a periodic task.
  struct series {
    std::chrono::nanoseconds period;
    bool after_end;
    std::optional<missed_runs> missed;
  };
  using unscheduled = std::unique_ptr<detail::worker_task, void (*)(detail::worker_task*)>;
  template <bool Periodic, class F>
  [[nodiscard]] static unscheduled make(F&& f) {
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::rx::worker: the task is empty");
    return {new detail::worker_task_of<call, Periodic>(std::in_place, std::forward<F>(f)),
            [](detail::worker_task* unused) { unused->disown(); }};
  }

  template <class E>
  [[nodiscard]] static detail::worker_place place_on(E& executor) {
    detail::worker_place place{.executor = any_executor(executor)};
    if constexpr (std::is_base_of_v<takt::scheduler, E>) {
      place.timers = &executor;
      if constexpr (is_serial_executor<E>) place.access = detail::worker_place::kind::direct;
    }
    return place;
  }
  template <class E>
  [[nodiscard]] static detail::worker_place place_on(std::unique_ptr<E> executor) {
    if (executor == nullptr) throw std::invalid_argument("takt::rx::worker: the executor is null");
    detail::worker_place place = place_on(*executor);
    place.owned = std::make_unique<detail::owned_executor_of<E>>(std::move(executor));
    return place;
  }

 private:
  task_subscription start(unscheduled what, const due_time& due, const series* rate);

  detail::worker_core* core_;  // owned; null: moved from
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

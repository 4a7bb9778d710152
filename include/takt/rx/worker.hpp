/// \file
/// Tasks one after the other, that can be given up one by one and all together.
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

/// How a worker is made.
struct worker_options {
  /// Waits for delays, if the executor cannot: any takt::scheduler, which outlives the worker. Its
  /// own thread only passes tasks on.
  takt::scheduler* timers = nullptr;
  /// How many tasks are run in a row before other work of the executor may go first. 1 is fair;
  /// unbounded, the default, is eager.
  std::size_t batch = unbounded;
  /// Whether cancelling a task that runs requests stop on its token.
  bool interruptible = false;
  missed_runs missed{};         ///< What periodic tasks do when they are behind.
  const clock* time = &steady;  ///< If neither the executor nor timers has one. Outlives it.
  const unhandled_hook* unhandled = &terminate_on_unhandled;  ///< Outlives it and its tasks.
};

/// What can be said of a periodic task of a worker.
struct worker_periodic_options {
  /// If it is behind; empty: as the worker's options say.
  std::optional<missed_runs> missed{};
};

/// Runs tasks one after the other, now, later or again and again, on an executor; knows those that
/// have not come to their end, and gives them up together when it is closed. It is a
/// serial_executor with tracking and delay.
///
/// \code
/// takt::scheduled_pool pool;
/// takt::rx::worker steps{pool};                             // borrowed: outlives the worker
/// takt::rx::worker own{std::make_unique<takt::scheduled_pool>(takt::scheduled_pool::single())};
///
/// steps.schedule([] { first(); });
/// steps.schedule([] { second(); });                         // after the first has ended
/// auto later = steps.schedule(10ms, [] { third(); });
/// auto beat  = steps.schedule_at_fixed_rate(0s, 1s, [] { pulse(); });
///
/// later.unsubscribe();                                      // that one
/// steps.unsubscribe();                                      // all of them, and takes no more
/// \endcode
///
/// **Order.** Tasks never overlap, and each happens before the next; only those of an immediate
/// worker nest, and overlap if several threads schedule, see schedulers. Those without a delay run
/// in the order of schedule(); a delay of 0 or less is none. A delayed one queues up behind them
/// when it is due, as the threads of who waits for it pass it on: in the order of deadlines, if
/// that is one thread. Over an event_loop, which is serial already, tasks are its own: they run in
/// the order of their deadlines, those of several workers among each other as well.
///
/// **Delays** are waited for by the executor, if it is a scheduler; otherwise by `timers`. Without
/// either, a delay or a period is a std::logic_error, also on a closed worker.
///
/// **Periodic tasks** are due at first, first + period, first + 2 periods and so on, and if they
/// are behind, see missed_runs. The next run is queued when the last one has ended: if it is due by
/// then, behind what is queued, as one without a delay. One that throws is over; to end it from
/// inside without an error, unsubscribe it or throw takt::cancelled.
///
/// **Errors** of tasks go to the hook; the worker goes on. takt::cancelled is no error.
///
/// **Closed.** schedule() on a closed worker, also one that is being closed, returns a closed
/// subscription that is_rejected(), and destroys the callable. If the executor, or who waits for a
/// delay, refuses because it is shut down, the worker closes itself. If it refuses for another
/// reason, it is full for instance, schedule() throws what it throws, and the worker stays as it
/// is. What an executor took and then drops is over: is_rejected(), and the hook hears of it
/// (`unobserved`), as it does if the executor refuses what comes to its time.
///
/// **Cancelling** a task that runs lets it go on, unless the worker is interruptible and the task
/// takes a stop token; a task that cancels itself is not asked to stop. Nothing is kept of tasks
/// that have ended or were cancelled, but for the place of a few bytes that they have in a queue.
///
/// **Shutdown.** unsubscribe() closes it: what has not begun is cancelled, in the order in which it
/// was scheduled; what runs goes on as above. An executor that it owns is stopped first, by
/// shutdown_now(), and then what runs is asked to stop. It does not wait. The destructor does: it
/// closes, asks what runs to stop and waits for it, unless that is its caller; then it destroys an
/// executor that it owns. If another thread is closing it at that moment, callables may still be
/// destroyed there, and what was added to its tasks be called. In a child process after fork() the
/// destructor does nothing.
///
/// **Thread safety**: all members from any thread, but for the destructor and moving.
class worker {
 public:
  using options = worker_options;

  /// On an executor that outlives it. \throws std::invalid_argument if batch is 0, or time or
  /// unhandled null.
  template <executor E>
    requires(!std::is_same_v<std::remove_const_t<E>, worker>)
  explicit worker(E& where, const options& how = {}) : worker(place_on(where), how) {}

  /// On an executor that it owns.
  template <executor E>
    requires requires(E& e) { e.shutdown_now(); }
  explicit worker(std::unique_ptr<E> where, const options& how = {})
      : worker(place_on(std::move(where)), how) {}

  worker(worker&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  worker& operator=(worker&& other) noexcept {
    worker moved(std::move(other));
    std::swap(core_, moved.core_);
    return *this;
  }
  ~worker();

  /// Has `f`, which takes a stop token or nothing, run after what came before.
  /// \throws std::invalid_argument if `f` is empty; std::bad_alloc; what the executor throws,
  /// unless it is shut down. Then it is not run. The same is true of all below.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  task_subscription schedule(F&& f) {
    return start(make<false>(std::forward<F>(f)), std::chrono::nanoseconds(0), nullptr);
  }

  /// Has it run at some time.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  task_subscription schedule(due_time due, F&& f) {
    return start(make<false>(std::forward<F>(f)), due, nullptr);
  }

  /// Has it run again and again. \throws std::invalid_argument also if the period is not above 0.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  task_subscription schedule_at_fixed_rate(due_time first,
                                           std::chrono::duration<Rep, Period> period, F&& f,
                                           const worker_periodic_options& more = {}) {
    const series rate{to_nanoseconds(period), false, more.missed};
    return start(make<true>(std::forward<F>(f)), first, &rate);
  }
  /// The same, but the next run is due that long after the last one has ended.
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  task_subscription schedule_with_fixed_delay(due_time first,
                                              std::chrono::duration<Rep, Period> delay, F&& f) {
    const series rate{to_nanoseconds(delay), true, {}};
    return start(make<true>(std::forward<F>(f)), first, &rate);
  }

  /// Closes it; see above. \throws what was added to tasks throws when it is unsubscribed.
  void unsubscribe() { as_subscription().unsubscribe(); }
  [[nodiscard]] bool is_unsubscribed() const noexcept;
  /// The worker as a subscription, to be added to others, or to add to: what is added is
  /// unsubscribed after its tasks. It does not keep the worker.
  [[nodiscard]] subscription as_subscription() const noexcept;

  /// How many tasks have not come to their end.
  [[nodiscard]] std::size_t tracked() const noexcept;
  /// The time by its clock.
  [[nodiscard]] clock::time_point now() const noexcept;

  /// For the rx module.
  worker(detail::worker_place place, const options& how);
  /// For the rx module: a task that runs again and again.
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
  [[nodiscard]] static detail::worker_place place_on(E& where) {
    detail::worker_place place{.where = any_executor(where)};
    if constexpr (std::is_base_of_v<takt::scheduler, E>) {
      place.timers = &where;
      if constexpr (is_serial_executor<E>) place.how = detail::worker_place::kind::direct;
    }
    return place;
  }
  template <class E>
  [[nodiscard]] static detail::worker_place place_on(std::unique_ptr<E> where) {
    if (where == nullptr) throw std::invalid_argument("takt::rx::worker: the executor is null");
    detail::worker_place place = place_on(*where);
    place.owned = std::make_unique<detail::owned_executor_of<E>>(std::move(where));
    return place;
  }

 private:
  task_subscription start(unscheduled what, const due_time& due, const series* rate);

  detail::worker_core* core_;  // owned; null: moved from
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

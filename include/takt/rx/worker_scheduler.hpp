/// \file
/// Where workers come from.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/executor.hpp>
#include <takt/rx/task_subscription.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {
class worker_scheduler_core;
}  // namespace detail

namespace rx {

/// Makes workers; what RxJava calls a Scheduler. Those with threads of their own are members of
/// schedulers, from() is for executors of yours, test_scheduler for tests.
///
/// \code
/// takt::rx::schedulers run;                       // in main()
///
/// takt::rx::worker w = run.computation().create_worker();
/// w.schedule([] { step(); });                     // one after the other
/// run.io().schedule([] { read_file(); });         // on its own
/// \endcode
///
/// **Shutdown.** shutdown() closes all its workers and stops its threads; what runs is asked to
/// stop, if it takes a token, and not waited for. The name and the meaning are RxJava's: unlike
/// that of pools, it cancels what is queued. Workers that are made later are closed. start()
/// makes it usable again, with new threads; on one that is not shut down, or is being destroyed, it
/// does nothing. The destructor shuts down, and waits for what its threads run and for the tasks of
/// its own schedule(), so it is not called by one of these; what a worker on an executor of yours,
/// or on a thread of its own, runs is waited for by the destructor of that worker. In a child
/// process after fork() the destructors of schedulers and workers do nothing.
///
/// **Thread safety**: all members from any thread, but for the destructor. It outlives its workers,
/// or at least the last call of one of their members.
class worker_scheduler {
 public:
  /// Workers on an executor that outlives it; see worker.
  template <executor E>
  [[nodiscard]] static worker_scheduler from(E& where, const worker_options& how = {}) {
    return worker_scheduler([&where] { return worker::place_on(where); }, how);
  }

  ~worker_scheduler();
  worker_scheduler(const worker_scheduler&) = delete;
  worker_scheduler& operator=(const worker_scheduler&) = delete;

  /// A worker of its kind; a closed one, if it is shut down.
  [[nodiscard]] worker create_worker();

  /// Has one task run by a worker of its own. As in worker.
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  task_subscription schedule(F&& f) {
    return run_alone(worker::make<false>(std::forward<F>(f)), std::chrono::nanoseconds(0), nullptr);
  }
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  task_subscription schedule(due_time due, F&& f) {
    return run_alone(worker::make<false>(std::forward<F>(f)), due, nullptr);
  }
  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  task_subscription schedule_at_fixed_rate(due_time first,
                                           std::chrono::duration<Rep, Period> period, F&& f,
                                           const worker_periodic_options& more = {}) {
    const worker::series rate{to_nanoseconds(period), false, more.missed};
    return run_alone(worker::make<true>(std::forward<F>(f)), first, &rate);
  }

  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  task_subscription schedule_with_fixed_delay(due_time first,
                                              std::chrono::duration<Rep, Period> delay, F&& f) {
    const worker::series rate{to_nanoseconds(delay), true, {}};
    return run_alone(worker::make<true>(std::forward<F>(f)), first, &rate);
  }

  /// After shutdown(): makes it usable again.
  void start();
  /// See above.
  void shutdown() noexcept;
  [[nodiscard]] bool is_shutdown() const noexcept;

  /// How many of its workers are open.
  [[nodiscard]] std::size_t workers() const noexcept;
  /// The time by its clock.
  [[nodiscard]] clock::time_point now() const noexcept;

  /// For the rx module.
  explicit worker_scheduler(std::unique_ptr<detail::worker_scheduler_core> core) noexcept;
  /// For the rx module: whether this is the process that it was made in.
  [[nodiscard]] bool is_here() const noexcept;
  /// For the rx module: what the destructor does before anything is destroyed.
  void end() noexcept;

 private:
  worker_scheduler(std::function<detail::worker_place()> places, const worker_options& how);
  task_subscription run_alone(worker::unscheduled what, const due_time& due,
                              const worker::series* rate);

  std::unique_ptr<detail::worker_scheduler_core> core_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

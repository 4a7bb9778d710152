/// \file
/// Creates workers.
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

/// Creates workers. RxJava calls this a Scheduler. The class schedulers has worker_schedulers with
/// threads of their own, from() makes one for your executor, and test_scheduler is one for tests.
///
/// \code
/// takt::rx::schedulers run;                       // in main()
///
/// takt::rx::worker w = run.computation().create_worker();
/// w.schedule([] { step(); });                     // sequential with other tasks of `w`
/// run.io().schedule([] { read_file(); });         // independent: a worker of its own
/// \endcode
///
/// **Shutdown.** shutdown() closes all workers, which cancels queued tasks (unlike the shutdown()
/// of pools), requests stop of running tasks, stops the threads, and does not wait. Workers created
/// later are closed. start() makes the scheduler usable again.
///
/// The destructor shuts down and waits for tasks on the scheduler's threads and for tasks of its
/// own schedule(), so these tasks must not call it. Other tasks, on your executor or on a worker's
/// own thread, are awaited by the destructor of their worker. In a child process after fork() the
/// destructors of schedulers and workers do nothing.
///
/// **Thread safety.** All members may be called from any thread, except the destructor. The
/// scheduler must outlive its workers.
class worker_scheduler {
 public:
  /// Returns a scheduler whose workers use `executor`, which must outlive the scheduler.
  /// \throws std::invalid_argument as the constructor of worker.
  template <executor E>
  [[nodiscard]] static worker_scheduler from(E& executor, const worker_options& options = {}) {
    return worker_scheduler([&executor] { return worker::place_on(executor); }, options);
  }

  ~worker_scheduler();
  worker_scheduler(const worker_scheduler&) = delete;
  worker_scheduler& operator=(const worker_scheduler&) = delete;

  /// Returns a new worker; a closed one if the scheduler is shut down. \throws std::bad_alloc.
  [[nodiscard]] worker create_worker();

  /// Run one task or series on a worker of its own; otherwise as the members of worker.
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
                                           const worker_periodic_options& options = {}) {
    const worker::series rate{to_nanoseconds(period), false, options.missed};
    return run_alone(worker::make<true>(std::forward<F>(f)), first, &rate);
  }

  template <class Rep, class Period, class F>
    requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  task_subscription schedule_with_fixed_delay(due_time first,
                                              std::chrono::duration<Rep, Period> delay, F&& f) {
    const worker::series rate{to_nanoseconds(delay), true, {}};
    return run_alone(worker::make<true>(std::forward<F>(f)), first, &rate);
  }

  /// Makes a scheduler usable again after shutdown(), with new threads. Does nothing if the
  /// scheduler is not shut down, or is being destroyed. \throws std::bad_alloc.
  void start();
  /// Closes all workers and stops the threads; see above.
  void shutdown() noexcept;
  [[nodiscard]] bool is_shutdown() const noexcept;

  /// Returns the number of open workers.
  [[nodiscard]] std::size_t workers() const noexcept;
  /// Returns the time of the workers' clock.
  [[nodiscard]] clock::time_point now() const noexcept;

  /// For the rx module.
  explicit worker_scheduler(std::unique_ptr<detail::worker_scheduler_core> core) noexcept;
  /// For the rx module: returns true in the process that created the scheduler.
  [[nodiscard]] bool is_here() const noexcept;
  /// For the rx module: shuts down and waits, as the destructor does.
  void end() noexcept;

 private:
  worker_scheduler(std::function<detail::worker_place()> places, const worker_options& options);
  task_subscription run_alone(worker::unscheduled what, const due_time& due,
                              const worker::series* rate);

  std::unique_ptr<detail::worker_scheduler_core> core_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

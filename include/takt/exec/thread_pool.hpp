/// \file
/// Threads that take tasks out of one queue.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/exec/rejection_policy.hpp>
#include <takt/exec/thread_options.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// How a thread_pool is made.
struct thread_pool_options {
  /// As many threads are kept, once there was work for them.
  std::size_t core_threads = default_pool_size();
  /// As many threads there are at most, if the queue is full; 0: as many as core. More than core is
  /// an error if queue_capacity is unbounded, as then it is never full.
  std::size_t max_threads = 0;
  /// How long a thread beyond core waits for work before it ends.
  std::chrono::nanoseconds keep_alive = std::chrono::seconds(60);
  /// Whether those within core end likewise.
  bool core_times_out = false;

  /// How many tasks wait for a thread at most, beside those for which one is free; 0: none, each
  /// is handed to a thread or rejected.
  std::size_t queue_capacity = unbounded;
  queue_order order = queue_order::fifo;  ///< In which order they leave the queue.
  /// What becomes of a task for which there is neither a thread nor room in the queue.
  rejection_policy rejection = rejection_policy::fail();

  /// The threads are called name-1, name-2 and so on; on Linux, where 15 characters are seen, the
  /// name is cut.
  std::string name = "takt";
  thread_options thread{};  ///< What the threads are like.
  bool resizable = true;    ///< Whether resize() may be called, and a blocking_region add a thread.

  /// Called on the thread that runs the task, before and after it. If `before` throws, the task
  /// does not run: its future gets the error, and `after` is not called. The second argument of
  /// `after` is the exception of a task without a future. An `after` that throws ends the program.
  /// The future is ready before `after` is called.
  std::function<void(const task&)> before{};
  std::function<void(const task&, const std::exception_ptr&)> after{};
  /// Run once, before is_terminated(), by the last thread or by a call that ends the pool.
  /// Must not throw, nor destroy the pool.
  std::function<void()> terminated{};

  const clock* time = &steady;  ///< Keep-alive and waiting. Outlives the pool.
  const unhandled_hook* unhandled =
      &terminate_on_unhandled;        ///< Outlives the pool and its futures.
  task_observer* observer = nullptr;  ///< Told of everything, if given. Outlives the pool.
};

/// What a pool was doing at some time. Plain values. What became of tasks is in its totals().
struct pool_statistics {
  std::size_t queued = 0;   ///< Tasks that wait for a thread.
  std::size_t delayed = 0;  ///< Tasks that wait for their time.
  std::size_t active = 0;   ///< Threads that run a task.
  std::size_t threads = 0;  ///< Those that there are.
  std::size_t largest = 0;  ///< The most there were at a time.
};

namespace detail {
class pool_core;
}  // namespace detail

/// Runs tasks on a set of threads that take them out of one queue, and accounts for each of them.
///
/// \code
/// takt::thread_pool pool{{.core_threads = 4, .name = "work"}};
///
/// takt::future<int> answer = pool.submit([] { return 42; });
/// pool.execute([] { step(); });    // no future: what it throws is uncaught
/// auto report = pool.submit([](std::stop_token stop) { send(stop); });
///
/// pool.shutdown();                 // queued work still runs
/// if (!pool.await_termination(5s)) save(pool.shutdown_now());
/// \endcode
/// In a coroutine of yours, `co_await takt::resume_on(pool)` goes on on the pool.
///
/// **Threads.** A submission starts one while there are fewer than `core`; otherwise it queues the
/// task; if the queue is full, it starts one while there are fewer than `max`; otherwise the
/// rejection policy has its say. A thread that finds no work for `keep_alive` ends, if there are
/// more than `core`. If the system refuses a thread, the task is queued if it has a thread, and
/// rejected otherwise. Presets: fixed(), cached(), single(), to be adjusted as one likes.
///
/// **Order.** Tasks begin in the order of the queue: FIFO, or by priority and then FIFO. With more
/// than one thread they overlap; for one after the other, without a thread of its own, see
/// serial_executor.
///
/// **Errors** of a task go to its future; without one, to the unhandled hook, which by default ends
/// the program; but takt::cancelled just counts the task as cancelled. The thread goes on.
///
/// **Waiting** within a task for the future of another task of this pool, without a deadline, is
/// found out when no thread would be left to run it: std::system_error
/// (resource_deadlock_would_occur). A blocking_region lets the pool add a thread meanwhile.
///
/// **Shutdown.** shutdown(): queued tasks run, later ones are rejected. shutdown_now(): queued ones
/// are given back, running ones are asked to stop (if they take a token), later ones are rejected.
/// A submission that races with either is run, given back or rejected: never lost. The destructor
/// does what close(cancel_pending) does: queued tasks are cancelled, running ones are asked to stop
/// and waited for. All three may be called by a task of the pool, where close() throws; if that
/// destroys the pool, the other threads are waited for, and its own ends with the task: until then
/// it uses the clock, the observer and the hooks. In a child process after fork() the destructor
/// does nothing.
///
/// **Thread safety**: all members from any thread. A thread that awaits termination may destroy the
/// pool while the call that ends it has not returned on another thread. The destructor must not
/// overlap with other calls by threads outside of the pool; tasks of the pool may still call it.
///
/// **Cost**: an idle pool uses no CPU and wakes for nothing. execute() of a callable of up to 32
/// bytes does not allocate by itself, submit() once; for one that takes a token, both twice.
/// docs/performance.md has figures.
class thread_pool : public executor_interface<thread_pool>,
                    public lifecycle_interface<thread_pool> {
 public:
  using options = thread_pool_options;

  /// As many threads as that, as soon as there is work for them, and no more (but for each
  /// blocking_region); an unbounded queue.
  [[nodiscard]] static options fixed(std::size_t threads);
  /// A thread for each task that comes while all others are busy; they end after a minute without
  /// work. For many short waits; there is no limit.
  [[nodiscard]] static options cached();
  /// One thread, that cannot be made more, not even by a blocking_region: tasks run one after the
  /// other.
  [[nodiscard]] static options single();

  /// \throws std::invalid_argument if max is less than core, or both are 0, or max is more and
  /// queue_capacity unbounded; if keep_alive is negative, or 0 with core_times_out; if time or
  /// unhandled is null; if drop_oldest() meets queue_order::priority.
  explicit thread_pool(options how = {});
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Has a task run. \throws takt::rejected, as the rejection policy says; std::invalid_argument if
  /// the task is empty; std::bad_alloc. If it throws, the task is not run.
  void execute(task t);

  /// Queues as many of these as it can, from the first one on, in one step; see executor. Needs
  /// threads that are all there and at work, and a queue that is not bounded, not by priority and
  /// not observed; else it takes none. \return how many it has taken.
  [[nodiscard]] std::size_t try_execute(std::span<task> tasks) noexcept;

  /// Takes no more work; what is queued still runs.
  void shutdown() noexcept;

  /// Takes no more work, asks what runs to stop, and gives back what has not begun, in the order of
  /// the queue. Those that were cancelled are not among them.
  [[nodiscard]] task_list shutdown_now() noexcept;

  /// As shutdown_now(), but what has not begun is cancelled.
  void shutdown_and_cancel() noexcept;

  /// Starts threads in advance, up to `core`. \return how many.
  std::size_t prestart(std::size_t at_most = unbounded);

  /// Changes core and max; a max of 0 means core. Threads beyond them end when they have no task;
  /// if core grows, threads are started for what is queued.
  /// \throws std::invalid_argument as the constructor; std::logic_error if not resizable.
  void resize(std::size_t core, std::size_t max = 0);

  /// Changes how long threads wait for work, and whether that is true of those within core.
  /// \throws std::invalid_argument if it is negative, or 0 with core_times_out.
  template <class Rep, class Period>
  void set_keep_alive(std::chrono::duration<Rep, Period> time, bool core_times_out) {
    change_keep_alive(to_nanoseconds(time), core_times_out);
  }

  /// Takes the task of a future back out of the queue. \return it, or an empty task if it is not
  /// there (any more). \throws std::bad_alloc, and it is where it was.
  template <class T>
  [[nodiscard]] task remove(const future<T>& f) {
    return take_back(f.state());
  }

  /// Takes tasks out of the queue whose futures were cancelled; they would do nothing, but take up
  /// room. \return how many.
  std::size_t purge();

  /// The ledger: what became of all that was submitted. Exact when nothing happens; counts never
  /// exceed what has happened, but for `started`, by what threads that are still active have just
  /// ended. A task is counted after its future is ready, and before await_termination() returns.
  [[nodiscard]] task_totals totals() const;
  /// What it is doing. Exact when nothing happens.
  [[nodiscard]] pool_statistics statistics() const;

  [[nodiscard]] std::size_t core_threads() const;
  [[nodiscard]] std::size_t max_threads() const;

  /// For executor_interface and lifecycle_interface.
  [[nodiscard]] takt::future_options future_options() const noexcept;
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  void change_keep_alive(std::chrono::nanoseconds time, bool core_times_out);
  task take_back(const detail::future_core& state);

  detail::pool_core* core_;  // counted: each worker has a reference, too
};

}  // namespace takt::inline TAKT_ABI

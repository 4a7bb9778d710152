/// \file
/// RxJava's set of schedulers as one object, created by main().
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/exec/thread_options.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Options of the class schedulers.
struct schedulers_options {
  std::size_t computation_threads = default_pool_size();  ///< Number of threads of computation().
  std::size_t io_threads = unbounded;                     ///< Maximum number of threads of io().
  /// Time after which an idle thread of io() ends.
  std::chrono::nanoseconds io_keep_alive = std::chrono::seconds(60);
  /// As in worker_options, for all workers.
  bool interruptible = false;
  missed_runs missed{};  ///< As in worker_options, for all workers.

  /// Prefix of the threads' names, such as rx-computation-1-1.
  std::string name = "rx";
  const clock* time = &steady;  ///< Clock of all workers. Must outlive the schedulers and workers.
  /// Receives errors of tasks. Must outlive the schedulers, their workers and the tasks.
  const unhandled_hook* unhandled = &terminate_on_unhandled;
};

/// The schedulers that a program usually needs. Threads start when there is work for them. There
/// are no global schedulers: main() creates this object and passes it or its schedulers on.
///
/// \code
/// int main() {
///   takt::rx::schedulers run{{.computation_threads = 4}};
///   application a{run.io(), run.computation()};
///   a.run();
/// }
/// \endcode
///
/// A worker's tasks run
/// - immediate(): within schedule(), which waits for the delay; tasks overlap if several threads
///   schedule;
/// - trampoline(): within the outermost schedule(), by deadline; delays block that thread;
/// - new_thread(): on a thread of the worker, which ends when the worker is closed;
/// - single(): on one thread that all workers share;
/// - computation(): on one of N threads, assigned to workers in turn;
/// - io(): on an idle thread, or a new one; threads end after io_keep_alive without work.
///
/// **Shutdown.** shutdown() shuts down all schedulers, and start() makes them usable again. The
/// destructor shuts down and waits for running tasks; in a child process after fork() it does
/// nothing.
///
/// **Thread safety**: as in worker_scheduler.
class schedulers {
 public:
  using options_type = schedulers_options;

  /// \throws std::invalid_argument if computation_threads or io_threads is 0, io_keep_alive is not
  /// above 0, or a pointer is null; std::bad_alloc.
  explicit schedulers(const options_type& options = {});
  ~schedulers();
  schedulers(const schedulers&) = delete;
  schedulers& operator=(const schedulers&) = delete;

  /// Return the schedulers described above.
  [[nodiscard]] worker_scheduler& immediate() noexcept { return immediate_; }
  [[nodiscard]] worker_scheduler& trampoline() noexcept { return trampoline_; }
  [[nodiscard]] worker_scheduler& new_thread() noexcept { return new_thread_; }
  [[nodiscard]] worker_scheduler& single() noexcept { return single_; }
  [[nodiscard]] worker_scheduler& computation() noexcept { return computation_; }
  [[nodiscard]] worker_scheduler& io() noexcept { return io_; }

  /// Start and shut down all schedulers; see worker_scheduler.
  void start();
  void shutdown() noexcept;

 private:
  worker_scheduler immediate_;
  worker_scheduler trampoline_;
  worker_scheduler new_thread_;
  worker_scheduler single_;
  worker_scheduler computation_;
  worker_scheduler io_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// RxJava's family of schedulers, as one object that main() builds.
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

/// How schedulers are made.
struct schedulers_options {
  std::size_t computation_threads = default_pool_size();  ///< How many computation() has.
  std::size_t io_threads = unbounded;                     ///< How many io() has at most.
  /// How long a thread of io() waits for work before it ends.
  std::chrono::nanoseconds io_keep_alive = std::chrono::seconds(60);
  /// Of all workers; see worker_options.
  bool interruptible = false;
  missed_runs missed{};

  /// The threads are called name-computation-1-1 and so on.
  std::string name = "rx";
  const clock* time = &steady;                                ///< Outlives all of them.
  const unhandled_hook* unhandled = &terminate_on_unhandled;  ///< Outlives all of them.
};

/// The schedulers that a program usually has, each with threads that start when there is work for
/// them. There are no global ones: main() builds it, and hands it, or one of its schedulers, to
/// those who need it.
///
/// \code
/// int main() {
///   takt::rx::schedulers run{{.computation_threads = 4}};
///   application a{run.io(), run.computation()};
///   a.run();
/// }
/// \endcode
///
/// Where a worker's tasks run:
/// - immediate(): within schedule(), which waits for a delay; threads do not wait for each other;
/// - trampoline(): within schedule() of the outermost call, by deadline; delays block that thread;
/// - new_thread(): on a thread of the worker's own, which ends when it is closed;
/// - single(): on one thread, which all its workers share;
/// - computation(): on one of N threads, to which workers are given in turn;
/// - io(): on any thread that is free, or a new one; threads end after io_keep_alive without work.
///
/// **Shutdown**: shutdown() shuts down all of them, start() starts them again; the destructor shuts
/// down and waits for what runs; in a child process after fork() it does nothing. **Thread
/// safety**: as in scheduler.
class schedulers {
 public:
  using options = schedulers_options;

  /// \throws std::invalid_argument if computation_threads or io_threads is 0, io_keep_alive is not
  /// above 0, or a pointer is null.
  explicit schedulers(const options& how = {});
  ~schedulers();
  schedulers(const schedulers&) = delete;
  schedulers& operator=(const schedulers&) = delete;

  /// See above.
  [[nodiscard]] worker_scheduler& immediate() noexcept { return immediate_; }
  [[nodiscard]] worker_scheduler& trampoline() noexcept { return trampoline_; }
  [[nodiscard]] worker_scheduler& new_thread() noexcept { return new_thread_; }
  [[nodiscard]] worker_scheduler& single() noexcept { return single_; }
  [[nodiscard]] worker_scheduler& computation() noexcept { return computation_; }
  [[nodiscard]] worker_scheduler& io() noexcept { return io_; }

  /// Of all of them; see scheduler.
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

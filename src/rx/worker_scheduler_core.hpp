// The implementation of worker_scheduler: places workers, knows the open ones, and counts those
// that only their task keeps alive, so that its destructor can wait for them.
#pragma once

#include <cstddef>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/task_subscription.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/due_time.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Threads shared by workers. They exist as long as their scheduler, because workers created before
/// a shutdown may refer to them.
class shared_threads {
 public:
  shared_threads() = default;
  virtual ~shared_threads() = default;
  shared_threads(const shared_threads&) = delete;
  shared_threads& operator=(const shared_threads&) = delete;

  /// Ends the threads and cancels the tasks that have not begun. Does nothing a second time.
  virtual void stop() noexcept = 0;
};

/// The base of the kinds of worker_scheduler.
///
/// Thread safety: all members may be called from any thread, except end(). No lock is held while
/// foreign code runs.
class worker_scheduler_core {
 public:
  virtual ~worker_scheduler_core() = default;
  worker_scheduler_core(const worker_scheduler_core&) = delete;
  worker_scheduler_core& operator=(const worker_scheduler_core&) = delete;

  [[nodiscard]] rx::worker create_worker();
  rx::task_subscription run_alone(rx::worker::unscheduled what, const due_time& due,
                                  const rx::worker::series* rate);
  void start();
  void shutdown() noexcept;
  /// Shuts down, and waits for the workers counted by their groups.
  void end() noexcept;

  /// Returns true in the process that created the scheduler.
  [[nodiscard]] bool is_here() const noexcept;
  [[nodiscard]] bool is_shutdown() const noexcept;
  [[nodiscard]] std::size_t workers() const noexcept;
  [[nodiscard]] const clock& time() const noexcept { return *time_; }

 protected:
  /// \param time  the clock of the workers.
  worker_scheduler_core(const rx::worker_options& options, const clock& time);

  /// Returns the place of the next worker.
  [[nodiscard]] virtual worker_place next_place() TAKT_REQUIRES(mu_) = 0;
  /// Creates new threads for later workers. Strong guarantee.
  virtual void start_threads() TAKT_REQUIRES(mu_) {}
  /// Returns the latest threads; null if there are none.
  [[nodiscard]] virtual shared_threads* threads() noexcept TAKT_REQUIRES(mu_) { return nullptr; }

  mutable mutex mu_;

 private:
  [[nodiscard]] worker_place take_place(rx::subscription& registry);
  void begin_group() TAKT_NO_THREAD_SAFETY_ANALYSIS {  // also called by the constructor
    groups_.emplace_back(new worker_group(*time_));
  }

  // Constant after construction.
  const rx::worker_options options_;
  const clock* const time_;
  const fork_guard home_;

  // Guarded by mu_.
  rx::composite_subscription open_ TAKT_GUARDED_BY(mu_);  // the workers; closed by shutdown()
  // The last group has the current workers; the others have been shut down.
  std::vector<intrusive_ptr<worker_group>> groups_ TAKT_GUARDED_BY(mu_);
  bool ending_ TAKT_GUARDED_BY(mu_) = false;  // end() was called: start() does nothing
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

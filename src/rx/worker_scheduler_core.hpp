// The inside of a scheduler: says where workers run, knows those that are open, and counts those
// that nobody but their task keeps, so that its end can wait for them.
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

/// Threads that workers share. They stay until their scheduler goes: workers of before a shutdown
/// may refer to them.
class shared_threads {
 public:
  shared_threads() = default;
  virtual ~shared_threads() = default;
  shared_threads(const shared_threads&) = delete;
  shared_threads& operator=(const shared_threads&) = delete;

  /// Ends them, and cancels what they have not begun. A second time, does nothing.
  virtual void stop() noexcept = 0;
};

/// Thread safety: all members from any thread, but for end(). No lock is held while code of others
/// runs.
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
  /// Shuts down, and waits for what runs alone.
  void end() noexcept;

  /// Whether this is the process that it was made in.
  [[nodiscard]] bool is_here() const noexcept;
  [[nodiscard]] bool is_shutdown() const noexcept;
  [[nodiscard]] std::size_t workers() const noexcept;
  [[nodiscard]] const clock& time() const noexcept { return *time_; }

 protected:
  /// \param time  that of the workers.
  worker_scheduler_core(const rx::worker_options& how, const clock& time);

  /// Where the next worker runs. These three one at a time.
  [[nodiscard]] virtual worker_place next_place() TAKT_REQUIRES(mu_) = 0;
  /// Makes new threads, for the workers to come. Strong guarantee.
  virtual void start_threads() TAKT_REQUIRES(mu_) {}
  /// The latest ones; null if there are none.
  [[nodiscard]] virtual shared_threads* threads() noexcept TAKT_REQUIRES(mu_) { return nullptr; }

  mutable mutex mu_;

 private:
  [[nodiscard]] worker_place take_place(rx::subscription& registry);
  void begin_group() TAKT_NO_THREAD_SAFETY_ANALYSIS {  // also by the constructor
    groups_.emplace_back(new worker_group(*time_));
  }

  // Constant after construction.
  const rx::worker_options how_;
  const clock* const time_;
  const fork_guard home_;

  // Guarded by mu_.
  rx::composite_subscription open_ TAKT_GUARDED_BY(mu_);  // the workers; closed: shut down
  // The last one is that of the workers of now; the others have been shut down.
  std::vector<intrusive_ptr<worker_group>> groups_ TAKT_GUARDED_BY(mu_);
  bool ending_ TAKT_GUARDED_BY(mu_) = false;  // it does not start again
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

// The implementation of a worker: a subscription that knows its tasks that have not completed. It
// has no queue; tasks are in the queue of its executor, strand or loop.
//
// A task goes, on a
//
//   strand       to a serial_executor; if it is delayed, first to the timers, which pass it on
//   direct       to the executor, which is serial and a scheduler
//   trampoline   to an event_loop of the worker, which the scheduling thread runs
//   immediate    nowhere: it is run
//
// as a task_run, which owns it. Each task_run has one outcome: it is run; it is cancelled by the
// thread that shuts down the executor; or it is dropped, because the executor rejects or loses it.
//
// A task that goes to the strand immediately, and only once, is known by being in the strand's
// queue; when the strand takes it out, it is in running_. The thread that closes the worker takes
// it from there, so such a task takes no lock of the worker. All other tasks are tracked: they are
// in tracked_. Their numbers define the order in which both kinds were scheduled.
//
// Invariants
//   1. A task that has not ended is in tracked_, in the queue of the strand or in running_; or it
//      is with the thread that submits or drops it, and that thread ends it.
//   2. While the worker's code uses its executor or runs a task, life_ counts it, except in calls
//      by users. So the destructor waits for the last use.
//   3. life_ advances to stop when the worker closes, and no task begins after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/rx/detail/subscription_core.hpp>
#include <takt/rx/task_subscription.hpp>
#include <takt/rx/worker.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/task/detail/executor_scope.hpp>
#include <takt/task/task.hpp>

#include "../exec/watched_strand.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

/// Thread safety: all members may be called from any thread, except destroy().
class worker_core final : public linked_core {
 public:
  class task_run;  // the task that executors and timers run

  worker_core(worker_place place, const rx::worker_options& options);

  /// \throws std::invalid_argument if they are wrong. \return them.
  static rx::worker_options checked(const rx::worker_options& options);
  /// Has its group count it until its end; before it is used.
  void count_in_group() noexcept { counted_ = group_->life.add_worker(); }

  rx::task_subscription start(rx::worker::unscheduled what, const due_time& due,
                              const rx::worker::series* rate);
  /// The worker goes: closes it, waits for what runs, and ends the executor that it owns; if a task
  /// of its own calls it, it does not wait, and that executor goes with the last who uses this.
  void destroy() noexcept;
  /// For ending_guard.
  void end_if_over() noexcept;

  [[nodiscard]] clock::time_point now() const noexcept { return time_->now(); }
  [[nodiscard]] const clock& time() const noexcept { return *time_; }
  [[nodiscard]] std::size_t tracked() const noexcept;

  // --- for tasks
  /// Whether one that is cancelled while it runs is asked to stop.
  [[nodiscard]] bool stops_what_runs() const noexcept {
    // relaxed: who closes it has set it before, or reads what another one chooses
    return options_.interruptible || stops_.load(std::memory_order_relaxed) ||
           (group_ && group_->stopping.load(std::memory_order_relaxed));
  }
  /// One has closed: it is to be known no longer.
  void forget(worker_task& a) noexcept;
  /// Waits for the end of one that was cancelled; and one has come to it. \return whether it has.
  [[nodiscard]] bool await_end(const worker_task& a, clock::time_point deadline,
                               const sync::stop_token& stop);
  void wake_joiners() noexcept;
  /// One was cancelled while it runs, and not asked to stop; and has come to its end.
  void keep_running(worker_task& a) noexcept;
  void forget_running(worker_task& a) noexcept;
  /// One that waited was cancelled: who runs the trampoline need not wait for it.
  void wake() noexcept;

 private:
  class runner;

  ~worker_core() override;

  [[nodiscard]] static takt::scheduler* timers_of(event_loop* own, const worker_place& place,
                                                  const rx::worker_options& options) noexcept;
  void on_unsubscribe() override;
  void submit(worker_task& a, bool delayed);
  void pass_on(worker_task& a) noexcept;
  bool run(worker_task& a);
  bool run_once(worker_task& a, std::exception_ptr& error);
  bool run_again(worker_task& a) noexcept;
  static void taken_out(task& t) noexcept;
  [[nodiscard]] bool track(worker_task& a) noexcept;
  void close_tracked(std::uint64_t until, error_collector& errors) noexcept;
  void end_run(worker_task& a) noexcept;
  void untrack(worker_task& a) noexcept;
  [[nodiscard]] bool has_to_end(const worker_task& a) const noexcept;
  void drop(worker_task& a) noexcept;
  void report_dropped() const noexcept;
  void stop_what_runs() noexcept;
  void run_trampoline();
  void leave() noexcept;

  // Constant after construction, but for what destroy() does.
  const rx::worker_options options_;
  const worker_place::kind kind_;
  const bool errors_leave_run_;
  const fork_guard home_;
  const intrusive_ptr<worker_group> group_;  // null if there is none
  std::unique_ptr<owned_executor> owned_;
  std::unique_ptr<event_loop> loop_;  // of a trampoline
  takt::scheduler* const timers_;     // null if there is none
  const clock* const time_;
  std::optional<any_executor> executor_;
  std::optional<watched_strand> strand_;

  lifecycle life_;
  bool counted_ = false;  // constant: by its group
  // Atomic. Set by who closes it.
  sync::atomic<bool> stops_{false};
  // Atomic. How many have scheduled since the one began that runs the trampoline.
  sync::atomic<std::size_t> trampoline_{0};

  // Atomic. Of a strand: what is taken out of its queue and not tracked, until it has run; it owns
  // that. Written by who takes it out, runs it, closes the worker.
  sync::atomic<worker_task*> running_{nullptr};
  // Atomic. Of a strand: how many that are not tracked have closed. Written by who closes them.
  sync::atomic<std::size_t> plain_ended_{0};
  // Atomic. The same, how many were scheduled. Written by who schedules.
  alignas(cache_line) sync::atomic<std::size_t> plain_scheduled_{0};
  // Atomic. The number of the last one that was tracked. Written under mu_.
  sync::atomic<std::uint64_t> last_number_{0};

  mutable mutex mu_;
  // Guarded by mu_.
  // What has not closed, in the order of schedule(); owned.
  intrusive_list<worker_task, link_of_worker> tracked_ TAKT_GUARDED_BY(mu_);
  std::size_t tracked_size_ TAKT_GUARDED_BY(mu_) = 0;
  // What runs although it was cancelled, and was not asked to stop.
  intrusive_list<worker_task, link_of_worker> cancelled_ TAKT_GUARDED_BY(mu_);
  bool going_ TAKT_GUARDED_BY(mu_) = false;     // the destructor has asked them
  timed_condition ended_ TAKT_GUARDED_BY(mu_);  // one that was cancelled has ended
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

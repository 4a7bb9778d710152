/// \file
/// Records tasks that were interrupted by a shutdown.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/exec/detail/tracking_record.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>

namespace takt::inline TAKT_ABI {

/// Runs tasks on another executor and records those that began and did not complete, so that a
/// program can save them and continue later.
///
/// \code
/// takt::tracking_executor tracker{pool};                    // the pool must outlive the tracker
/// tracker.execute(fetch{url});                              // fetch is a type of the program
/// ...
/// for (takt::task& t : tracker.shutdown_now()) save(*t.target<fetch>());   // queued tasks
/// tracker.executor().await_termination();
/// for (takt::task& t : tracker.cut_off()) save(*t.target<fetch>());        // interrupted tasks
/// \endcode
///
/// A task that returns has completed. A task that throws was *cut off* (interrupted). A task that
/// heeds a stop request before it has completed throws takt::cancelled. Hence a task that completes
/// just when stop is requested is not recorded.
///
/// Callables are called as lvalues, so that they can be returned. A takt::task or a future_task,
/// and so each submit(), is passed on without tracking; its future, if any, has its outcome.
///
/// **Thread safety.** All members except the destructor may be called concurrently. **Destruction**
/// does not affect the executor; remaining tasks run untracked.
template <class E>
class tracking_executor : public executor_interface<tracking_executor<E>> {
 public:
  static constexpr bool may_defer_resumption = takt::may_defer_resumption<E>;

  explicit tracking_executor(E& executor)
      : executor_(executor), record_(new detail::tracking_record) {}
  ~tracking_executor() { record_->release(); }
  tracking_executor(const tracking_executor&) = delete;
  tracking_executor& operator=(const tracking_executor&) = delete;

  /// Submits `f` to the executor and tracks it.
  /// \throws what the executor throws; std::invalid_argument if `f` is empty; std::bad_alloc.
  template <class F>
    requires(detail::is_trackable<std::remove_cvref_t<F>> &&
             (detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>))
  void execute(F&& f, const task_options& options = {}) {
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::tracking_executor: the task is empty");
    using tracked =
        std::conditional_t<detail::takes_stop_token<call&>, detail::tracking_record::run_with_token,
                           detail::tracking_record::run>;
    auto made = std::make_unique<detail::tracked_callable<call>>(std::forward<F>(f), options);
    executor_.execute(task(tracked(*record_, std::move(made)), options));
  }

  /// Deleted: a callable that can be called only as an rvalue cannot be returned. Pass it as a
  /// takt::task, which is not tracked.
  template <class F>
    requires(detail::is_trackable<std::remove_cvref_t<F>> && std::is_convertible_v<F, task> &&
             !detail::takes_stop_token<std::decay_t<F>&> && !std::is_invocable_v<std::decay_t<F>&>)
  void execute(F&& f, const task_options& options = {}) = delete;

  /// Submits a task to the executor without tracking it.
  void execute(task t) { executor_.execute(std::move(t)); }
  template <class T>
  void execute(future_task<T> t, const task_options& options = {}) {
    executor_.execute(task(std::move(t), options));
  }

  /// Calls shutdown_now() of the executor. Tracked tasks in the result hold the callables that were
  /// passed to execute().
  [[nodiscard]] task_list shutdown_now()
    requires requires(E& e) { e.shutdown_now(); }
  {
    task_list unstarted = executor_.shutdown_now();
    for (task& t : unstarted) detail::tracking_record::unwrap(t);
    return unstarted;
  }

  /// Removes and returns the tasks that began and did not complete, in the order in which they were
  /// cut off. \throws std::logic_error if the executor has is_terminated() and is not terminated,
  /// or if a tracked task is running; std::bad_alloc, and then the record is unchanged.
  [[nodiscard]] std::vector<task> cut_off() {
    if constexpr (requires(const E& e) { e.is_terminated(); }) {
      if (!executor_.is_terminated()) {
        throw std::logic_error("takt::tracking_executor: the executor is not terminated");
      }
    }
    return record_->take_cut_off();
  }

  [[nodiscard]] E& executor() noexcept { return executor_; }
  [[nodiscard]] takt::future_options future_options() const { return options_of(executor_); }

 private:
  E& executor_;
  detail::tracking_record* const record_;
};

}  // namespace takt::inline TAKT_ABI

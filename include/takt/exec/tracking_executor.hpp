/// \file
/// Remembers which tasks were cut off.
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

/// Runs tasks on another executor, and remembers those that had begun and did not come to their
/// end, so that their work can be taken up again later.
///
/// \code
/// takt::thread_pool pool{{.unhandled = &takt::log_unhandled}};
/// takt::tracking_executor tracker{pool};                    // borrowed: outlives the tracker
///
/// tracker.execute(fetch{url});                              // a type of yours
/// ...
/// for (takt::task& t : tracker.shutdown_now()) save(*t.target<fetch>());   // had not begun
/// tracker.executor().await_termination();
/// for (takt::task& t : tracker.cut_off()) save(*t.target<fetch>());        // had begun
/// \endcode
///
/// **What counts as cut off.** A task that returns has come to its end, and one that throws has
/// not: a task that is asked to stop and gives up throws takt::cancelled. This is exact: a task
/// that ends just when stop is requested is not taken for one that was cut off.
///
/// Callables are called as lvalues, so that they can be given back. What is given as a takt::task
/// or a future_task already, and so also by submit(), is passed on and not tracked: its future
/// knows how it ended.
///
/// **Shutdown** is the executor's; shutdown_now() is there to get tasks back as they were given.
///
/// **Thread safety**: all members from any thread, but for the destructor. **Destruction**: does
/// nothing to the executor; tasks that are still there run untracked by anybody.
template <class E>
class tracking_executor : public executor_interface<tracking_executor<E>> {
 public:
  explicit tracking_executor(E& where) : where_(where), record_(new detail::tracking_record) {}
  ~tracking_executor() { record_->release(); }
  tracking_executor(const tracking_executor&) = delete;
  tracking_executor& operator=(const tracking_executor&) = delete;

  /// Has `f` run, and tracks it. \throws what the executor throws; std::invalid_argument if `f` is
  /// empty.
  template <class F>
    requires(detail::is_trackable<std::remove_cvref_t<F>> &&
             (detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>))
  void execute(F&& f, const task_options& more = {}) {
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::tracking_executor: the task is empty");
    using tracked =
        std::conditional_t<detail::takes_stop_token<call&>, detail::tracking_record::run_with_token,
                           detail::tracking_record::run>;
    auto what = std::make_unique<detail::tracked_callable<call>>(std::forward<F>(f), more);
    where_.execute(task(tracked(*record_, std::move(what)), more));
  }

  /// What can be called only once cannot be given back: make it a takt::task, untracked.
  template <class F>
    requires(detail::is_trackable<std::remove_cvref_t<F>> && std::is_convertible_v<F, task> &&
             !detail::takes_stop_token<std::decay_t<F>&> && !std::is_invocable_v<std::decay_t<F>&>)
  void execute(F&& f, const task_options& more = {}) = delete;

  /// Has a task run, untracked.
  void execute(task t) { where_.execute(std::move(t)); }
  template <class T>
  void execute(future_task<T> t, const task_options& more = {}) {
    where_.execute(task(std::move(t), more));
  }

  /// Of the executor; tasks are given back as they were given to execute().
  [[nodiscard]] task_list shutdown_now()
    requires requires(E& e) { e.shutdown_now(); }
  {
    task_list unstarted = where_.shutdown_now();
    for (task& t : unstarted) detail::tracking_record::unwrap(t);
    return unstarted;
  }

  /// Gives away those that had begun and did not come to their end, in the order in which they were
  /// cut off. \throws std::logic_error if the executor is not terminated (if it can tell), or if
  /// one of the tasks is running; std::bad_alloc, and they are still there.
  [[nodiscard]] std::vector<task> cut_off() {
    if constexpr (requires(const E& e) { e.is_terminated(); }) {
      if (!where_.is_terminated()) {
        throw std::logic_error("takt::tracking_executor: the executor is not terminated yet");
      }
    }
    return record_->take_cut_off();
  }

  [[nodiscard]] E& executor() noexcept { return where_; }
  [[nodiscard]] takt::future_options future_options() const { return options_of(where_); }

 private:
  E& where_;
  detail::tracking_record* const record_;
};

}  // namespace takt::inline TAKT_ABI

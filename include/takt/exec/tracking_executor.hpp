/// \file
/// Remembers which tasks were cut off.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>

namespace takt::inline TAKT_ABI {

/// Whether a tracking_executor tracks an F, if it can be called, or passes it on.
template <class F>
inline constexpr bool is_trackable = true;
template <>
inline constexpr bool is_trackable<task> = false;
template <class T>
inline constexpr bool is_trackable<future_task<T>> = false;

/// A callable that is being tracked. For tracking_executor.
class tracked_task : public detail::list_node<> {
 public:
  virtual ~tracked_task() = default;
  virtual void call(const sync::stop_token& stop) = 0;
  /// The callable, as it was given.
  [[nodiscard]] task take() noexcept { return std::move(what_); }

 protected:
  explicit tracked_task(task&& what) noexcept : what_(std::move(what)) {}

  task what_;  // made beforehand, so that giving it back needs no memory
};

/// The same with its type.
template <class F>
class tracked_callable final : public tracked_task {
 public:
  template <class G>
  tracked_callable(G&& f, const task_options& more)
      : tracked_task(task(std::forward<G>(f), more)) {}

  void call(const sync::stop_token& stop) override {
    F& what = *what_.template target<F>();
    if constexpr (takes_stop_token<F&>) {
      static_cast<void>(std::invoke(what, stop));
    } else {
      static_cast<void>(std::invoke(what));
    }
  }
};

/// What tracked tasks report to; they keep it alive.
class tracking_record : public detail::ref_counted<tracking_record> {
 public:
  /// What an executor is given; the second one for callables that take a token.
  class run;
  class run_with_token;

  tracking_record() = default;

  /// Gives away those that were cut off. \throws std::logic_error if one is running.
  [[nodiscard]] std::vector<task> take_cut_off();
  /// Makes it what it was before it became `run` or `run_with_token`; others stay as they are.
  static void unwrap(task& t) noexcept;

 private:
  friend class ref_counted<tracking_record>;
  ~tracking_record();
  void call(std::unique_ptr<tracked_task> what, const sync::stop_token& stop);

  detail::mutex mu_;
  std::size_t running_ TAKT_GUARDED_BY(mu_) = 0;
  detail::intrusive_list<tracked_task> cut_off_ TAKT_GUARDED_BY(mu_);  // owned
};

/// A tracked task, for the executor.
class tracking_record::run {
 public:
  run(tracking_record& record, std::unique_ptr<tracked_task> what) noexcept
      : record_(&record), what_(std::move(what)) {
    record.retain();
  }
  run(run&& other) noexcept
      : record_(std::exchange(other.record_, nullptr)), what_(std::move(other.what_)) {}
  run& operator=(run&&) = delete;
  ~run() {
    if (record_ != nullptr) record_->release();
  }

  void operator()() { record_->call(std::move(what_), {}); }
  [[nodiscard]] tracked_task& what() noexcept { return *what_; }

 protected:
  void call_with(const sync::stop_token& stop) { record_->call(std::move(what_), stop); }

 private:
  tracking_record* record_;
  std::unique_ptr<tracked_task> what_;
};

/// One that takes a token.
class tracking_record::run_with_token : public run {
 public:
  using run::run;
  void operator()(const sync::stop_token& stop) { call_with(stop); }
};

/// Runs tasks on another executor, and remembers those that had begun and did not come to their
/// end, so that their work can be taken up again later.
///
/// \code
/// takt::thread_pool pool{{.unhandled = &takt::lenient}};
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
  explicit tracking_executor(E& where) : where_(where), record_(new tracking_record) {}
  ~tracking_executor() { record_->release(); }
  tracking_executor(const tracking_executor&) = delete;
  tracking_executor& operator=(const tracking_executor&) = delete;

  /// Has `f` run, and tracks it. \throws what the executor throws; std::invalid_argument if `f` is
  /// empty.
  template <class F>
    requires(is_trackable<std::remove_cvref_t<F>> &&
             (takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>))
  void execute(F&& f, const task_options& more = {}) {
    using call = std::decay_t<F>;
    if constexpr (can_be_null<call> && !std::is_function_v<std::remove_reference_t<F>>) {
      if (f == nullptr) throw std::invalid_argument("takt::tracking_executor: the task is empty");
    }
    using tracked = std::conditional_t<takes_stop_token<call&>, tracking_record::run_with_token,
                                       tracking_record::run>;
    auto what = std::make_unique<tracked_callable<call>>(std::forward<F>(f), more);
    where_.execute(task(tracked(*record_, std::move(what)), more));
  }

  /// What can be called only once cannot be given back: make it a takt::task, untracked.
  template <class F>
    requires(is_trackable<std::remove_cvref_t<F>> && std::is_convertible_v<F, task> &&
             !takes_stop_token<std::decay_t<F>&> && !std::is_invocable_v<std::decay_t<F>&>)
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
    for (task& t : unstarted) tracking_record::unwrap(t);
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
  tracking_record* const record_;
};

}  // namespace takt::inline TAKT_ABI

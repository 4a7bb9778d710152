/// \file
/// The record of tracked tasks. For tracking_executor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/task/detail/callable.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// True if a tracking_executor tracks an F. It passes tasks and future_tasks on.
template <class F>
inline constexpr bool is_trackable = true;
template <>
inline constexpr bool is_trackable<task> = false;
template <class T>
inline constexpr bool is_trackable<future_task<T>> = false;

/// A tracked callable.
class tracked_task : public list_node<> {
 public:
  virtual ~tracked_task() = default;
  virtual void call(const sync::stop_token& stop) = 0;
  /// Returns the callable as it was submitted.
  [[nodiscard]] task take() noexcept { return std::move(what_); }

 protected:
  explicit tracked_task(task&& what) noexcept : what_(std::move(what)) {}

  task what_;  // constructed on submission, so that returning it needs no memory
};

/// A tracked callable of type F.
template <class F>
class tracked_callable final : public tracked_task {
 public:
  template <class G>
  tracked_callable(G&& f, const task_options& options)
      : tracked_task(task(std::forward<G>(f), options)) {}

  void call(const sync::stop_token& stop) override {
    F& what = *what_.template target<F>();
    if constexpr (takes_stop_token<F&>) {
      static_cast<void>(std::invoke(what, stop));
    } else {
      static_cast<void>(std::invoke(what));
    }
  }
};

/// The record of the tasks that were cut off. Each tracked task owns a reference.
class tracking_record : public ref_counted<tracking_record> {
 public:
  /// The callables that the executor gets; run_with_token is for callables that take a token.
  class run;
  class run_with_token;

  tracking_record() = default;

  /// Removes and returns the tasks that were cut off. \throws std::logic_error if a tracked task is
  /// running; std::bad_alloc.
  [[nodiscard]] std::vector<task> take_cut_off();
  /// Replaces a task that holds a `run` or `run_with_token` by the submitted callable. Other tasks
  /// are unchanged.
  static void unwrap(task& t) noexcept;

 private:
  friend class ref_counted<tracking_record>;
  ~tracking_record();
  void call(std::unique_ptr<tracked_task> what, const sync::stop_token& stop);

  mutex mu_;
  std::size_t running_ TAKT_GUARDED_BY(mu_) = 0;
  intrusive_list<tracked_task> cut_off_ TAKT_GUARDED_BY(mu_);  // owned
};

/// Runs a tracked callable and reports to the record.
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

/// A run of a callable that takes a token.
class tracking_record::run_with_token : public run {
 public:
  using run::run;
  void operator()(const sync::stop_token& stop) { call_with(stop); }
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

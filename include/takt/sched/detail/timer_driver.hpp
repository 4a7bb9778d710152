/// \file
/// The interface of schedulers to their handles.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/fwd.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/task/detail/task_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/timer/timer_id.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The period of a periodic task, and its counts. For schedulers; guarded by the lock of its entry.
struct period_state {
  std::chrono::nanoseconds period{};
  missed_runs missed{};
  bool after_end = false;  // fixed delay: counts from the end of a run; else from its deadline
  std::uint64_t runs = 0;
  std::uint64_t runs_missed = 0;
  std::optional<clock::time_point> moved_to{};  // deadline of the next run, set during a run
};

class timer_ref;

/// Options of a task that is added. For schedulers.
struct timer_request {
  any_executor* executor = nullptr;  ///< Null if the scheduler runs it itself.
  std::chrono::nanoseconds slack{0};
  timer_ref* place = nullptr;       ///< If given, set before the task can be cancelled.
  period_state* periods = nullptr;  ///< Null: runs once. Otherwise part of the task's state.
  bool run_at_close = false;
};

/// The entries of a scheduler's delayed tasks, as handles access them. An entry, and the memory
/// that it is in, stays as long as it is held, even after its task has ended. For schedulers.
///
/// **Thread safety.** All members may be called from any thread.
class timer_driver {
 public:
  timer_driver(const timer_driver&) = delete;
  timer_driver& operator=(const timer_driver&) = delete;

  /// Adds a task, which it moves from `t`. \throws takt::rejected, std::invalid_argument,
  /// std::bad_alloc; then the task has not run.
  virtual timer_ref add(const due_time& due, task& t, const timer_request& options) = 0;

  virtual void hold(timer_id id) noexcept = 0;
  virtual void let_go(timer_id id) noexcept = 0;

  virtual cancel_result cancel(timer_id id) noexcept = 0;
  virtual bool reschedule(timer_id id, const due_time& due) noexcept = 0;
  virtual bool pause(timer_id id) noexcept = 0;
  virtual bool resume(timer_id id) noexcept = 0;
  [[nodiscard]] virtual clock::time_point next_time(timer_id id) noexcept = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds time_left(timer_id id) noexcept = 0;
  [[nodiscard]] virtual period_state look_at(timer_id id, const period_state& periods) noexcept = 0;
  virtual void change_period(timer_id id, period_state& periods,
                             std::chrono::nanoseconds period) = 0;
  /// \throws std::invalid_argument if the period is not above 0, or exceeds the scheduler's
  /// maximum.
  virtual void check_period(std::chrono::nanoseconds period) const;

 protected:
  timer_driver() = default;
  ~timer_driver() = default;
};

/// A counted reference to the entry of a delayed task. For schedulers.
class timer_ref {
 public:
  timer_ref() noexcept = default;
  /// Adopts a hold.
  timer_ref(timer_driver& source, timer_id id) noexcept : source_(&source), id_(id) {}
  timer_ref(const timer_ref& other) noexcept : source_(other.source_), id_(other.id_) {
    if (source_ != nullptr) source_->hold(id());
  }
  timer_ref(timer_ref&& other) noexcept
      : source_(std::exchange(other.source_, nullptr)), id_(other.id()) {}
  timer_ref& operator=(timer_ref other) noexcept {
    std::swap(source_, other.source_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~timer_ref() {
    if (source_ != nullptr) source_->let_go(id());
  }

  [[nodiscard]] timer_driver* source() const noexcept { return source_; }
  // Copied by members, as it was written: a wider load would wait for both stores.
  [[nodiscard]] timer_id id() const noexcept { return {id_.generation, id_.index}; }

  /// Leaves the hold to the caller.
  void detach() noexcept { source_ = nullptr; }

  /// Removes the task from the scheduler. Called when its future is cancelled.
  void leave() const noexcept {
    if (source_ != nullptr) source_->cancel(id());
  }

 private:
  timer_driver* source_ = nullptr;
  timer_id id_;
};

/// The future of a delayed task and its closure, in one allocation. For schedulers.
template <class T, class F>
class delayed_state : public task_state<T, F> {
 public:
  using task_state<T, F>::task_state;
  timer_ref place;  // set before the task can be cancelled

 private:
  void leave_queue() noexcept override { place.leave(); }
};

/// The same for a periodic task.
template <class F>
class periodic_state final : public delayed_state<void, F> {
 public:
  using delayed_state<void, F>::delayed_state;
  period_state periods;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

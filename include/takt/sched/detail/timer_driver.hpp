/// \file
/// The inside of a scheduler, as handles see it.
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

/// When a periodic task runs. For schedulers; guarded by the lock of the entry that it belongs to.
struct period_state {
  std::chrono::nanoseconds period{};
  missed_runs missed{};
  bool after_end = false;  // counts from the end of a run; otherwise from when that was due
  std::uint64_t runs = 0;
  std::uint64_t runs_missed = 0;
  std::optional<clock::time_point> moved_to{};  // the next run, said while one is under way
};

class timer_ref;

/// What else is said of a task that is added. For schedulers.
struct timer_request {
  any_executor* where = nullptr;  ///< Null if the scheduler runs it itself.
  std::chrono::nanoseconds slack{0};
  timer_ref* place = nullptr;       ///< If given, told where it is before anybody can cancel it.
  period_state* periods = nullptr;  ///< Null: it runs once. Else part of the state of the task.
  bool run_at_close = false;
};

/// The inside of a scheduler: entries of delayed tasks, as handles see them. An entry stays as long
/// as it is held, though its task has ended; and so does what it is in. For schedulers.
///
/// **Thread safety**: all members, from any thread.
class timer_driver {
 public:
  timer_driver(const timer_driver&) = delete;
  timer_driver& operator=(const timer_driver&) = delete;

  /// Adds a task, and moves it from `t`. \throws takt::rejected, std::invalid_argument,
  /// std::bad_alloc; the task has not been run then.
  virtual timer_ref add(const due_time& due, task& t, const timer_request& more) = 0;

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
  /// \throws std::invalid_argument if it is not above 0, or beyond a limit.
  virtual void check_period(std::chrono::nanoseconds period) const;

 protected:
  timer_driver() = default;
  ~timer_driver() = default;
};

/// Where a delayed task is kept. For schedulers.
class timer_ref {
 public:
  timer_ref() noexcept = default;
  /// Takes over a hold.
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
  // By its parts, as it was written: a processor waits for those of what it reads as one.
  [[nodiscard]] timer_id id() const noexcept { return {id_.generation, id_.index}; }

  /// Leaves the hold to the caller.
  void detach() noexcept { source_ = nullptr; }

  /// The task was cancelled: who keeps it lets go of it.
  void leave() const noexcept {
    if (source_ != nullptr) source_->cancel(id());
  }

 private:
  timer_driver* source_ = nullptr;
  timer_id id_;
};

/// The future of a delayed task, with its closure, in one allocation. For schedulers.
template <class T, class F>
class delayed_state : public task_state<T, F> {
 public:
  using task_state<T, F>::task_state;
  timer_ref place;  // written before anybody can cancel it

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

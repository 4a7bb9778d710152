/// The task that a thread runs, so that other threads can request its stop.
#pragma once

#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// An executor that stops changes its state and then calls request_stop() for each thread. A thread
/// that runs a task calls enter() and then checks the state. So each running task gets the request,
/// whichever comes first.
///
/// Thread safety: enter() and leave() from the thread that runs the task; share() and
/// request_stop() from any thread.
class running_task {
 public:
  /// A task with this state is about to run. The caller keeps the state alive until leave().
  void enter(detail::future_core& state) noexcept {
    const detail::mutex_lock lock(mu_);
    state_ = &state;
  }

  void leave() noexcept {
    const detail::mutex_lock lock(mu_);
    state_ = nullptr;
  }

  /// Returns the state of the running task; null if none runs, or the task has no state.
  [[nodiscard]] detail::intrusive_ptr<detail::future_core> share() noexcept {
    const detail::mutex_lock lock(mu_);
    if (state_ == nullptr) return {};
    state_->retain();
    return detail::intrusive_ptr<detail::future_core>(state_);
  }

  /// Requests stop of the running task, if any.
  void request_stop() noexcept {
    if (const auto found = share()) found->request_stop();
  }

 private:
  detail::mutex mu_;
  detail::future_core* state_ TAKT_GUARDED_BY(mu_) = nullptr;
};

}  // namespace takt::inline TAKT_ABI

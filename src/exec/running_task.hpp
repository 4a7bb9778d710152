/// What a thread runs at the moment, so that others can ask it to stop.
#pragma once

#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// The owner of an executor changes its state, and then asks each of these to stop; who runs a task
/// makes it known here, and then looks at the state. So no task is missed, whichever comes first.
///
/// Thread safety: enter() and leave() belong to the thread that runs; request_stop() to anyone.
class running_task {
 public:
  /// A task with this state is about to run; somebody keeps that until leave().
  void enter(detail::future_core& state) noexcept {
    const detail::mutex_lock lock(mu_);
    state_ = &state;
  }

  void leave() noexcept {
    const detail::mutex_lock lock(mu_);
    state_ = nullptr;
  }

  /// A reference to the state of what runs; empty if nothing does, or it has none.
  [[nodiscard]] detail::intrusive_ptr<detail::future_core> share() noexcept {
    const detail::mutex_lock lock(mu_);
    if (state_ == nullptr) return {};
    state_->retain();
    return detail::intrusive_ptr<detail::future_core>(state_);
  }

  void request_stop() noexcept {
    if (const auto found = share()) found->request_stop();
  }

 private:
  detail::mutex mu_;
  detail::future_core* state_ TAKT_GUARDED_BY(mu_) = nullptr;
};

}  // namespace takt::inline TAKT_ABI

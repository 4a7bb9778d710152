/// Ending a component while another thread waits for its termination and destroys it.
#pragma once

#include <takt/base/config.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/task/detail/executor_scope.hpp>

namespace takt::inline TAKT_ABI {

/// The first local variable of every member function that ends a component, such as shutdown(),
/// shutdown_now() and close(). While the guard exists, the core is not deleted and its lifecycle
/// does not terminate. So a thread that awaits termination, and then destroys the component, its
/// observer and its clock, waits for this call. The destructor of the guard releases the hold on
/// the lifecycle, and then the reference to the core.
///
/// \code
/// void core::shutdown() noexcept {
///   const ending_guard ending(*this, life_);
///   life_.advance_to(life_state::shutdown);
///   cancel_unwanted_tasks();   // without a lock; may take long
/// }
/// \endcode
///
/// Core has retain() and release(), like takt::detail::ref_counted, and end_if_over(), which calls
/// lifecycle::try_tidy() and, if that returns true, terminates the component.
///
/// The guard is also an executor_scope of the lifecycle: functions that the call destroys or calls
/// cannot wait for the component's termination. See is_ending_here().
template <class Core>
class ending_guard final : private detail::executor_scope {
 public:
  ending_guard(Core& core, lifecycle& life) noexcept
      : detail::executor_scope(&life), core_(core), life_(life) {
    core.retain();
    held_ = life.hold();
  }
  ending_guard(const ending_guard&) = delete;
  ending_guard& operator=(const ending_guard&) = delete;
  ~ending_guard() {
    if (held_) {
      life_.release_hold();
      core_.end_if_over();
    }
    core_.release();
  }

  /// Returns false if the component has terminated already, so that nothing is left to end.
  explicit operator bool() const noexcept { return held_; }

 private:
  [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }

  Core& core_;
  lifecycle& life_;
  bool held_ = false;
};

/// Terminates the program with a message: the destructor of `component` was called by one of its
/// own tasks, or from within a call that ends it. The destructor cannot wait for its caller, which
/// would use the clock, the observer and the hooks after the destructor has returned.
[[noreturn]] void refuse_own_destruction(const char* component) noexcept;

/// Returns whether the calling thread is within a call that ends the component with this lifecycle.
[[nodiscard]] inline bool is_ending_here(const lifecycle& life) noexcept {
  return detail::executor_scope::of(&life) != nullptr;
}

}  // namespace takt::inline TAKT_ABI

/// Ending a component while another thread waits for its termination and destroys it.
#pragma once

#include <takt/base/config.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/task/detail/executor_scope.hpp>

namespace takt::inline TAKT_ABI {

/// The first local variable of every member that ends a component: shutdown(), shutdown_now(),
/// shutdown_and_cancel(), close() and their kin. While it exists, the core is not deleted and its
/// lifecycle does not terminate; so a thread that awaits termination, and then destroys the
/// component, its observer and its clock, waits for this call. As its last act the guard releases
/// both, the hold first.
///
/// \code
/// void core::shutdown() noexcept {
///   const ending_guard ending(*this, life_);
///   life_.advance_to(life_state::shutdown);
///   cancel_what_is_not_to_run();   // without a lock, and for as long as it takes
/// }
/// \endcode
///
/// Core has retain() and release(), as takt::detail::ref_counted, and end_if_over(), which calls
/// lifecycle::try_tidy() and, if that returns true, ends it.
///
/// The thread is known as one that runs tasks of the lifecycle: what the call destroys, or calls,
/// cannot wait for the end. See is_ending_here().
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

  /// Whether the component had not terminated. If false, nothing is left to end.
  explicit operator bool() const noexcept { return held_; }

 private:
  [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }

  Core& core_;
  lifecycle& life_;
  bool held_ = false;
};

/// Ends the program with a message: the destructor of `component` was called by one of its own
/// tasks, or by what a call has destroyed or called that ends it. The destructor could not wait for
/// them, and they would go on to use the clock, the observer and the hooks after it has returned.
[[noreturn]] void refuse_own_destruction(const char* component) noexcept;

/// Whether the calling thread is within a call that ends the component with this lifecycle.
[[nodiscard]] inline bool is_ending_here(const lifecycle& life) noexcept {
  return detail::executor_scope::of(&life) != nullptr;
}

}  // namespace takt::inline TAKT_ABI

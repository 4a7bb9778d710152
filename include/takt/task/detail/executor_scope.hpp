/// \file
/// The executors whose tasks the calling thread runs. For executors.
#pragma once

#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A wait of a task for other tasks, without a deadline. Lives on the stack of the waiting thread.
class task_wait : public detail::list_node<> {
 public:
  /// Returns true if only threads of `executor` can end the wait. May err only towards false.
  /// Called with the executor's lock held.
  [[nodiscard]] virtual bool depends_on(const void* executor) const noexcept = 0;

 protected:
  task_wait() = default;
  ~task_wait() = default;
};

/// While it exists, the calling thread runs tasks of an executor. A wait that only this thread
/// could end is thereby detected instead of lasting forever.
///
/// Scopes nest: a worker of a pool may drain a strand.
///
/// Tasks begin at continuation depth 0, even if a continuation runs them, by event_loop::poll() for
/// example: continuations of futures that a task completes are called before the task ends. See
/// max_nested_continuations.
///
/// **Thread safety.** Belongs to the constructing thread; destroy scopes in reverse order.
class executor_scope {
 public:
  /// The continuation depth at which the scope begins.
  enum class nesting : std::uint8_t {
    anew,       ///< 0: continuations of the tasks are called before the scope ends.
    continued,  ///< The current depth. The scope only identifies its thread.
  };
  /// \param executor  the executor of the tasks; only its address is used.
  /// \param counts    the continuation depth within the scope.
  explicit executor_scope(const void* executor, nesting counts = nesting::anew) noexcept;
  executor_scope(const executor_scope&) = delete;
  executor_scope& operator=(const executor_scope&) = delete;

  /// Returns the calling thread's innermost scope for `executor`, or null.
  [[nodiscard]] static executor_scope* of(const void* executor) noexcept;

  /// Returns the calling thread's innermost scope, or null.
  [[nodiscard]] static executor_scope* innermost() noexcept;
  /// Returns the scope that encloses this one, or null.
  [[nodiscard]] executor_scope* outer() const noexcept { return outer_; }

  /// Called when one of the tasks is about to wait for others. Returns false if the wait would last
  /// forever, because all threads of the executor would wait for each other; otherwise end_wait()
  /// follows.
  [[nodiscard]] virtual bool begin_wait(task_wait& w) noexcept = 0;
  virtual void end_wait(task_wait& w) noexcept { static_cast<void>(w); }

  /// Called by the constructor and the destructor of a blocking_region.
  virtual void begin_blocking() noexcept {}
  virtual void end_blocking() noexcept {}

 protected:
  ~executor_scope();

 private:
  const void* const executor_;
  executor_scope* const outer_;
  const std::size_t outer_depth_;  // continuation depth to restore
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

/// \file
/// Whose tasks the calling thread runs. For executors.
#pragma once

#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A wait of a task, without a deadline, for other tasks. On the stack of the thread that waits.
class task_wait : public detail::list_node<> {
 public:
  /// Whether nobody but the threads of `executor` could still end it. Called with the executor's
  /// lock held; may be wrong only by saying no.
  [[nodiscard]] virtual bool depends_on(const void* executor) const noexcept = 0;

 protected:
  task_wait() = default;
  ~task_wait() = default;
};

/// While it exists, the thread that made it runs tasks of an executor. So waiting for what only
/// this thread could do is found out instead of lasting for ever.
///
/// A thread may have several, innermost last: a worker of a pool drains a strand.
///
/// Its tasks are not part of a continuation, even if one runs them, by event_loop::poll() say: the
/// continuations of futures that a task completes are called before the task ends. See
/// max_nested_continuations.
///
/// **Thread safety**: belongs to the thread that made it. **Destruction**: in reverse order.
class executor_scope {
 public:
  /// Whether continuations begin to count anew within the runner.
  enum class nesting : std::uint8_t {
    anew,       ///< What the tasks complete is delivered before the runner ends.
    continued,  ///< The runner only recognises its thread: it may be part of a continuation.
  };
  /// \param executor  whose tasks these are; only its address counts.
  /// \param counts    how continuations count within the runner.
  explicit executor_scope(const void* executor, nesting counts = nesting::anew) noexcept;
  executor_scope(const executor_scope&) = delete;
  executor_scope& operator=(const executor_scope&) = delete;

  /// The runner of the calling thread for this executor, or null if it does not run its tasks.
  [[nodiscard]] static executor_scope* of(const void* executor) noexcept;

  /// The one that the calling thread made last, and the one before this; null if there is none.
  [[nodiscard]] static executor_scope* innermost() noexcept;
  [[nodiscard]] executor_scope* outer() const noexcept { return outer_; }

  /// One of the tasks is about to wait for others. False if that would be for ever, because all
  /// threads of the executor would depend on each other; else end_wait() follows.
  [[nodiscard]] virtual bool begin_wait(task_wait& w) noexcept = 0;
  virtual void end_wait(task_wait& w) noexcept { static_cast<void>(w); }

  /// A task begins to wait for something else, and says so; see blocking_region.
  virtual void begin_blocking() noexcept {}
  virtual void end_blocking() noexcept {}

 protected:
  ~executor_scope();

 private:
  const void* const executor_;
  executor_scope* const outer_;
  const std::size_t outer_depth_;  // of continuations
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

/// \file
/// The executor concept, submit() and resume_on().
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// A type that runs tasks: at once or later, on the calling thread or on another one.
///
/// \code
/// class my_executor {
///  public:
///   void execute(takt::task t) {
///     my_loop.post([t = std::move(t)]() mutable { t.run(); });
///   }
/// };
/// \endcode
///
/// execute() takes ownership of the task, which then has exactly one outcome, or throws
/// takt::rejected. submit() and resume_on() work with any executor; see also executor_interface.
///
/// An executor declares its guarantees as constants; a missing constant means false:
/// \code
///   static constexpr bool is_serial = true;             // runs one task at a time
///   static constexpr bool is_fifo = true;               // begins tasks in order of execute()
///   static constexpr bool never_runs_inline = true;     // tasks begin after execute() returns
///   static constexpr bool may_defer_resumption = true;  // see docs/executors.md
/// \endcode
///
/// An executor may have `std::size_t try_execute(std::span<task>) noexcept`. It queues a prefix of
/// the tasks in one step, running none of them, and returns their number, or 0 if that would not be
/// cheaper than execute().
template <class E>
concept executor = requires(E& e, task t) { e.execute(std::move(t)); };

/// True if E runs one task at a time, each happening before the next.
template <class E>
inline constexpr bool is_serial_executor = [] {
  if constexpr (requires { E::is_serial; }) return static_cast<bool>(E::is_serial);
  return false;
}();

/// True if E begins tasks in the order of execute().
template <class E>
inline constexpr bool is_fifo_executor = [] {
  if constexpr (requires { E::is_fifo; }) return static_cast<bool>(E::is_fifo);
  return false;
}();

/// True if execute() may run the task before it returns. It is false only if E::never_runs_inline
/// is true.
template <class E>
inline constexpr bool may_run_inline = [] {
  if constexpr (requires { E::never_runs_inline; }) return !E::never_runs_inline;
  return true;
}();

/// True if takt may resume a coroutine after E's execute() has returned.
template <class E>
inline constexpr bool may_defer_resumption = [] {
  if constexpr (requires { E::may_defer_resumption; }) {
    return static_cast<bool>(E::may_defer_resumption);
  }
  return false;
}();

/// Returns the clock and the unhandled hook for futures of an executor: the result of its member
/// future_options() if it has one, otherwise the defaults.
template <executor E>
[[nodiscard]] future_options options_of(const E& e) {
  if constexpr (requires {
                  { e.future_options() } -> std::convertible_to<future_options>;
                }) {
    return e.future_options();
  } else {
    return {};
  }
}

/// Submits `f` to an executor. \return the future of its result.
/// \throws takt::rejected if the executor rejects the task; std::invalid_argument if `f` is empty;
/// std::bad_alloc; whatever else execute() throws.
template <executor E, class F>
  requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
[[nodiscard]] auto submit(E& e, F&& f, const task_options& options = {}) {
  using result = typename detail::task_result<std::decay_t<F>>::type;
  future_task<result> work(std::forward<F>(f), options_of(e));
  future<result> filled = work.get_future();
  e.execute(task(std::move(work), options));
  return filled;
}

namespace detail {

/// As may_defer_resumption, but asks an executor with a member defers_resumption() at run time.
template <class E>
[[nodiscard]] bool defers_resumption(const E& e) noexcept {
  if constexpr (requires { e.defers_resumption(); }) {
    return e.defers_resumption();
  } else {
    return may_defer_resumption<E>;
  }
}

/// The callable of the task that resumes a coroutine. It does nothing: the completion of the task
/// resumes the coroutine. shutdown_now() cancels such tasks and does not return them.
struct resume_point {
  void operator()() const noexcept {}
  /// Returns true if `t` resumes a coroutine, even while another thread cancels the task.
  [[nodiscard]] static bool is_in(const task& t) noexcept {
    const future_core* const state = t.state();
    return state != nullptr && state->callable_type() == &type_key<resume_point>;
  }
};

/// Awaiter of `co_await resume_on(e)`.
template <class E>
class [[nodiscard]] resume_awaiter final : public awaiter_base<void> {
 public:
  resume_awaiter(E& e, const task_options& options) noexcept : executor_(e), options_(options) {}

  /// Runs deferred continuations if the coroutine resumes within execute(), where they would run
  /// under a lock of the executor. \return false
  [[nodiscard]] bool await_ready() const noexcept {
    if (!defers_resumption(executor_)) deferred_continuations::run();
    return false;
  }
  void await_suspend(std::coroutine_handle<> waiting) {
    future_task<void> work(resume_point(), options_of(executor_));
    future<void> arrival = work.get_future();
    if (!defers_resumption(executor_)) arrival.state().never_defer();
    suspend_and_arm(waiting, std::move(arrival),
                    [&e = executor_, t = task(std::move(work), options_)]() mutable {
                      e.execute(std::move(t));
                    });
  }

 private:
  E& executor_;
  const task_options options_;
};

}  // namespace detail

/// `co_await resume_on(e)` resumes the coroutine as a task of the executor. If the task does not
/// run, co_await throws takt::cancelled, takt::rejected or takt::broken_promise, on the thread that
/// ended the task. The awaiter refers to `e`.
template <executor E>
[[nodiscard]] detail::resume_awaiter<E> resume_on(E& e, const task_options& options = {}) noexcept {
  return {e, options};
}

/// CRTP base that adds submit() to an executor.
///
/// \code
/// class my_executor : public takt::executor_interface<my_executor> {
///  public:
///   void execute(takt::task t);
/// };
///
/// takt::future<int> sum = mine.submit([] { return 40 + 2; });
/// \endcode
///
/// **Thread safety.** As for execute() and future_options().
template <class Derived>
class executor_interface {
 public:
  /// As takt::submit().
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  [[nodiscard]] auto submit(F&& f, const task_options& options = {}) {
    return takt::submit(self(), std::forward<F>(f), options);
  }

 private:
  friend Derived;
  executor_interface() = default;
  ~executor_interface() = default;

  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

}  // namespace takt::inline TAKT_ABI

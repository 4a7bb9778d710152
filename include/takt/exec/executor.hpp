/// \file
/// What an executor is, and what can be done with any of them.
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Something that runs tasks: now or later, here or on another thread.
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
/// execute() takes the task and sees to its end, or throws takt::rejected.
///
/// Executors that also derive from executor_interface have submit() as a member;
/// for all others there is a function of that name. What an executor promises about order stands
/// in constants of its class, and is false unless it says so:
/// \code
///   static constexpr bool is_serial = true;         // runs one task at a time
///   static constexpr bool is_fifo = true;           // begins them in the order of execute()
///   static constexpr bool never_runs_inline = true; // execute() returns before the task begins
///   static constexpr bool may_defer_resumption = true;  // see below
/// \endcode
///
/// A coroutine that awaits resume_on(e) resumes while the executor runs its task: within run(), and
/// so under a lock that the executor holds then. If execute() itself runs tasks, coroutines that
/// hop in a loop nest on the stack. An executor for which it does not matter where on the thread a
/// coroutine continues, as inline_executor, sets `may_defer_resumption`; then takt resumes the
/// coroutine after execute() has returned when too many continuations are nested.
///
/// One that can take several tasks at the cost of one may have
/// `std::size_t try_execute(std::span<task>) noexcept`: it takes as many as it can queue in one
/// step, from the first one on, without running any before it returns, and says how many; 0 if it
/// would not be cheaper than execute(), which the rest is for. A wheel_scheduler gives its
/// executors what is due at once by that.
template <class E>
concept executor = requires(E& e, task t) { e.execute(std::move(t)); };

/// Whether E runs one task at a time, each happening before the next.
template <class E>
inline constexpr bool is_serial_executor = [] {
  if constexpr (requires { E::is_serial; }) return static_cast<bool>(E::is_serial);
  return false;
}();

/// Whether E begins tasks in the order in which they were given to it.
template <class E>
inline constexpr bool is_fifo_executor = [] {
  if constexpr (requires { E::is_fifo; }) return static_cast<bool>(E::is_fifo);
  return false;
}();

/// Whether execute() may run the task before it returns. True unless E denies it.
template <class E>
inline constexpr bool may_run_inline = [] {
  if constexpr (requires { E::never_runs_inline; }) return !E::never_runs_inline;
  return true;
}();

/// Whether a coroutine that resumes on E may continue after execute() has returned.
template <class E>
inline constexpr bool may_defer_resumption = [] {
  if constexpr (requires { E::may_defer_resumption; }) {
    return static_cast<bool>(E::may_defer_resumption);
  }
  return false;
}();

/// The clock and the unhandled hook of the futures that an executor makes: what its member
/// future_options() returns, if it has one.
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

/// Has `f` run by an executor. \return the future of its result.
/// \throws takt::rejected if the executor does not take it; std::invalid_argument if `f` is empty.
template <executor E, class F>
  requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
[[nodiscard]] auto submit(E& e, F&& f, const task_options& more = {}) {
  using result = typename detail::task_result<std::decay_t<F>>::type;
  future_task<result> work(std::forward<F>(f), options_of(e));
  future<result> filled = work.get_future();
  e.execute(task(std::move(work), more));
  return filled;
}

namespace detail {

/// As may_defer_resumption, also for an executor that knows it at run time only.
template <class E>
[[nodiscard]] bool defers_resumption(const E& e) noexcept {
  if constexpr (requires { e.defers_resumption(); }) {
    return e.defers_resumption();
  } else {
    return may_defer_resumption<E>;
  }
}

/// What a task does with which a coroutine waits: nothing, since its end is what is waited for. Who
/// gives back tasks does not give back these, but cancels them.
struct resume_point {
  void operator()() const noexcept {}
  /// Another thread may be cancelling the task meanwhile.
  [[nodiscard]] static bool is_in(const task& t) noexcept {
    const future_core* const state = t.state();
    return state != nullptr && state->callable_type() == &type_key<resume_point>;
  }
};

/// Awaiter of `co_await resume_on(e)`.
template <class E>
class [[nodiscard]] resume_awaiter final : public awaiter_base<void> {
 public:
  resume_awaiter(E& e, const task_options& more) noexcept : executor_(e), more_(more) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    future_task<void> work(resume_point(), options_of(executor_));
    future<void> arrival = work.get_future();
    if (!defers_resumption(executor_)) arrival.state().never_defer();
    suspend_and_arm(
        waiting, std::move(arrival),
        [&e = executor_, t = task(std::move(work), more_)]() mutable { e.execute(std::move(t)); });
  }

 private:
  E& executor_;
  const task_options more_;
};

}  // namespace detail

/// `co_await resume_on(e)`: the coroutine continues as a task of the executor. It throws
/// takt::cancelled, takt::rejected or takt::broken_promise, wherever that happens, if it does not.
template <executor E>
[[nodiscard]] detail::resume_awaiter<E> resume_on(E& e, const task_options& more = {}) noexcept {
  return {e, more};
}

/// Gives an executor the members that follow from execute(): derive from it, with the class itself
/// as its argument.
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
/// **Thread safety**: that of execute(), and of future_options() if there is one.
template <class Derived>
class executor_interface {
 public:
  /// As takt::submit().
  template <class F>
    requires(detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>)
  [[nodiscard]] auto submit(F&& f, const task_options& more = {}) {
    return takt::submit(self(), std::forward<F>(f), more);
  }

 private:
  friend Derived;
  executor_interface() = default;
  ~executor_interface() = default;

  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

}  // namespace takt::inline TAKT_ABI

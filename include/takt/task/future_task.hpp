/// \file
/// A callable whose outcome goes to a future.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/task/detail/callable.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/detail/run_stop.hpp>
#include <takt/task/detail/task_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {

/// A callable whose outcome goes to a future; java.util.concurrent calls it FutureTask. run() runs
/// it once, run_and_reset() any number of times.
///
/// \code
/// takt::future_task<int> task{[](std::stop_token stop) { return search(stop); }};
/// takt::future<int> found = task.get_future();
/// std::jthread t{std::move(task)};         // calls task()
/// ...
/// found.cancel_and_join();                 // the search has ended or will never begin
/// \endcode
///
/// **Closure.** The callable takes a `std::stop_token` or nothing. run() calls it as an rvalue if
/// it can be called so, run_and_reset() as an lvalue. It is destroyed before the future becomes
/// ready; if it is cancelled before it begins, the cancelling thread destroys it.
///
/// **Cancellation.** cancel(), future::request_stop(), and an executor in shutdown_now() request
/// stop. If the callable throws takt::cancelled, the future is cancelled.
///
/// **Errors.** A task that is destroyed before it begins fails its future with
/// takt::broken_promise, and so calls its continuation. Members of a moved-from task throw
/// std::future_error (no_state).
///
/// **Thread safety.** cancel(), cancel_and_join(), is_ready(), is_cancelled(), run() and
/// run_and_reset() may be called concurrently while the task is not being moved or destroyed; of
/// concurrent runs, one takes effect. All other members require exclusive access.
template <class T>
class future_task {
 public:
  /// Holds `f`, decayed. \throws std::invalid_argument if `f` is a null pointer or an empty
  /// function, or if an option is null; std::bad_alloc. If it throws std::bad_alloc, `f` is
  /// unchanged.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, future_task> &&
             detail::task_callable<T, std::decay_t<F>>)
  explicit future_task(F&& f, const future_options& options = {}) {
    detail::require_callable(f, "takt::future_task: the callable is empty");
    state_ = detail::intrusive_ptr<detail::future_state<T>>(
        new detail::task_state<T, std::decay_t<F>>(options, std::forward<F>(f)));
  }
  future_task(future_task&&) noexcept = default;
  future_task& operator=(future_task&& other) noexcept {
    future_task(std::move(other)).swap(*this);
    return *this;
  }
  ~future_task() {
    if (state_) state_->abandon();
  }
  void swap(future_task& other) noexcept {
    state_.swap(other.state_);
    std::swap(retrieved_, other.retrieved_);
  }

  /// Returns the future, once. \throws std::future_error (future_already_retrieved, no_state).
  [[nodiscard]] future<T> get_future() {
    static_cast<void>(state());  // throws if empty
    if (std::exchange(retrieved_, true)) {
      detail::throw_future_already_retrieved();
    }
    return future<T>(state_.share());
  }

  /// Calls the callable and makes the future ready. Does nothing if the task was cancelled, is
  /// running, or has run.
  void run() { state().run(); }
  void operator()() { run(); }

  /// For periodic work: calls the callable and leaves the future pending, so that the task can be
  /// run again. The result of the callable is discarded.
  /// \return true if the task can be run again. False if the callable threw, which ends the future
  /// with that error, or if the task was cancelled, is running, or has run.
  /// \throws std::logic_error if the callable can be called only as an rvalue.
  [[nodiscard]] bool run_and_reset() { return state().run_and_reset(); }

  /// As future::cancel().
  cancel_result cancel() const { return state().cancel(); }
  /// As future::cancel_and_join().
  cancel_result cancel_and_join(const sync::stop_token& stop = {}) const {
    return state().cancel_and_join(clock::time_point::max(), stop);
  }
  /// As future::cancel_and_join_for().
  template <class Rep, class Period>
  cancel_result cancel_and_join_for(std::chrono::duration<Rep, Period> timeout,
                                    const sync::stop_token& stop = {}) const {
    return cancel_and_join_until(deadline_after(state().time().now(), to_nanoseconds(timeout)),
                                 stop);
  }
  /// As future::cancel_and_join_until().
  cancel_result cancel_and_join_until(clock::time_point deadline,
                                      const sync::stop_token& stop = {}) const {
    return state().cancel_and_join(deadline, stop);
  }
  /// Returns true if the future is ready: with a value, with an error, or cancelled.
  [[nodiscard]] bool is_ready() const { return state().is_ready(); }
  /// Returns true if the future was cancelled.
  [[nodiscard]] bool is_cancelled() const { return state().is_cancelled(); }

  /// Returns the shared state, which the caller then runs, cancels or abandons. The task is empty
  /// afterwards.
  [[nodiscard]] detail::intrusive_ptr<detail::future_state<T>> release() {
    static_cast<void>(state());  // throws if empty
    return std::move(state_);
  }

 private:
  [[nodiscard]] detail::future_state<T>& state() const {
    if (!state_) detail::throw_no_state();
    return *state_;
  }

  detail::intrusive_ptr<detail::future_state<T>> state_;
  bool retrieved_ = false;
};

template <class F>
future_task(F) -> future_task<typename detail::task_result<std::decay_t<F>>::type>;
template <class F>
future_task(F, future_options) -> future_task<typename detail::task_result<std::decay_t<F>>::type>;

}  // namespace takt::inline TAKT_ABI

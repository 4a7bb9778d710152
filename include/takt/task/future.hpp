/// \file
/// Futures and promises.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/task/detail/callable.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {

namespace detail {
template <class T, class F>
class then_state;
template <class T>
class future_awaiter;
}  // namespace detail

/// Maximum number of nested continuations on one thread. A continuation that completes a future
/// calls the continuation of that future, and so on. At this depth the thread defers further
/// continuations until the innermost one returns or blocks, so that a chain of any length needs
/// little stack. See docs/task.md.
inline constexpr std::size_t max_nested_continuations = 16;

/// The result of work that may still be running: a value, an error, or a cancellation. If the
/// producer is destroyed without a result, the future fails with takt::broken_promise.
///
/// \code
/// takt::promise<int> p;
/// takt::future<int> f = p.get_future();
/// std::jthread t{[p = std::move(p)]() mutable { p.set_value(42); }};
///
/// takt::future<int> g = std::move(f).then([](int n) { return n + 1; });
/// if (!g.wait_for(100ms)) g.cancel();            // prevented, running or done
/// use(g.get());                                  // throws takt::cancelled if cancelled
/// \endcode
///
/// **Errors.** get() throws the exception of the work, takt::cancelled, or takt::broken_promise. An
/// error that was never retrieved goes to the unhandled_hook (`unobserved`) when future and
/// producer are destroyed. Members of an empty future (default-constructed, moved from, after
/// get()) throw std::future_error (no_state). A time-out that is NaN throws std::invalid_argument.
///
/// **Waits** use the clock of the promise or task. A deadline in the past polls; time_point::max()
/// and durations that overflow wait forever. `sync::stop_token` is std::stop_token, except in the
/// model build.
///
/// **Thread safety.** Const members may be called concurrently; the others require exclusive
/// access. **Destruction** neither waits nor cancels.
template <class T>
class [[nodiscard]] future {
 public:
  /// Constructs an empty future.
  future() noexcept = default;
  /// For executors and combinators: a future that shares `state`.
  explicit future(detail::intrusive_ptr<detail::future_state<T>> state) noexcept
      : state_(std::move(state)) {}

  /// Returns true if the future is not empty.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  /// Returns true if get() would not block.
  [[nodiscard]] bool is_ready() const { return state().is_ready(); }
  /// Returns true if the future was cancelled.
  [[nodiscard]] bool is_cancelled() const { return state().is_cancelled(); }

  /// Returns the outcome of the work: finished, failed or cancelled.
  /// \throws std::logic_error if the future is not ready.
  [[nodiscard]] task_outcome outcome() const {
    if (!is_ready()) throw std::logic_error("takt::future: it is not ready");
    return state().outcome();
  }

  /// Blocks until the future is ready.
  /// \throws std::system_error (resource_deadlock_would_occur) if called from the body that
  /// produces the result, or if a pool or strand would wait for itself.
  void wait() const { state().wait_until(clock::time_point::max(), {}); }
  /// As above, or until stop is requested. \return true if the future is ready.
  bool wait(const sync::stop_token& stop) const {
    return state().wait_until(clock::time_point::max(), stop);
  }
  /// Blocks until the future is ready, the time-out expires or stop is requested. \return true if
  /// the future is ready.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> timeout,
                const sync::stop_token& stop = {}) const {
    return wait_until(deadline_after(state().time().now(), to_nanoseconds(timeout)), stop);
  }
  /// Blocks until the future is ready, the deadline passes or stop is requested. \return true if
  /// the future is ready.
  bool wait_until(clock::time_point deadline, const sync::stop_token& stop = {}) const {
    return state().wait_until(deadline, stop);
  }

  /// Blocks until the future is ready, then moves the value out or throws the error. The future is
  /// empty afterwards. \throws also as wait(); the future is unchanged then.
  T get() {
    wait();
    return std::exchange(state_, {})->take();
  }
  /// As above. \throws wait_stopped if stop is requested first; the future is unchanged then.
  T get(const sync::stop_token& stop) {
    if (!wait(stop)) throw wait_stopped();
    return get();
  }

  /// Cancels the future unless it is ready, and calls its continuation and the body's stop
  /// callbacks. \return the effect on the work. For the future of a promise, `prevented` means only
  /// that no result had been set; the producer may be running.
  cancel_result cancel() const { return state().cancel(); }

  /// Requests stop of the work and keeps its result. Work that has not begun is cancelled. A
  /// running body sees the request in its token, and the future gets the body's result. For the
  /// future of a promise this is cancel().
  ///
  /// In a periodic series each run has its own token. During a run, this call requests stop of that
  /// run, and the series continues. Between two runs it cancels the series, unlike
  /// periodic_future::request_stop(), which then does nothing.
  void request_stop() const {
    detail::future_core& work = state();
    const detail::state_guard mine(work);  // a stop callback may release the last reference
    // A run may end, or the next one begin, in between.
    while (!work.prevent() && !work.request_stop_of_run() && work.is_pending()) {
    }
  }

  /// Calls cancel(), then blocks until the body is not running. Only then is it safe to destroy
  /// what the body refers to.
  /// \return `prevented` or `done`; `running` if stop was requested first, or if called from within
  /// the body itself.
  cancel_result cancel_and_join(const sync::stop_token& stop = {}) const {
    return state().cancel_and_join(clock::time_point::max(), stop);
  }
  /// As above. Returns `running` if the time-out expires.
  template <class Rep, class Period>
  cancel_result cancel_and_join_for(std::chrono::duration<Rep, Period> timeout,
                                    const sync::stop_token& stop = {}) const {
    return cancel_and_join_until(deadline_after(state().time().now(), to_nanoseconds(timeout)),
                                 stop);
  }
  /// As above. Returns `running` if the deadline passes.
  cancel_result cancel_and_join_until(clock::time_point deadline,
                                      const sync::stop_token& stop = {}) const {
    return state().cancel_and_join(deadline, stop);
  }

  /// Calls `f` with the value when this future is ready. An error or a cancellation skips `f` and
  /// goes to the returned future. If `f` takes a future<T> instead of a T, it is always called,
  /// with this future, which is ready then.
  ///
  /// The thread that completes this future calls `f`, within the completing call. If the future is
  /// already ready, then() calls `f`. Only at the depth of max_nested_continuations is the call
  /// deferred. `f` is called as an rvalue if it can be called so. If `f` returns a future, then()
  /// returns a future of that future.
  ///
  /// Cancelling the returned future prevents `f` and does not cancel this future's work. The
  /// returned future has the clock and the hook of this one.
  /// \throws std::invalid_argument if `f` is null or empty, std::bad_alloc, and what copying `f`
  /// throws; this future is unchanged then.
  template <class F>
  auto then(F&& f) &&;

  /// `co_await std::move(f)` returns or throws what get() would, in any coroutine. The thread that
  /// completes the future resumes the coroutine; an exception that leaves the coroutine's resume()
  /// terminates the program. A coroutine whose frame is destroyed while it is suspended here is not
  /// resumed. As with any coroutine, its owner must not destroy the frame while it is being
  /// resumed.
  detail::future_awaiter<T> operator co_await() &&;

  /// For code that combines futures.
  [[nodiscard]] detail::future_state<T>& state() const {
    if (!state_) detail::throw_no_state();
    return *state_;
  }

 private:
  detail::intrusive_ptr<detail::future_state<T>> state_;
};

/// Sets the result of a future.
///
/// \code
/// takt::promise<std::string> p;
/// takt::future<std::string> f = p.get_future();
/// fetch(url, [p = std::move(p)](auto reply) mutable { p.set_value(reply.body()); });
/// \endcode
///
/// The clock and the hook of the future are options:
/// `takt::promise<int> p{{.unhandled = &takt::log_unhandled}};`.
///
/// **Cancellation.** If the future is cancelled first, a result that is set later is discarded
/// without an error. The producer can check is_cancelled().
///
/// **Errors.** Destruction without a result fails the future with takt::broken_promise, and so
/// calls its continuation.
///
/// **Thread safety.** Members require exclusive access to the promise; its future is independent.
template <class T>
class promise {
 public:
  /// \throws std::invalid_argument if an option is null; std::bad_alloc.
  explicit promise(const future_options& options = {})
      : state_(new detail::future_state<T>(options)) {}
  promise(promise&&) noexcept = default;
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  ~promise() {
    if (state_) state_->abandon();
  }
  void swap(promise& other) noexcept {
    state_.swap(other.state_);
    std::swap(retrieved_, other.retrieved_);
    std::swap(set_, other.set_);
  }

  /// Returns the future, once. \throws std::future_error (future_already_retrieved, no_state).
  [[nodiscard]] future<T> get_future() {
    require_state();
    if (std::exchange(retrieved_, true)) {
      detail::throw_future_already_retrieved();
    }
    return future<T>(state_.share());
  }

  /// Makes the future ready with a value constructed from `value`, which may be a braced list. If
  /// the construction throws, the future gets that exception.
  /// \throws std::future_error (promise_already_satisfied, no_state).
  template <class U = std::remove_cvref_t<T>>
    requires detail::can_become<T, U&&>
  void set_value(U&& value) {
    if (!claim()) return;
    std::exception_ptr error;
    try {
      const detail::body_scope here(*state_);
      state_->store(std::forward<U>(value));
    } catch (...) {
      error = std::current_exception();
    }
    if (error == nullptr) {
      state_->publish_value();
    } else {
      publish(std::move(error));
    }
  }
  void set_value()
    requires std::is_void_v<T>
  {
    if (!claim()) return;
    state_->store();
    state_->publish_value();
  }

  /// Makes the future ready with an error; takt::cancelled cancels the future.
  /// \throws std::future_error as above; std::invalid_argument if `error` is null.
  void set_exception(std::exception_ptr error) {
    if (error == nullptr) {
      throw std::invalid_argument("takt::promise: the exception_ptr is null");
    }
    if (claim()) publish(std::move(error));
  }

  /// Cancels the future, for a producer whose own work was cancelled.
  /// \throws std::future_error as above.
  void set_cancelled() {
    if (claim()) state_->publish_cancelled();
  }

  /// Returns true if the future was cancelled: a result would be discarded.
  [[nodiscard]] bool is_cancelled() const {
    require_state();
    return state_->is_cancelled();
  }

 private:
  void require_state() const {
    if (!state_) detail::throw_no_state();
  }
  // False if the future was cancelled.
  bool claim() {
    require_state();
    if (std::exchange(set_, true)) {
      detail::throw_promise_already_satisfied();
    }
    return state_->claim();
  }
  void publish(std::exception_ptr error) {
    bool was_cancelled = false;
    try {
      std::rethrow_exception(error);
    } catch (const cancelled&) {
      was_cancelled = true;
    } catch (...) {  // NOLINT(bugprone-empty-catch): every other error is published as it is
    }
    if (was_cancelled) {
      state_->publish_cancelled();
    } else {
      state_->publish_error(std::move(error));
    }
  }

  detail::intrusive_ptr<detail::future_state<T>> state_;
  bool retrieved_ = false;
  bool set_ = false;
};

/// Returns a ready future with `value`.
template <class T>
[[nodiscard]] future<std::decay_t<T>> make_ready_future(T&& value) {
  promise<std::decay_t<T>> p;
  p.set_value(std::forward<T>(value));
  return p.get_future();
}
[[nodiscard]] inline future<void> make_ready_future() {
  promise<void> p;
  p.set_value();
  return p.get_future();
}

template <class T>
template <class F>
auto future<T>::then(F&& f) && {
  using call = std::decay_t<F>;
  using state_type = detail::then_state<T, call>;
  detail::require_callable(f, "takt::future::then: the callable is empty");
  const future_options options = state().options();
  detail::intrusive_ptr<state_type> made(
      new state_type(options, std::forward<F>(f), std::move(*this)));
  made->start();
  using result = typename detail::then_result<T, call>::type;
  made->retain();
  return future<result>(detail::intrusive_ptr<detail::future_state<result>>(made.get()));
}

template <class T>
detail::future_awaiter<T> future<T>::operator co_await() && {
  return detail::future_awaiter<T>(std::move(*this));
}

}  // namespace takt::inline TAKT_ABI

// These need the classes above.
#include <takt/task/detail/awaiter_base.hpp>
#include <takt/task/detail/then_state.hpp>

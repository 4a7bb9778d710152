/// \file
/// A result that will be there, and who delivers it.
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

/// How many continuations may be nested on one thread: a continuation completes a future, whose
/// continuation completes another one, and so on. A thread that is so deep defers further ones
/// until the innermost of them returns or blocks, so that chains of any length need little stack.
inline constexpr std::size_t max_nested_continuations = 16;

/// The result of work that may still be under way: a value, an error, or the fact that it was
/// cancelled. It always gets one of them: no future hangs because its producer went away.
///
/// \code
/// takt::promise<int> p;
/// takt::future<int> f = p.get_future();
/// std::jthread t{[p = std::move(p)]() mutable { p.set_value(42); }};
///
/// takt::future<int> g = std::move(f).then([](int n) { return n + 1; });
/// if (g.wait_for(100ms)) {
///   use(g.get());                                // or without wait_for(): get() blocks
/// } else {
///   g.cancel();                                  // prevented, running or done
/// }
/// \endcode
///
/// **Time**: wait_for() and wait_until() use the clock that the promise or task was given. A time
/// in the past polls; time_point::max() and durations beyond counting wait for ever.
///
/// **Errors.** get() throws what the work threw; takt::cancelled if it was cancelled;
/// takt::broken_promise if its promise or task died without a result. An error that nobody has
/// looked at when the last of future and producer is gone goes to the unhandled_hook
/// (`unobserved`). Members of an empty future (default-constructed, moved from, after get()) throw
/// std::future_error (no_state).
///
/// **Thread safety**: const members from any thread, also several at once; the others belong to
/// one thread at a time. **Destruction** neither waits nor cancels.
template <class T>
class [[nodiscard]] future {
 public:
  /// Empty.
  future() noexcept = default;
  /// For those who make futures.
  explicit future(detail::intrusive_ptr<detail::future_state<T>> state) noexcept
      : state_(std::move(state)) {}

  /// Whether it refers to a result, there or to come.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  /// Whether get() would not block.
  [[nodiscard]] bool is_ready() const { return state().is_ready(); }
  /// Whether it has ended by cancellation.
  [[nodiscard]] bool is_cancelled() const { return state().is_cancelled(); }

  /// How it has ended. \throws std::logic_error if it is not ready.
  [[nodiscard]] task_outcome outcome() const {
    if (!is_ready()) throw std::logic_error("takt::future: it has not ended yet");
    return state().outcome();
  }

  /// Blocks until ready.
  /// \throws std::system_error (resource_deadlock_would_occur) within the body of the very task, or
  /// if a pool or strand would wait for itself.
  void wait() const { state().wait_until(clock::time_point::max(), {}); }
  /// Blocks until ready or stop is requested. \return whether it is ready.
  bool wait(const sync::stop_token& stop) const {
    return state().wait_until(clock::time_point::max(), stop);
  }
  /// Blocks until ready, or for that long, or until stop is requested. \return whether it is ready.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> timeout,
                const sync::stop_token& stop = {}) const {
    return wait_until(deadline_after(state().time().now(), to_nanoseconds(timeout)), stop);
  }
  /// Blocks until ready, until that time, or until stop is requested. \return whether it is ready.
  bool wait_until(clock::time_point deadline, const sync::stop_token& stop = {}) const {
    return state().wait_until(deadline, stop);
  }

  /// Blocks until ready and gives the value away, or throws the error. The future is empty
  /// afterwards.
  T get() {
    wait();
    return std::exchange(state_, {})->take();
  }
  /// As above. \throws wait_stopped if stop is requested first; the future stays as it is.
  T get(const sync::stop_token& stop) {
    if (!wait(stop)) throw wait_stopped();
    return get();
  }

  /// Ends the future by cancellation, unless it is ready, and tells what that did to the work. Of
  /// what a promise delivers it knows only whether it was there: `prevented` does not mean that the
  /// producer has not begun. Runs the continuation, and the stop callbacks of the body.
  cancel_result cancel() const { return state().cancel(); }

  /// Asks the work to stop, without giving up its result: what has not begun is cancelled; what
  /// runs is told by its token, and the future is ready when that has ended, with what became of
  /// it. Of what a promise delivers: as cancel(). Of a series: requests stop of the run in
  /// progress; between two runs the next one, and with it the series, is cancelled. Each run has a
  /// token of its own. See also periodic_future::request_stop().
  void request_stop() const {
    detail::future_core& work = state();
    const detail::state_guard mine(work);  // a stop callback may let go of the last owner
    // A run may end, or the next one begin, in between.
    while (!work.prevent() && !work.request_stop_of_run() && work.is_pending()) {
    }
  }

  /// cancel(), then blocks until the body does not run (any more): only then is it safe to destroy
  /// what the body refers to.
  /// \return `prevented` or `done`; `running` if stop was requested first, or if called from within
  /// that very body.
  cancel_result cancel_and_join(const sync::stop_token& stop = {}) const {
    return state().cancel_and_join(clock::time_point::max(), stop);
  }
  /// As above, for that long at most: then `running`.
  template <class Rep, class Period>
  cancel_result cancel_and_join_for(std::chrono::duration<Rep, Period> timeout,
                                    const sync::stop_token& stop = {}) const {
    return cancel_and_join_until(deadline_after(state().time().now(), to_nanoseconds(timeout)),
                                 stop);
  }
  /// As above, until that time at most.
  cancel_result cancel_and_join_until(clock::time_point deadline,
                                      const sync::stop_token& stop = {}) const {
    return state().cancel_and_join(deadline, stop);
  }

  /// Lets `f` be called with the value when it is there; an error or a cancellation passes by `f`
  /// into the future that is returned. If `f` takes no T but a future<T>, it is called in any
  /// case, with this future, which is ready then.
  ///
  /// The thread that delivers the result calls it before it goes on, or this thread does if the
  /// result is there already. Continuations may nest; chains may be of any length, see
  /// max_nested_continuations. `f` is called as an rvalue, if it can be. A future that `f` returns
  /// is not unwrapped.
  ///
  /// Cancelling the returned future prevents `f`; it does not cancel what `f` waits for. It has the
  /// clock and the hook of this one.
  /// \throws std::invalid_argument if `f` is null or empty, std::bad_alloc, and what copying `f`
  /// throws: then this future is as it was.
  template <class F>
  auto then(F&& f) &&;

  /// `co_await std::move(f)` gives what get() gives, in any coroutine. The coroutine is resumed by
  /// the thread that delivers the result; an exception that leaves its resume() ends the program.
  /// If its frame is destroyed while it is suspended here, nothing is resumed; who destroys it has
  /// to know, as with any coroutine, that it is not being resumed at that moment.
  detail::future_awaiter<T> operator co_await() &&;

  /// For those who combine futures.
  [[nodiscard]] detail::future_state<T>& state() const {
    if (!state_) detail::throw_no_state();
    return *state_;
  }

 private:
  detail::intrusive_ptr<detail::future_state<T>> state_;
};

/// Delivers the result of a future.
///
/// \code
/// takt::promise<std::string> p;
/// takt::future<std::string> f = p.get_future();
/// fetch(url, [p = std::move(p)](auto reply) mutable { p.set_value(reply.body()); });
/// \endcode
///
/// If the future is cancelled first, what is set later is dropped, without an error; a producer
/// that cares asks is_cancelled(). Clock and hook of the future are options, see future_options:
/// `takt::promise<int> p{{.unhandled = &takt::log_unhandled}};`.
///
/// **Thread safety**: one thread at a time; independent of its future. **Destruction** without a
/// result ends the future with takt::broken_promise, and so runs its continuation.
template <class T>
class promise {
 public:
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

  /// The future; there is one. \throws std::future_error (future_already_retrieved, no_state).
  [[nodiscard]] future<T> get_future() {
    require_state();
    if (std::exchange(retrieved_, true)) {
      detail::throw_future_already_retrieved();
    }
    return future<T>(state_.share());
  }

  /// Makes the future ready with a value made of `value`, which may be a list in braces.
  /// \throws std::future_error (promise_already_satisfied, no_state). If making the value throws,
  /// that becomes the result.
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

  /// Makes the future ready with an error; takt::cancelled makes it cancelled.
  /// \throws as above; std::invalid_argument if it is null.
  void set_exception(std::exception_ptr error) {
    if (error == nullptr) {
      throw std::invalid_argument("takt::promise: the exception_ptr is null");
    }
    if (claim()) publish(std::move(error));
  }

  /// Makes the future ready as cancelled: passes on somebody else's cancellation.
  /// \throws std::future_error as above.
  void set_cancelled() {
    if (claim()) state_->publish_cancelled();
  }

  /// Whether the future was cancelled, so that a result is of no use.
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
    } catch (...) {  // NOLINT(bugprone-empty-catch): as it is
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

/// A future that is ready.
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

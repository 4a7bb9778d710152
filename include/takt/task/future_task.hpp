/// \file
/// A callable that fills a future when it is run.
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

/// Work to be done once, or again and again, whose outcome goes to a future. It is what executors
/// queue and run; java.util.concurrent calls it FutureTask.
///
/// \code
/// takt::future_task<int> task{[](std::stop_token stop) { return search(stop); }};
/// takt::future<int> found = task.get_future();
/// std::jthread t{std::move(task)};         // calls task()
/// ...
/// found.cancel_and_join();                 // the search has ended, or never begins
/// \endcode
///
/// The callable takes a `std::stop_token` or nothing; stop is requested by cancel(), and
/// by an executor that is told to stop at once. run() calls it as an rvalue, if it can be,
/// run_and_reset() as an lvalue. It is destroyed before the future becomes ready; when it is
/// cancelled before it has begun, by the thread that cancels. If it throws takt::cancelled, the
/// future is cancelled.
///
/// **Thread safety**: cancel(), cancel_and_join(), is_ready() and is_cancelled() from any thread,
/// at any time while the task is not being moved or destroyed; run() and run_and_reset() too, of
/// which only one takes effect at a time; the rest belongs to one thread.
///
/// **Destruction**: a task that has not begun ends its future with takt::broken_promise, and so
/// runs its continuation. A moved-from task is empty: its members throw std::future_error
/// (no_state).
template <class T>
class future_task {
 public:
  /// \throws std::invalid_argument if `f` is a null pointer or an empty function; std::bad_alloc,
  /// and then `f` is as it was.
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

  /// The future; there is one. \throws std::future_error (future_already_retrieved, no_state).
  [[nodiscard]] future<T> get_future() {
    static_cast<void>(state());  // not empty
    if (std::exchange(retrieved_, true)) {
      detail::throw_future_already_retrieved();
    }
    return future<T>(state_.share());
  }

  /// Does the work and makes the future ready. Nothing happens if it was cancelled, is running, or
  /// has run.
  void run() { state().run(); }
  void operator()() { run(); }

  /// Does the work without ending the task, so that it can be run again: for periodic work. What
  /// it returns is dropped.
  /// \return whether it may be run again. Not if it threw, which ends the future with that error;
  /// nor if it was cancelled, is running, or has run.
  /// \throws std::logic_error if the callable can be called only as an rvalue.
  [[nodiscard]] bool run_and_reset() { return state().run_and_reset(); }

  /// As future::cancel(), without the future.
  cancel_result cancel() const { return state().cancel(); }
  /// As future::cancel_and_join(), without the future.
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
  /// Whether it has ended: by a value, an error or a cancellation.
  [[nodiscard]] bool is_ready() const { return state().is_ready(); }
  /// Whether it has ended by cancellation.
  [[nodiscard]] bool is_cancelled() const { return state().is_cancelled(); }

  /// Gives up the task for its state, which the caller then runs, cancels or abandons.
  [[nodiscard]] detail::intrusive_ptr<detail::future_state<T>> release() {
    static_cast<void>(state());  // not empty
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

/// \file
/// A callable that fills a future when it is run.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/task/detail/run_stop.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_state.hpp>

namespace takt::inline TAKT_ABI {

/// Whether a callable takes a stop_token. If it can be called with and without, it gets one.
template <class F>
inline constexpr bool takes_stop_token = callable_once<F, sync::stop_token>;

/// What a task with the callable F gives.
template <class F, bool WithToken = takes_stop_token<F>>
struct task_result
    : owned_result<std::invoke_result_t<one_shot<F, sync::stop_token>, sync::stop_token>> {};
template <class F>
struct task_result<F, false> : owned_result<std::invoke_result_t<one_shot<F>>> {};

/// Whether a future_task<T> can be made of an F.
template <class T, class F>
concept task_callable =
    (takes_stop_token<F> || callable_once<F>) &&
    (std::is_void_v<T> || (can_become<T, typename task_result<F>::type> &&
                           std::is_convertible_v<typename task_result<F>::type, T>));

/// The state of a task together with its closure: one allocation.
template <class T, class F>
class task_state : public future_state<T> {
 public:
  template <class G>
  task_state(const future_options& options, G&& f)
      : future_state<T>(options), call_(std::in_place, std::forward<G>(f)) {}

  void run() noexcept override {
    const keep_alive mine(*this);
    const detail::run_scope run(stop_);
    if (!this->begin()) return;
    this->run_body([this]() -> decltype(auto) {
      if constexpr (takes_stop_token<F>) {
        return std::invoke(static_cast<one_shot<F, sync::stop_token>>(*call_), stop_.token());
      } else {
        return std::invoke(static_cast<one_shot<F>>(*call_));
      }
    });
  }

  bool run_and_reset() override {
    if constexpr (takes_stop_token<F&> || std::is_invocable_v<F&>) {
      const keep_alive mine(*this);
      const detail::run_scope run(stop_);
      if (!this->begin()) return false;
      std::exception_ptr error;
      bool ended = false;
      std::optional<body_scope> here(std::in_place, *this);
      try {
        static_cast<void>(call_again());
      } catch (const cancelled&) {
        ended = true;
      } catch (...) {
        error = std::current_exception();
      }
      if (error == nullptr && !ended && this->reset()) return !this->end_if_dropped();
      drop_closure();
      here.reset();
      if (error != nullptr) {
        this->finish_error(std::move(error));
      } else {
        this->finish_cancelled();
      }
      return false;
    } else {
      throw std::logic_error("takt::future_task: the callable can be called only once");
    }
  }

  void request_stop() noexcept override { stop_.request_next(); }
  bool request_stop_of_run() noexcept override { return stop_.request(); }

  void* target(const void* type) noexcept override {
    return type == &type_key<F> && call_ ? std::addressof(*call_) : nullptr;
  }
  [[nodiscard]] const void* callable_type() const noexcept override { return &type_key<F>; }

 protected:
  /// Calls it as what may be called again.
  decltype(auto) call_again() {
    if constexpr (takes_stop_token<F&>) {
      return std::invoke(*call_, stop_.token());
    } else {
      return std::invoke(*call_);
    }
  }
  void drop_closure() noexcept override { call_.reset(); }

 private:
  // Made first: if that throws, the callable is still there.
  [[no_unique_address]] std::conditional_t<takes_stop_token<F>, detail::run_stop, detail::no_stop>
      stop_;
  std::optional<F> call_;
};

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
/// **Destruction**: a task that has not begun ends its future with takt::abandoned, and so runs its
/// continuation. A moved-from task is empty: its members throw std::future_error (no_state).
template <class T>
class future_task {
 public:
  /// \throws std::invalid_argument if `f` is a null pointer or an empty function; std::bad_alloc,
  /// and then `f` is as it was.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, future_task> &&
             task_callable<T, std::decay_t<F>>)
  explicit future_task(F&& f, const future_options& options = {}) {
    if constexpr (can_be_null<std::decay_t<F>> && !std::is_function_v<std::remove_reference_t<F>>) {
      if (f == nullptr) throw std::invalid_argument("takt::future_task: the callable is empty");
    }
    state_ =
        state_ref<future_state<T>>(new task_state<T, std::decay_t<F>>(options, std::forward<F>(f)));
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
      throw_future_already_retrieved();
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
  [[nodiscard]] state_ref<future_state<T>> release() {
    static_cast<void>(state());  // not empty
    return std::move(state_);
  }

 private:
  [[nodiscard]] future_state<T>& state() const {
    if (!state_) throw_no_state();
    return *state_;
  }

  state_ref<future_state<T>> state_;
  bool retrieved_ = false;
};

template <class F>
future_task(F) -> future_task<typename task_result<std::decay_t<F>>::type>;
template <class F>
future_task(F, future_options) -> future_task<typename task_result<std::decay_t<F>>::type>;

}  // namespace takt::inline TAKT_ABI

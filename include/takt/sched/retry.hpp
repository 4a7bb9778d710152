/// \file
/// Retries a function that fails, with growing delays.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>

namespace takt::inline TAKT_ABI {

/// The number of attempts of retry(), and the delays between them.
struct backoff {
  /// Delay after the first failure.
  std::chrono::nanoseconds initial = std::chrono::milliseconds(100);
  /// Ratio of each delay to the previous one; at least 1.
  double factor = 2;
  /// Maximum delay, before jitter.
  std::chrono::nanoseconds limit = std::chrono::seconds(30);
  /// Maximum number of attempts, the first included; at least 1.
  std::size_t attempts = 5;

  /// Receives each delay and returns the delay to wait instead; a negative result counts as 0. With
  /// jitter, callers that failed together do not retry together:
  /// \code
  /// .jitter = [random = std::minstd_rand(seed)](auto delay) mutable {
  ///   return std::uniform_int_distribution<std::int64_t>(0, delay.count())(random) * 1ns;
  /// }
  /// \endcode
  /// Called where the attempts run, by one thread at a time; each retry() has its own copy.
  std::function<std::chrono::nanoseconds(std::chrono::nanoseconds)> jitter{};

  /// Returns the delay after that many failures (1 or more), without jitter.
  [[nodiscard]] std::chrono::nanoseconds delay_after(std::size_t failures) const noexcept;
  /// Checks all members. \throws std::invalid_argument, with the value and the limit, if a delay is
  /// negative, factor is less than 1 or NaN, or attempts is 0.
  void check() const;
};

namespace detail {

/// The future of a retry(), with its closure. To the scheduler it is a periodic task that ends when
/// an attempt succeeds; delay_queue.hpp describes when periodic tasks run again, and when they can
/// be cancelled.
template <class T, class F>
class retry_state final : public delayed_state<T, F> {
 public:
  template <class G>
  static future<T> start(scheduler& timers, G&& f, backoff&& policy) {
    require_callable(f, "takt::retry: the callable is empty");
    policy.check();
    intrusive_ptr<retry_state> made(
        new retry_state(timers.future_options(), std::forward<G>(f), std::move(policy)));
    made->retain();
    future<T> filled{intrusive_ptr<future_state<T>>(made.get())};
    timer_ref& place = made->place;
    period_state& periods = made->periods_;
    periods.after_end = true;
    timers.add(timers.time().now(), std::move(made), {.name = "takt::retry"}, place, &periods);
    return filled;
  }

  bool run_and_reset() override {
    const state_guard mine(*this);
    if (!this->begin()) return false;
    std::exception_ptr error;
    bool was_cancelled = false;
    {
      const body_scope here(*this);
      try {
        if constexpr (std::is_void_v<T>) {
          static_cast<void>(this->call_again());
          this->store();
        } else {
          this->store(this->call_again());
        }
      } catch (const cancelled&) {
        was_cancelled = true;
      } catch (...) {
        error = std::current_exception();
      }
      if (error != nullptr && ++failures_ < policy_.attempts && set_delay(error)) {
        error = nullptr;  // released before a joining thread returns
        if (this->reset()) return !this->end_if_dropped();
        was_cancelled = true;
      }
      this->drop_closure();
    }
    this->finish_body(std::move(error), was_cancelled);
    return false;
  }

 private:
  template <class G>
  retry_state(const future_options& options, G&& f, backoff&& policy)
      : delayed_state<T, F>(options, std::forward<G>(f)), policy_(std::move(policy)) {}

  // False if jitter throws; `error` is then its exception.
  bool set_delay(std::exception_ptr& error) noexcept {
    std::chrono::nanoseconds delay = policy_.delay_after(failures_);
    try {
      if (policy_.jitter) delay = policy_.jitter(delay);
    } catch (...) {
      error = std::current_exception();
      return false;
    }
    periods_.period = std::max(delay, std::chrono::nanoseconds(0));
    return true;
  }

  // Used by the thread that runs an attempt. The queue reads the period on that thread; its lock
  // publishes the period to the next one.
  backoff policy_;
  std::size_t failures_ = 0;
  period_state periods_;
};

/// The result type of retry() for an F, which is called as an lvalue.
template <class F, bool WithToken = takes_stop_token<F&>>
struct retry_result : owned_result<std::invoke_result_t<F&, sync::stop_token>> {};
template <class F>
struct retry_result<F, false> : owned_result<std::invoke_result_t<F&>> {};

}  // namespace detail

/// Runs `f` on a scheduler, and again as long as it throws, after delays that `policy` determines.
/// \return a future with the first result, or, if all attempts fail, with the last error.
///
/// \code
/// takt::future<reply> answer = takt::retry(pool, [&] { return ask(server); });
/// auto stored = takt::retry(pool, [&](std::stop_token stop) { upload(file, stop); },
///                           {.initial = 50ms, .factor = 3, .limit = 10s, .attempts = 8});
/// stored.cancel();
/// \endcode
///
/// `f` takes a `std::stop_token` or nothing, and is called as an lvalue, by one thread at a time;
/// each attempt happens before the next. takt::cancelled ends the attempts and cancels the future:
/// to report an error that another attempt would not fix, store it and throw takt::cancelled, or
/// return it.
///
/// **Cancellation.** Cancelling the future prevents further attempts, and requests stop of a
/// running one. cancel_and_join() waits for the running attempt. Destroying the future neither
/// waits nor cancels.
///
/// **Shutdown** treats a retry as one periodic task with a run for each attempt.
///
/// **Cost.** One allocation. Further attempts do not allocate. See docs/scheduling.md.
///
/// \throws std::invalid_argument if `f` is empty, or for the reasons of backoff::check();
/// takt::rejected if the scheduler is shut down or has no thread; std::bad_alloc.
template <class F>
  requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
[[nodiscard]] auto retry(scheduler& timers, F&& f, backoff policy = {}) {
  using call = std::decay_t<F>;
  using result = typename detail::retry_result<call>::type;
  return detail::retry_state<result, call>::start(timers, std::forward<F>(f), std::move(policy));
}
/// As above, for a temporary such as wheel_scheduler::on(), which is used only during the call.
template <class F>
  requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
[[nodiscard]] auto retry(scheduler&& timers, F&& f, backoff policy = {}) {
  return retry(timers, std::forward<F>(f), std::move(policy));
}

}  // namespace takt::inline TAKT_ABI

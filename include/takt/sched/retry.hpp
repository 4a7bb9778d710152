/// \file
/// Work that is tried again when it fails, after a delay that grows.
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

/// How often something is tried, and how long it is left alone in between.
struct backoff {
  std::chrono::nanoseconds initial = std::chrono::milliseconds(100);  ///< After the first failure.
  double factor = 2;  ///< From one delay to the next; at least 1.
  std::chrono::nanoseconds limit = std::chrono::seconds(30);  ///< Of a delay, before jitter.
  std::size_t attempts = 5;  ///< In all, the first included; at least 1.

  /// Given each delay; what it returns, but 0 at least, is waited instead. So that those who failed
  /// together do not come back together:
  /// \code
  /// .jitter = [random = std::minstd_rand(seed)](auto delay) mutable {
  ///   return std::uniform_int_distribution<std::int64_t>(0, delay.count())(random) * 1ns;
  /// }
  /// \endcode
  /// Called where the attempts run, by one at a time for each retry(), which has its own copy.
  std::function<std::chrono::nanoseconds(std::chrono::nanoseconds)> jitter{};

  /// How long to wait after so many failures, from 1 on; without jitter.
  [[nodiscard]] std::chrono::nanoseconds delay_after(std::size_t failures) const noexcept;
  /// \throws std::invalid_argument if a delay is negative, the factor is less than 1 or not a
  /// number, or there are no attempts; it names the value and the limit.
  void check() const;
};

namespace detail {

/// The future of a retry(), with its closure. It is a periodic task of the scheduler, that ends
/// when it succeeds: what it is called again by, and who may cancel it when, stands in
/// delay_queue.hpp.
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
        error = nullptr;  // before anybody who has joined it may go on
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

  // False if it cannot, and `error` is why.
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

  // Of who runs it; the queue reads the period on the same thread, and hands it to the next one.
  backoff policy_;
  std::size_t failures_ = 0;
  period_state periods_;
};

/// What retry() gives for an F, which it calls as an lvalue.
template <class F, bool WithToken = takes_stop_token<F&>>
struct retry_result : owned_result<std::invoke_result_t<F&, sync::stop_token>> {};
template <class F>
struct retry_result<F, false> : owned_result<std::invoke_result_t<F&>> {};

}  // namespace detail

/// Has `f` run by a scheduler, and again as long as it throws: after a delay, and then a longer
/// one, and so on, as `policy` says. \return the future of its result; if all attempts fail, of the
/// last error.
///
/// \code
/// takt::future<reply> answer = takt::retry(pool, [&] { return ask(server); });
///
/// auto stored = takt::retry(pool, [&](std::stop_token stop) { upload(file, stop); },
///                           {.initial = 50ms, .factor = 3, .limit = 10s, .attempts = 8});
/// stored.cancel();
/// \endcode
///
/// `f` takes a `std::stop_token` or nothing, and is called as an lvalue, by one thread at a time;
/// each attempt happens before the next. If it throws takt::cancelled, that is the end: for errors
/// that another attempt would not mend, store them and throw that, or return them.
///
/// **Cancelling** the future prevents further attempts: a delay leaves the scheduler at once; an
/// attempt that is under way is asked to stop, if it takes a token. cancel_and_join() waits for it.
///
/// **Thread safety**: as for the scheduler and for a future. **Destruction** of the future neither
/// waits nor cancels.
///
/// **Shutdown**: to the scheduler it is one periodic task, with a run for each attempt. shutdown()
/// cancels it, unless that keeps periodic tasks: also if the first attempt has not begun; one
/// that is under way may still succeed. One that shutdown_now() gives back makes its last attempt
/// when it is run.
///
/// **Cost**: one allocation; further attempts have none, and cannot be rejected; except by the
/// executor of a wheel_scheduler::on(), to which each is given anew.
///
/// \throws std::invalid_argument if the policy is bad, see backoff::check(), or `f` is empty;
/// takt::rejected if the scheduler is shut down or has no thread; std::bad_alloc.
template <class F>
  requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
[[nodiscard]] auto retry(scheduler& timers, F&& f, backoff policy = {}) {
  using call = std::decay_t<F>;
  using result = typename detail::retry_result<call>::type;
  return detail::retry_state<result, call>::start(timers, std::forward<F>(f), std::move(policy));
}
/// The same: `timers` is used within the call only, so that a wheel_scheduler::on() will do.
template <class F>
  requires(detail::takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
[[nodiscard]] auto retry(scheduler&& timers, F&& f, backoff policy = {}) {
  return retry(timers, std::forward<F>(f), std::move(policy));
}

}  // namespace takt::inline TAKT_ABI

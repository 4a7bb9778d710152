/// \file
/// Runs many callables and waits for all results, or for the first value.
///
/// The callables are a range of anything that submit() takes. Callables of an rvalue container are
/// moved, all others are copied.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/completion_queue.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>

namespace takt::inline TAKT_ABI {

namespace detail {

/// The decayed type of a range's callables.
template <class Calls>
using range_call = std::decay_t<std::ranges::range_reference_t<Calls>>;

/// A range of callables that can be submitted.
template <class Calls>
concept callable_range =
    std::ranges::input_range<Calls> &&
    (takes_stop_token<range_call<Calls>&&> || std::is_invocable_v<range_call<Calls>&&>);

/// The result type of a range's callables.
template <class Calls>
using range_result = typename task_result<range_call<Calls>&&>::type;

/// Returns the callable at `at`: as an rvalue if the range is an rvalue and not a view, otherwise
/// as the range returns it.
template <class Calls, class Iterator>
[[nodiscard]] decltype(auto) pass_call(Iterator& at) {
  if constexpr (std::is_lvalue_reference_v<Calls> ||
                std::ranges::view<std::remove_cvref_t<Calls>>) {
    return *at;
  } else {
    return std::ranges::iter_move(at);
  }
}

/// Returns true if stop is requested or the deadline has passed.
[[nodiscard]] inline bool wait_is_over(const clock& time, clock::time_point deadline,
                                       const sync::stop_token& stop) {
  return stop.stop_requested() || (deadline != clock::time_point::max() && time.now() >= deadline);
}

}  // namespace detail

/// Submits all callables of a range to an executor and waits until they have ended, the deadline
/// passes on the executor's clock, or stop is requested. In the last two cases, callables that have
/// not ended are cancelled, and callables that have not been submitted get cancelled futures.
///
/// \code
/// std::vector<std::function<page()>> fetches = ...;
/// for (takt::future<page>& p : takt::invoke_all_for(2s, pool, fetches)) {
///   if (!p.is_cancelled()) show(p.get());
/// }
/// \endcode
///
/// A callable that is cancelled while it runs continues until it heeds its token; cancel_and_join()
/// on its future waits for it.
/// \return the futures, all ready, in the order of the callables.
/// \throws takt::rejected and other exceptions of a submission; std::invalid_argument if a callable
/// is empty; std::system_error (resource_deadlock_would_occur) if a task calls this and would wait
/// forever. Before it throws, it cancels the submitted callables and waits for running ones.
template <detail::callable_range Calls>
[[nodiscard]] std::vector<future<detail::range_result<Calls>>> invoke_all_until(
    clock::time_point deadline, any_executor executor, Calls&& calls,
    const sync::stop_token& stop = {}) {
  using result = detail::range_result<Calls>;
  const future_options options = executor.future_options();
  struct submitted {
    std::vector<future<result>> futures;
    ~submitted() {
      cancel();
      for (future<result>& f : futures) {
        if (f.valid()) f.cancel_and_join();
      }
    }
    void cancel() noexcept {
      // Newest first, so that no thread begins a task that is about to be cancelled.
      for (auto f = futures.rbegin(); f != futures.rend(); ++f) {
        if (f->valid()) f->cancel();
      }
    }
  } all;
  if constexpr (std::ranges::sized_range<Calls>) all.futures.reserve(std::ranges::size(calls));
  for (auto at = std::ranges::begin(calls); at != std::ranges::end(calls); ++at) {
    future<result>& f = all.futures.emplace_back();
    if (detail::wait_is_over(*options.time, deadline, stop)) {
      promise<result> unsubmitted(options);
      unsubmitted.set_cancelled();
      f = unsubmitted.get_future();
    } else {
      f = executor.submit(detail::pass_call<Calls>(at));
    }
  }
  for (const future<result>& f : all.futures) {
    if (f.wait_until(deadline, stop)) continue;
    all.cancel();
    f.wait();  // another thread may be completing it
  }
  return std::exchange(all.futures, {});
}

/// As above, with a time-out.
template <class Rep, class Period, detail::callable_range Calls>
[[nodiscard]] auto invoke_all_for(std::chrono::duration<Rep, Period> timeout, any_executor executor,
                                  Calls&& calls, const sync::stop_token& stop = {}) {
  const auto deadline =
      deadline_after(executor.future_options().time->now(), to_nanoseconds(timeout));
  return takt::invoke_all_until(deadline, executor, std::forward<Calls>(calls), stop);
}

/// As above, without a deadline.
template <detail::callable_range Calls>
[[nodiscard]] auto invoke_all(any_executor executor, Calls&& calls,
                              const sync::stop_token& stop = {}) {
  return takt::invoke_all_until(clock::time_point::max(), executor, std::forward<Calls>(calls),
                                stop);
}

/// Submits callables of a range to an executor, waits until one has returned a value, and cancels
/// the others. It submits them in order until a value exists, so that an executor that runs tasks
/// inline runs no more of them than necessary.
///
/// \code
/// std::vector<std::function<page(std::stop_token)>> mirrors = ...;
/// page first = takt::invoke_any_for(2s, pool, mirrors);
/// \endcode
///
/// It does not wait for the others: callables should own what they use. To wait for them, use a
/// completion_queue. Their errors are not reported.
/// \return the first value.
/// \throws the error of the callable that failed last if all failed, takt::cancelled if that one
/// was cancelled; takt::timeout_error if there is no value when the deadline passes on the
/// executor's clock; takt::wait_stopped if there is no value when stop is requested;
/// std::invalid_argument if there are no callables or one is empty; takt::rejected and other
/// exceptions of a submission; std::system_error (resource_deadlock_would_occur) if a task calls
/// this and would wait forever. In every case it cancels the callables that have not ended.
template <detail::callable_range Calls>
detail::range_result<Calls> invoke_any_until(clock::time_point deadline, any_executor executor,
                                             Calls&& calls, const sync::stop_token& stop = {}) {
  using result = detail::range_result<Calls>;
  const clock& time = *executor.future_options().time;
  auto next = std::ranges::begin(calls);
  const auto end = std::ranges::end(calls);
  if (next == end) throw std::invalid_argument("takt::invoke_any: there are no callables");
  completion_queue<result> done(executor);
  struct at_last {
    completion_queue<result>& queue;
    ~at_last() { queue.discard(); }
  } const discard{done};
  std::exception_ptr error;
  for (;;) {
    std::optional<future<result>> ended = done.try_take();
    if (!ended && next != end && !detail::wait_is_over(time, deadline, stop)) {
      done.submit(detail::pass_call<Calls>(next));
      ++next;
      continue;
    }
    if (!ended && next == end) {
      if (done.empty()) break;  // all have failed
      ended = done.take_until(deadline, stop);
    }
    if (!ended) {
      if (stop.stop_requested()) throw wait_stopped();
      throw timeout_error();
    }
    if (ended->state().has_value()) return ended->get();
    error = ended->state().take_error();
  }
  if (error == nullptr) throw cancelled();
  std::rethrow_exception(error);
}

/// As above, with a time-out.
template <class Rep, class Period, detail::callable_range Calls>
auto invoke_any_for(std::chrono::duration<Rep, Period> timeout, any_executor executor,
                    Calls&& calls, const sync::stop_token& stop = {})
    -> detail::range_result<Calls> {
  const auto deadline =
      deadline_after(executor.future_options().time->now(), to_nanoseconds(timeout));
  return takt::invoke_any_until(deadline, executor, std::forward<Calls>(calls), stop);
}

/// As above, without a deadline.
template <detail::callable_range Calls>
auto invoke_any(any_executor executor, Calls&& calls, const sync::stop_token& stop = {})
    -> detail::range_result<Calls> {
  return takt::invoke_any_until(clock::time_point::max(), executor, std::forward<Calls>(calls),
                                stop);
}

}  // namespace takt::inline TAKT_ABI

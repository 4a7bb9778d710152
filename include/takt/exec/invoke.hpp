/// \file
/// Many callables at once: all of them, or the first that succeeds.
///
/// The callables are a range of anything that submit() takes. Those of a container that is given
/// away are moved from, all others are copied.
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

/// A callable of a range, decayed.
template <class Calls>
using range_call = std::decay_t<std::ranges::range_reference_t<Calls>>;

/// A range of callables that can be submitted.
template <class Calls>
concept callable_range =
    std::ranges::input_range<Calls> &&
    (takes_stop_token<range_call<Calls>&&> || std::is_invocable_v<range_call<Calls>&&>);

/// What they give.
template <class Calls>
using range_result = typename task_result<range_call<Calls>&&>::type;

/// How the callable at `at` is passed on: moved if the range was given away and is no view, else
/// copied.
template <class Calls, class Iterator>
[[nodiscard]] decltype(auto) pass_call(Iterator& at) {
  if constexpr (std::is_lvalue_reference_v<Calls> ||
                std::ranges::view<std::remove_cvref_t<Calls>>) {
    return *at;
  } else {
    return std::ranges::iter_move(at);
  }
}

/// Whether there is nothing left to wait for: stop is requested, or the deadline has come.
[[nodiscard]] inline bool wait_is_over(const clock& time, clock::time_point deadline,
                                       const sync::stop_token& stop) {
  return stop.stop_requested() || (deadline != clock::time_point::max() && time.now() >= deadline);
}

}  // namespace detail

/// Has an executor run all callables of a range, and waits until they have ended, or until the
/// deadline, by the clock of the executor, or until stop is requested. What has not ended then is
/// cancelled; callables that are not submitted by then are not submitted, and their futures are
/// cancelled, too.
///
/// \code
/// std::vector<std::function<page()>> fetches = ...;
/// for (takt::future<page>& p : takt::invoke_all_for(2s, pool, fetches)) {
///   if (!p.is_cancelled()) show(p.get());
/// }
/// \endcode
///
/// What is cancelled while it runs goes on until it heeds its token; cancel_and_join() on its
/// future waits for that.
/// \return their futures, in their order, all ready.
/// \throws takt::rejected, std::invalid_argument if one is empty, and what else a submission may
/// throw; std::system_error (resource_deadlock_would_occur) if this is called within a task and
/// would wait for ever. Those that were submitted before are cancelled, and those of them that had
/// begun are waited for.
template <detail::callable_range Calls>
[[nodiscard]] std::vector<future<detail::range_result<Calls>>> invoke_all_until(
    clock::time_point deadline, any_executor where, Calls&& calls,
    const sync::stop_token& stop = {}) {
  using result = detail::range_result<Calls>;
  const future_options options = where.future_options();
  struct submitted {
    std::vector<future<result>> futures;
    ~submitted() {
      cancel();
      for (future<result>& f : futures) {
        if (f.valid()) f.cancel_and_join();
      }
    }
    void cancel() noexcept {
      // The last first, so that no thread begins what is to be cancelled next.
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
      f = where.submit(detail::pass_call<Calls>(at));
    }
  }
  for (const future<result>& f : all.futures) {
    if (f.wait_until(deadline, stop)) continue;
    all.cancel();
    f.wait();  // if its end is just being delivered
  }
  return std::exchange(all.futures, {});
}

/// As above, for that long at most.
template <class Rep, class Period, detail::callable_range Calls>
[[nodiscard]] auto invoke_all_for(std::chrono::duration<Rep, Period> timeout, any_executor where,
                                  Calls&& calls, const sync::stop_token& stop = {}) {
  const auto deadline = deadline_after(where.future_options().time->now(), to_nanoseconds(timeout));
  return takt::invoke_all_until(deadline, where, std::forward<Calls>(calls), stop);
}

/// As above, without a deadline.
template <detail::callable_range Calls>
[[nodiscard]] auto invoke_all(any_executor where, Calls&& calls,
                              const sync::stop_token& stop = {}) {
  return takt::invoke_all_until(clock::time_point::max(), where, std::forward<Calls>(calls), stop);
}

/// Has an executor run callables of a range, one of which is enough: waits until one has given a
/// value, and cancels the others. They are submitted one after the other, until a value is there:
/// an executor that runs them at once runs no more than it takes.
///
/// \code
/// std::vector<std::function<page(std::stop_token)>> mirrors = ...;
/// page first = takt::invoke_any_for(2s, pool, mirrors);
/// \endcode
///
/// The others are not waited for: what they refer to has to outlive them, so let them own it. Who
/// wants to wait for them uses a completion_queue. Their errors are reported to nobody.
/// \return the first value.
/// \throws the error of the last that failed, if all have; takt::cancelled if that one was
/// cancelled. takt::timeout_error if there is no value at the deadline, by the clock of the
/// executor; takt::wait_stopped if there is none when stop is requested. std::invalid_argument if
/// there are no callables, or one is empty; takt::rejected, and what else a submission may throw;
/// std::system_error (resource_deadlock_would_occur) if this is called within a task and would wait
/// for ever. In any case all are cancelled that have not ended.
template <detail::callable_range Calls>
detail::range_result<Calls> invoke_any_until(clock::time_point deadline, any_executor where,
                                             Calls&& calls, const sync::stop_token& stop = {}) {
  using result = detail::range_result<Calls>;
  const clock& time = *where.future_options().time;
  auto next = std::ranges::begin(calls);
  const auto end = std::ranges::end(calls);
  if (next == end) throw std::invalid_argument("takt::invoke_any: there are no callables");
  completion_queue<result> done(where);
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

/// As above, for that long at most.
template <class Rep, class Period, detail::callable_range Calls>
auto invoke_any_for(std::chrono::duration<Rep, Period> timeout, any_executor where, Calls&& calls,
                    const sync::stop_token& stop = {}) -> detail::range_result<Calls> {
  const auto deadline = deadline_after(where.future_options().time->now(), to_nanoseconds(timeout));
  return takt::invoke_any_until(deadline, where, std::forward<Calls>(calls), stop);
}

/// As above, without a deadline.
template <detail::callable_range Calls>
auto invoke_any(any_executor where, Calls&& calls, const sync::stop_token& stop = {})
    -> detail::range_result<Calls> {
  return takt::invoke_any_until(clock::time_point::max(), where, std::forward<Calls>(calls), stop);
}

}  // namespace takt::inline TAKT_ABI

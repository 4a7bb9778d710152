/// \file
/// Time-outs of futures.
#pragma once

#include <utility>

#include <takt/base/config.hpp>
#include <takt/sched/detail/timeout_state.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {

/// Limits the wait for `source`. \return a future that gets the result of `source` if that is ready
/// at the deadline. Otherwise `source` is cancelled, and the future fails with takt::timeout_error.
///
/// \code
/// takt::future<reply> answer = takt::with_timeout(200ms, timers, client.ask(question));
/// try {
///   use(answer.get());
/// } catch (const takt::timeout_error&) {
///   use_cached();
/// }
/// \endcode
///
/// The time-out is a task of `timers`, and late if all threads of `timers` are busy: do not pass
/// the pool that runs `source`. A source that is already ready is returned as it is.
///
/// **Cancellation.** Cancelling the returned future cancels `source` and the timer. Neither a
/// cancellation nor a time-out waits for the body of `source`; nor does cancel_and_join() of the
/// returned future.
///
/// **Shutdown.** If the scheduler drops the timer, `source` and the returned future are cancelled.
///
/// **Cost.** One allocation in addition to the timer's. See docs/scheduling.md.
///
/// \throws takt::rejected if the scheduler is shut down or has no thread; std::bad_alloc;
/// std::future_error (no_state) if `source` is empty. If it throws, `source` is unchanged.
template <class T>
[[nodiscard]] future<T> with_timeout(due_time due, scheduler& timers, future<T>&& source) {
  if (source.is_ready()) return std::move(source);
  const detail::intrusive_ptr<detail::timeout_state<T>> made(
      new detail::timeout_state<T>(std::move(source)));
  made->start(due, timers, source);
  made->retain();
  return future<T>(detail::intrusive_ptr<detail::future_state<T>>(made.get()));
}
/// As above, for a temporary such as wheel_scheduler::on(), which is used only during the call.
template <class T>
[[nodiscard]] future<T> with_timeout(due_time due, scheduler&& timers, future<T>&& source) {
  return with_timeout(due, timers, std::move(source));
}

}  // namespace takt::inline TAKT_ABI

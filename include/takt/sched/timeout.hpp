/// \file
/// A limit to how long one waits for a future.
#pragma once

#include <utility>

#include <takt/base/config.hpp>
#include <takt/sched/detail/timeout_state.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {

/// The result of `source`, if it is there in time; if not, `source` is cancelled, and the future
/// that is returned throws takt::timeout_error.
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
/// **When** is as for scheduler: a duration from now on, or a time of its clock. The time-out is a
/// task of that scheduler, and late if all its threads are busy; if it is `source` that keeps them
/// busy, it comes when that has ended by itself. So do not take the pool that runs `source`:
/// scheduled_pool::single() will do for any number of time-outs. A source that is ready already is
/// returned as it is, whatever the time.
///
/// **Cancelling** the returned future cancels `source`. What it gives says nothing of the body of
/// `source`, and cancel_and_join() does not wait for that: if it refers to what is about to be
/// destroyed, it has to be joined by other means. The same goes for a time-out.
///
/// When `source` is ready, or the future is cancelled, the timer leaves the scheduler at once.
/// Values and errors that come too late are dropped.
///
/// **Thread safety**: as for the scheduler and for a future. **Destruction** of the returned future
/// neither waits nor cancels: `source` is still cancelled in time, and the time-out then an error
/// that nobody has looked at.
///
/// **Shutdown**: a scheduler that is shut down waits for the time-out as for any delayed task. If
/// it drops it, for one of the reasons that its class names, `source` and the returned future are
/// cancelled: nobody goes on waiting without the limit that was asked for. One that
/// shutdown_now() gave back is a time-out when it is run.
///
/// **Cost**: one allocation beside the timer, which has none of its own in steady state.
///
/// \throws takt::rejected if the scheduler is shut down or has no thread; std::bad_alloc;
/// std::future_error (no_state) if `source` is empty. If it throws, `source` is as it was.
template <class T>
[[nodiscard]] future<T> with_timeout(due_time due, scheduler& timers, future<T>&& source) {
  if (source.is_ready()) return std::move(source);
  const detail::intrusive_ptr<detail::timeout_state<T>> made(
      new detail::timeout_state<T>(std::move(source)));
  made->start(due, timers, source);
  made->retain();
  return future<T>(detail::intrusive_ptr<detail::future_state<T>>(made.get()));
}
/// The same: `timers` is used within the call only, so that a wheel_scheduler::on() will do.
template <class T>
[[nodiscard]] future<T> with_timeout(due_time due, scheduler&& timers, future<T>&& source) {
  return with_timeout(due, timers, std::move(source));
}

}  // namespace takt::inline TAKT_ABI

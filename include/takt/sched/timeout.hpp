/// \file
/// A limit to how long one waits for a future.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_state.hpp>

namespace takt::inline TAKT_ABI {

/// What with_timeout() returns the future of. It is the continuation of its source; a timer of the
/// scheduler has a reference to it.
///
/// Three things may end it, and the first takes it out of `pending`, alone: the source is ready
/// (begin()), the timer ends (claim()), it is cancelled (future_core::cancel()). That one also ends
/// the other two. `source_` stays until the end: whoever comes too late may look at it.
template <class T>
class timeout_state final : public future_state<T>, public continuation {
 public:
  explicit timeout_state(future<T>&& source)
      : future_state<T>(source.state().options()), source_(std::move(source)) {}

  /// If it throws, the source is in `source` again, as it was.
  void start(when due, scheduler& timers, future<T>& source) {
    this->retain();
    try {
      timer_ = timers.execute(due, expiry(*this), {.name = "takt::with_timeout"});
    } catch (...) {
      source = std::move(source_);
      throw;
    }
    if (is_second()) end(nullptr);
    this->retain();  // for the continuation
    source_.state().set_continuation(*this);
  }

 private:
  // The task of the timer: run in time, or dropped.
  class expiry {
   public:
    // Takes over a reference.
    explicit expiry(timeout_state& owner) noexcept : owner_(&owner) {}
    expiry(expiry&&) noexcept = default;
    expiry& operator=(expiry&&) = delete;
    ~expiry() {
      if (owner_ && owner_->is_second()) owner_->end(nullptr);
    }
    void operator()() && {
      const state_ref<timeout_state> owner = std::move(owner_);
      owner->end(std::make_exception_ptr(wait_timed_out()));
    }

   private:
    state_ref<timeout_state> owner_;
  };

  // A timer that is dropped ends the future, but not if that is because it was rejected: so the
  // second of the two does it, of who drops the timer and who has started it.
  bool is_second() noexcept {
    return half_.exchange(true, std::memory_order_acq_rel);  // acq_rel: source_, for end()
  }

  // The time is over, or, if `error` is null, will not be told.
  void end(std::exception_ptr error) noexcept {
    if (!this->claim()) return;
    source_.state().cancel();
    if (error != nullptr) {
      this->publish_error(std::move(error));
    } else {
      this->publish_cancelled();
    }
  }

  void on_ready() noexcept override {
    const state_ref<future_core> mine(this);
    future_state<T>& source = source_.state();
    if (!this->begin()) {  // what comes too late is dropped
      if (!source.has_value()) static_cast<void>(source.take_error());
      return;
    }
    timer_.cancel();
    if (source.has_value()) {
      this->run_body([&]() -> T { return source.take(); });
    } else {
      this->finish_like(source);
    }
  }

  void leave_queue() noexcept override {
    timer_.cancel();
    source_.state().cancel();
  }

  // Constant after start().
  future<T> source_;
  timer_handle timer_;  // not for the timer itself, which may be quicker

  // Atomic. Written by who has started the timer, and who drops it unrun.
  sync::atomic<bool> half_{false};
};

/// The result of `source`, if it is there in time; if not, `source` is cancelled, and the future
/// that is returned throws takt::wait_timed_out.
///
/// \code
/// takt::future<reply> answer = takt::with_timeout(200ms, timers, client.ask(question));
/// try {
///   use(answer.get());
/// } catch (const takt::wait_timed_out&) {
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
[[nodiscard]] future<T> with_timeout(when due, scheduler& timers, future<T>&& source) {
  if (source.is_ready()) return std::move(source);
  const state_ref<timeout_state<T>> made(new timeout_state<T>(std::move(source)));
  made->start(due, timers, source);
  made->retain();
  return future<T>(state_ref<future_state<T>>(made.get()));
}
/// The same: `timers` is used within the call only, so that a wheel_scheduler::on() will do.
template <class T>
[[nodiscard]] future<T> with_timeout(when due, scheduler&& timers, future<T>&& source) {
  return with_timeout(due, timers, std::move(source));
}

}  // namespace takt::inline TAKT_ABI

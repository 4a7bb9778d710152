/// \file
/// The shared state of the future that with_timeout() returns.
#pragma once

#include <exception>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_ptr.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/sched/scheduler.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

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
  void start(due_time due, scheduler& timers, future<T>& source) {
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
      const intrusive_ptr<timeout_state> owner = std::move(owner_);
      owner->end(std::make_exception_ptr(timeout_error()));
    }

   private:
    intrusive_ptr<timeout_state> owner_;
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
    const intrusive_ptr<future_core> mine(this);
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

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

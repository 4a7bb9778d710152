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

/// State of the future that with_timeout() returns. It is the continuation of its source; the task
/// of a timer has a reference to it.
///
/// Three events can complete it: the source becomes ready (begin()), the timer expires or is
/// dropped (claim()), or the future is cancelled (future_core::cancel()). The first event alone
/// takes it out of `pending`, and ends the other two. The losers still access `source_`, which
/// stays until destruction.
template <class T>
class timeout_state final : public future_state<T>, public continuation {
 public:
  explicit timeout_state(future<T>&& source)
      : future_state<T>(source.state().options()), source_(std::move(source)) {}

  /// If it throws, `source` has the unchanged source again.
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
  // The task of the timer, which expires when it runs. Destroyed before that, it was dropped.
  class expiry {
   public:
    // Adopts a reference.
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

  // A timer that is dropped ends the future; but not if it is dropped because it was rejected, when
  // start() throws. Therefore the second of start() and the drop ends it.
  bool is_second() noexcept {
    return half_.exchange(true, std::memory_order_acq_rel);  // acq_rel: publishes source_ to end()
  }

  // The timer has expired, or, if `error` is null, was dropped.
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
    if (!this->begin()) {  // too late: the result is dropped
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
  timer_handle timer_;  // not used by the timer's task, which may run before it is set

  // Atomic. Written by start(), and when the timer's task is dropped.
  sync::atomic<bool> half_{false};
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

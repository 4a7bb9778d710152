/// \file
/// Something that can be given up, once.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/rx/detail/subscription_core.hpp>
#include <takt/task/future.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// A handle of something that can be given up: a task, a registration, or many of them together.
///
/// \code
/// takt::rx::subscription s{[&] { socket.close(); }};
/// s.add([&] { log("closed"); });     // after that
/// s.add(other);                      // and that one is unsubscribed, too
///
/// s.unsubscribe();                   // all of it, in this order; a second call does nothing
/// \endcode
///
/// It is open until unsubscribe(), and then closed for ever. What is added to it is unsubscribed
/// with it, in the order in which it was added; what is added to a closed one, at once, by who adds
/// it. If that closes earlier, it leaves by itself: nothing is kept of it. So every subscription is
/// a list; composite adds what takes its children out again.
///
/// A handle is a name: copies name the same subscription, and dropping them does not unsubscribe,
/// but the last one gives up what was added, and destroys the callback without calling it;
/// scoped_subscription unsubscribes.
///
/// **Errors.** All is called, even if some of it throws. Then unsubscribe() throws that error, or
/// an aggregate_error if there are several. If nobody could catch it, in a destructor or a
/// stop callback, it goes to an unhandled hook.
///
/// **Thread safety**: const members from any thread, also several at once; all of them may be
/// called by what is being unsubscribed. The callback runs on the thread that unsubscribes, outside
/// of all locks. A second unsubscribe() that comes meanwhile does not wait for the first.
class subscription {
 public:
  /// Closed.
  subscription() noexcept = default;
  /// Open; calls `f`, decayed, when it is unsubscribed. \throws std::invalid_argument if `f` is
  /// null or empty.
  template <class F>
    requires(!std::is_base_of_v<subscription, std::remove_cvref_t<F>> &&
             detail::callable_once<std::decay_t<F>>)
  subscription(F&& f) {  // NOLINT(google-explicit-constructor): as what is added
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::rx::subscription: the callback is empty");
    core_ = new detail::callback_core<call>(std::in_place, std::forward<F>(f));
  }
  /// Open; nothing happens when it is unsubscribed.
  [[nodiscard]] static subscription empty();
  /// Closed, because it was refused.
  [[nodiscard]] static subscription rejected() noexcept {
    subscription refused;
    refused.rejected_ = true;
    return refused;
  }

  subscription(const subscription& other) noexcept
      : core_(other.core_), rejected_(other.rejected_) {
    if (core_ != nullptr) core_->own();
  }
  subscription(subscription&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)),
        rejected_(std::exchange(other.rejected_, false)) {}
  subscription& operator=(subscription other) noexcept {
    swap(other);
    return *this;
  }
  ~subscription() {
    if (core_ != nullptr) core_->disown();
  }
  void swap(subscription& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(rejected_, other.rejected_);
  }

  /// Closes it, and calls what there is to call, unless that has been done. \throws what that
  /// throws.
  void unsubscribe() const {
    if (core_ != nullptr) core_->unsubscribe();
  }
  /// Whether unsubscribe() has been called, or what it stands for has come to its end.
  [[nodiscard]] bool is_unsubscribed() const noexcept {
    return core_ == nullptr || core_->is_unsubscribed();
  }
  /// Whether it is closed because a worker or its executor has not taken the task.
  [[nodiscard]] bool is_rejected() const noexcept {
    return rejected_ || (core_ != nullptr && core_->is_rejected());
  }

  /// Has another one, or a callback, unsubscribed with this; at once, if this is closed. Nothing
  /// happens if the other one is closed, is there already, or is this.
  /// \throws std::bad_alloc; what unsubscribing throws.
  void add(const subscription& child) const;

  /// Whether both name the same subscription. All that never had anything to unsubscribe are equal.
  friend bool operator==(const subscription& a, const subscription& b) noexcept {
    return a.core_ == b.core_;
  }

  /// For the rx module: takes over an owner.
  explicit subscription(detail::subscription_core& owned) noexcept : core_(&owned) {}
  [[nodiscard]] detail::subscription_core* core() const noexcept { return core_; }

 private:
  detail::subscription_core* core_ = nullptr;  // owned; null: closed
  bool rejected_ = false;
};

/// A subscription that is unsubscribed when its owner goes.
///
/// \code
/// class view {
///   ...
///   takt::rx::scoped_subscription closed_{bus.on_close([] { log("closed"); })};
/// };
/// \endcode
///
/// **Thread safety**: as for a unique_ptr. **Destruction** unsubscribes, and does not wait: a task
/// that runs goes on. If it refers to its owner, keep its task_subscription instead, and
/// cancel_and_join() in the destructor. What unsubscribing throws goes to the hook.
class [[nodiscard]] scoped_subscription {
 public:
  scoped_subscription() noexcept = default;
  explicit scoped_subscription(subscription s,
                               const unhandled_hook& hook = terminate_on_unhandled) noexcept
      : held_(std::move(s)), hook_(&hook) {}
  scoped_subscription(scoped_subscription&& other) noexcept
      : held_(other.release()), hook_(other.hook_) {}
  scoped_subscription& operator=(scoped_subscription&& other) noexcept {
    if (this != &other) {
      end();
      held_ = other.release();
      hook_ = other.hook_;
    }
    return *this;
  }
  ~scoped_subscription() { end(); }

  [[nodiscard]] const subscription& get() const noexcept { return held_; }
  const subscription* operator->() const noexcept { return &held_; }
  /// Gives it away, as it is.
  [[nodiscard]] subscription release() noexcept { return std::exchange(held_, subscription()); }

 private:
  void end() noexcept {
    if (held_.core() != nullptr) held_.core()->unsubscribe(*hook_);
  }

  subscription held_;
  const unhandled_hook* hook_ = &terminate_on_unhandled;
};

/// Unsubscribes `s` when stop is requested; at once, if it has been. What that throws goes to the
/// hook, which has to live as long as `s` is open. When `s` is closed, the token is let go of. It
/// is something that is added to `s`, as is token_of(): if that is a composite, size() counts it,
/// and clear() takes it out.
void unsubscribe_on(sync::stop_token stop, const subscription& s,
                    const unhandled_hook& hook = terminate_on_unhandled);

/// A token whose stop is requested when `s` is unsubscribed.
[[nodiscard]] sync::stop_token token_of(const subscription& s);

/// A subscription that requests stop when it is unsubscribed.
[[nodiscard]] subscription stop_on_unsubscribe(sync::stop_source source);

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// A handle to something that can be cancelled once.
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

/// A handle to something that can be cancelled once: a task, a registration, or a group of them.
///
/// \code
/// takt::rx::subscription s{[&] { socket.close(); }};
/// s.add([&] { log("closed"); });     // called after the callback
/// s.add(other);                      // unsubscribed last
///
/// s.unsubscribe();                   // all three, in this order; later calls do nothing
/// \endcode
///
/// A subscription is open until unsubscribe(), and then closed permanently. unsubscribe() calls the
/// callback, and then unsubscribes the children in the order of add(). A child that closes earlier
/// leaves its parents.
///
/// Copies of a handle name the same subscription. Dropping handles does not unsubscribe: when the
/// last owner (handle or parent) drops a subscription, its children are released, and its callback
/// is destroyed without being called. A scoped_subscription unsubscribes in its destructor.
///
/// **Errors.** Every callback is called, even if others throw. unsubscribe() then throws the error,
/// or an aggregate_error if there are several.
///
/// **Thread safety.** Const members may be called from any thread, concurrently, and by callbacks.
/// Callbacks run on the unsubscribing thread, with no lock held. A second, concurrent unsubscribe()
/// returns at once. See docs/rx.md.
class subscription {
 public:
  /// Creates a closed subscription.
  subscription() noexcept = default;
  /// Creates an open subscription that calls `f`, decayed, when it is unsubscribed.
  /// \throws std::invalid_argument if `f` is null or empty; std::bad_alloc.
  template <class F>
    requires(!std::is_base_of_v<subscription, std::remove_cvref_t<F>> &&
             detail::callable_once<std::decay_t<F>>)
  subscription(F&& f) {  // NOLINT(google-explicit-constructor): for add(f)
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::rx::subscription: the callback is empty");
    core_ = new detail::callback_core<call>(std::in_place, std::forward<F>(f));
  }
  /// Returns an open subscription without a callback. \throws std::bad_alloc.
  [[nodiscard]] static subscription empty();
  /// Returns a closed subscription that is_rejected().
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

  /// Closes the subscription, calls its callback and unsubscribes its children. Does nothing if it
  /// is closed.
  /// \throws what callbacks throw, after all of them have been called.
  void unsubscribe() const {
    if (core_ != nullptr) core_->unsubscribe();
  }
  /// Returns true if the subscription is closed: by construction, by unsubscribe(), or because the
  /// task, action or worker behind it has closed.
  [[nodiscard]] bool is_unsubscribed() const noexcept {
    return core_ == nullptr || core_->is_unsubscribed();
  }
  /// Returns true if the subscription is closed because a worker, a scheduler or an executor has
  /// rejected the task.
  [[nodiscard]] bool is_rejected() const noexcept {
    return rejected_ || (core_ != nullptr && core_->is_rejected());
  }

  /// Adds a child, to be unsubscribed with this subscription; if this is closed, unsubscribes the
  /// child at once. Does nothing if the child is closed, was added already, or is this subscription
  /// itself. add(f) adds a new subscription with the callback `f`.
  /// \throws std::bad_alloc; what unsubscribing the child throws.
  void add(const subscription& child) const;

  /// Returns true if both handles name the same subscription. Handles that name none (closed by
  /// construction, or moved from) are equal.
  friend bool operator==(const subscription& a, const subscription& b) noexcept {
    return a.core_ == b.core_;
  }

  /// For the rx module: takes over one ownership.
  explicit subscription(detail::subscription_core& owned) noexcept : core_(&owned) {}
  [[nodiscard]] detail::subscription_core* core() const noexcept { return core_; }

 private:
  detail::subscription_core* core_ = nullptr;  // owned; null: closed
  bool rejected_ = false;
};

/// Unsubscribes a subscription in its destructor.
///
/// \code
/// class view {
///   ...
///   takt::rx::scoped_subscription closed_{bus.on_close([] { log("closed"); })};
/// };
/// \endcode
///
/// **Destruction** unsubscribes and does not wait: a running task continues. If the task refers to
/// the object that owns the scoped_subscription, keep the task_subscription instead, and call
/// cancel_and_join() in the destructor.
///
/// **Errors** of callbacks go to the hook, which must outlive this object.
///
/// **Thread safety**: as for std::unique_ptr.
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

  /// Returns the held subscription.
  [[nodiscard]] const subscription& get() const noexcept { return held_; }
  const subscription* operator->() const noexcept { return &held_; }
  /// Returns the subscription without unsubscribing it; this object keeps a closed one.
  [[nodiscard]] subscription release() noexcept { return std::exchange(held_, subscription()); }

 private:
  void end() noexcept {
    if (held_.core() != nullptr) held_.core()->unsubscribe(*hook_);
  }

  subscription held_;
  const unhandled_hook* hook_ = &terminate_on_unhandled;
};

/// Unsubscribes `s` when stop is requested, or at once if stop has been requested already. Errors
/// go to the hook, which must live as long as `s` is open. The stop callback is removed when `s`
/// closes.
///
/// The stop callback is a child of `s`: in a composite_subscription, size() counts it, and clear()
/// removes it; stop then no longer unsubscribes `s`. \throws std::bad_alloc.
void unsubscribe_on(sync::stop_token stop, const subscription& s,
                    const unhandled_hook& hook = terminate_on_unhandled);

/// Returns a token on which stop is requested when `s` is unsubscribed; at once if `s` is closed.
/// Adds a child to `s`, as unsubscribe_on() does: clear() of a composite_subscription requests
/// stop, too. \throws std::bad_alloc.
[[nodiscard]] sync::stop_token token_of(const subscription& s);

/// Returns a subscription that requests stop of `source` when it is unsubscribed.
/// \throws std::bad_alloc.
[[nodiscard]] subscription stop_on_unsubscribe(sync::stop_source source);

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

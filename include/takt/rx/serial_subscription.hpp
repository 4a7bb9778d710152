/// \file
/// Holders of one subscription at a time.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// A subscription that holds another one: unsubscribe() unsubscribes both. The common base of
/// serial_subscription and assignable_subscription. Copies name the same slot.
///
/// **Errors** and **thread safety**: as for subscription.
class subscription_slot : public subscription {
 public:
  /// Holds `next` instead of the current subscription; if this is closed, unsubscribes `next`. Does
  /// nothing if `next` is this subscription. \throws what unsubscribing throws.
  void set(const subscription& next) const;
  /// Returns the current subscription; a closed one if there is none or this is closed.
  [[nodiscard]] subscription get() const;

 protected:
  explicit subscription_slot(bool unsubscribes_previous);
};

/// Holds one subscription; set() unsubscribes the previous one.
///
/// \code
/// takt::rx::serial_subscription request;
/// request.set(fetch(first));
/// request.set(fetch(second));    // unsubscribes the first
/// request.unsubscribe();         // unsubscribes the second; set() unsubscribes later ones at once
/// \endcode
///
/// Everything else is as for subscription.
class serial_subscription final : public subscription_slot {
 public:
  serial_subscription() : subscription_slot(true) {}
};

/// Holds one subscription; set() leaves the previous one open. RxJava calls this a
/// MultipleAssignmentSubscription.
///
/// \code
/// takt::rx::assignable_subscription step;
/// step.set(worker.schedule(first));
/// step.set(worker.schedule(second));   // the first stays open
/// step.unsubscribe();                  // unsubscribes the second
/// \endcode
///
/// Everything else is as for subscription.
class assignable_subscription final : public subscription_slot {
 public:
  assignable_subscription() : subscription_slot(false) {}
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

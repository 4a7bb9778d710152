/// \file
/// One subscription at a time.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// What serial and assignable have in common: a place for one subscription. Made by these.
///
/// **Thread safety** and errors: as for subscription. Copies name the same place.
class subscription_slot : public subscription {
 public:
  /// Puts `next` in the place of what is there; if this is closed, unsubscribes `next`.
  /// \throws what unsubscribing throws.
  void set(const subscription& next) const;
  /// What is there; a closed one if there is none, or this is closed.
  [[nodiscard]] subscription get() const;

 protected:
  explicit subscription_slot(bool unsubscribes_previous);
};

/// A place for one subscription: who puts another one there unsubscribes the one before.
///
/// \code
/// takt::rx::serial_subscription request;
/// request.set(fetch(first));
/// request.set(fetch(second));    // the first one is given up
/// request.unsubscribe();         // and now the second, and whatever comes later
/// \endcode
///
/// The rest is as for subscription.
class serial_subscription final : public subscription_slot {
 public:
  serial_subscription() : subscription_slot(true) {}
};

/// A place for one subscription: who puts another one there leaves the one before alone. RxJava
/// calls it MultipleAssignmentSubscription.
///
/// \code
/// takt::rx::assignable_subscription step;
/// step.set(worker.schedule(first));
/// step.set(worker.schedule(second));   // the first one goes on
/// step.unsubscribe();                  // the second does not
/// \endcode
///
/// The rest is as for subscription.
class assignable_subscription final : public subscription_slot {
 public:
  assignable_subscription() : subscription_slot(false) {}
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// A subscription shared by several users.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Unsubscribes its main subscription once it is closed itself and every subscription that get()
/// returned is closed.
///
/// \code
/// takt::rx::refcount_subscription shared{connection};
/// takt::rx::subscription a = shared.get();
/// takt::rx::subscription b = shared.get();
///
/// shared.unsubscribe();      // get() returns closed subscriptions from now on
/// a.unsubscribe();
/// b.unsubscribe();           // the last one: unsubscribes `connection`
/// \endcode
///
/// A subscription from get() whose handles are dropped without unsubscribing counts as open
/// forever. Everything else is as for subscription.
class refcount_subscription final : public subscription {
 public:
  /// Unsubscribes `main` when the last user has unsubscribed.
  explicit refcount_subscription(const subscription& main);

  /// Returns a subscription that keeps the main one open; a closed one if this is closed.
  [[nodiscard]] subscription get() const;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

/// \file
/// A subscription shared by several users.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Shares a main subscription between users: get() returns a subscription for each of them. The
/// main subscription is unsubscribed once this subscription and all of its users are closed.
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
/// A user whose handles are dropped without unsubscribing counts as open forever. Everything else
/// is as for subscription.
class refcount_subscription final : public subscription {
 public:
  /// Creates an open subscription that owns `main`. \throws std::bad_alloc.
  explicit refcount_subscription(const subscription& main);

  /// Returns an open subscription that counts as a user; a closed one if this is closed.
  /// \throws std::bad_alloc.
  [[nodiscard]] subscription get() const;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

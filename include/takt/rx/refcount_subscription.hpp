/// \file
/// A subscription that many share.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Unsubscribes its main subscription when it is closed and none of those that get() gave is open.
///
/// \code
/// takt::rx::refcount_subscription shared{connection};
/// takt::rx::subscription a = shared.get();
/// takt::rx::subscription b = shared.get();
///
/// shared.unsubscribe();      // gives out no more
/// a.unsubscribe();
/// b.unsubscribe();           // now `connection` is unsubscribed
/// \endcode
///
/// The rest is as for subscription; one that get() gave and whose handles are dropped without
/// unsubscribing counts as open for ever.
class refcount_subscription final : public subscription {
 public:
  explicit refcount_subscription(const subscription& main);

  /// One more that keeps the main one; a closed one, if this is closed.
  [[nodiscard]] subscription get() const;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

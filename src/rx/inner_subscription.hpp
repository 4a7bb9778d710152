/// Shared by the overrides of subscription_core::take_inner().
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/detail/subscription_core.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Moves the subscription out of `held`, and transfers its ownership to the caller of take_inner()
/// by `link`. \return null if `held` names none.
inline detail::subscription_link* give_inner(subscription& held,
                                             detail::subscription_link& link) noexcept {
  if (held.core() == nullptr) return nullptr;
  link.child = held.core();
  link.child->own();
  held = subscription();
  return &link;
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

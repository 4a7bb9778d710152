/// What overrides of subscription_core::take_inner() have in common.
#pragma once

#include <takt/base/config.hpp>
#include <takt/rx/detail/subscription_core.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Empties `held` and gives its ownership to the caller of take_inner(), by `link`. Null if nothing
/// was held.
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

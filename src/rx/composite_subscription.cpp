#include <takt/rx/composite_subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

composite_subscription::composite_subscription(std::initializer_list<subscription> children)
    : composite_subscription() {
  for (const subscription& child : children) add(child);
}

bool composite_subscription::remove(const subscription& child) const {
  if (!release(child)) return false;
  child.unsubscribe();
  return true;
}

bool composite_subscription::release(const subscription& child) const noexcept {
  return core() != nullptr && child.core() != nullptr && core()->take_out(*child.core());
}

void composite_subscription::clear() const {
  if (core() != nullptr) core()->clear();
}

std::size_t composite_subscription::size() const noexcept {
  return core() == nullptr ? 0 : core()->size();
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

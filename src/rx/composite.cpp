#include <takt/rx/composite.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

composite::composite(std::initializer_list<subscription> children) : composite() {
  for (const subscription& child : children) add(child);
}

bool composite::remove(const subscription& child) const {
  if (!release(child)) return false;
  child.unsubscribe();
  return true;
}

bool composite::release(const subscription& child) const noexcept {
  return core() != nullptr && child.core() != nullptr && core()->take_out(*child.core());
}

void composite::clear() const {
  if (core() != nullptr) core()->clear();
}

std::size_t composite::size() const noexcept { return core() == nullptr ? 0 : core()->size(); }

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

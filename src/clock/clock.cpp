#include <takt/clock/clock.hpp>

namespace takt::inline TAKT_ABI {

steady_clock::time_point steady_clock::now() const noexcept { return sync::clock::now(); }

void steady_clock::park_until(parker& p, time_point deadline) const noexcept {
  static_cast<void>(p.park_until(deadline));
}

system_clock::time_point system_clock::now() const noexcept { return sync::wall_clock::now(); }

void system_clock::park_until(parker& p, time_point deadline) const noexcept {
  static_cast<void>(p.park_until(deadline));
}

}  // namespace takt::inline TAKT_ABI

#include <takt/clock/clock.hpp>

namespace takt::inline TAKT_ABI {

steady_clock::time_point steady_clock::now() const noexcept { return sync::clock::now(); }

bool steady_clock::park_until(parker& p, time_point deadline) const noexcept {
  return p.park_until(deadline);
}

system_clock::time_point system_clock::now() const noexcept { return sync::wall_clock::now(); }

bool system_clock::park_until(parker& p, time_point deadline) const noexcept {
  return p.park_until(deadline);
}

}  // namespace takt::inline TAKT_ABI

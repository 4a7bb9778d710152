#include "peers/takt_wheel_timer_set.hpp"
#include "reschedule.hpp"

bench::numbers bench::reschedule_takt_wheel(const request& asked) {
  return reschedule_with<stamped_by_caller>(asked);
}

bench::numbers bench::reschedule_takt_wheel_unstamped(const request& asked) {
  return reschedule_with<stamped_by_timer>(asked);
}

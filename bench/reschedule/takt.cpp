#include "peers/takt_timer_set.hpp"
#include "reschedule.hpp"

bench::numbers bench::reschedule_takt(const request& asked) {
  return reschedule_with<takt_timer_set<takt::timer_handle>>(asked);
}

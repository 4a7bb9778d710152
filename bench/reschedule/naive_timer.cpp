#include "peers/naive_timer_set.hpp"
#include "reschedule.hpp"

bench::numbers bench::reschedule_naive_timer(const request& asked) {
  return reschedule_with<naive_timer_set>(asked);
}

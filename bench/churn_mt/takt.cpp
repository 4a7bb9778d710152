#include "churn_mt.hpp"
#include "peers/takt_timer_set.hpp"

bench::numbers bench::churn_mt_takt(const request& asked) {
  return churn_mt_with<takt_timer_set<takt::timer_handle>>(asked);
}

#include "churn_mt.hpp"
#include "peers/takt_wheel_timer_set.hpp"

bench::numbers bench::churn_mt_takt_wheel(const request& asked) {
  return churn_mt_with<stamped_by_caller>(asked);
}

bench::numbers bench::churn_mt_takt_wheel_unstamped(const request& asked) {
  return churn_mt_with<stamped_by_timer>(asked);
}

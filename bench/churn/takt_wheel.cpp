#include "churn.hpp"
#include "peers/takt_wheel_timer_set.hpp"

bench::numbers bench::churn_takt_wheel(const request& asked) {
  return churn_with<stamped_by_caller>(asked);
}

bench::numbers bench::churn_takt_wheel_unstamped(const request& asked) {
  return churn_with<stamped_by_timer>(asked);
}

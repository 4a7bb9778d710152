#include "churn.hpp"
#include "peers/takt_timer_set.hpp"

bench::numbers bench::churn_takt(const request& asked) {
  return churn_with<takt_timer_set<takt::timer_handle>>(asked);
}

bench::numbers bench::churn_takt_with_futures(const request& asked) {
  return churn_with<takt_timer_set<takt::scheduled_future<void>>>(asked);
}

#include "churn_mt.hpp"
#include "peers/naive_timer_set.hpp"

bench::numbers bench::churn_mt_naive_timer(const request& asked) {
  return churn_mt_with<naive_timer_set>(asked);
}

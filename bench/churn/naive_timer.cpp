#include "churn.hpp"
#include "peers/naive_timer_set.hpp"

bench::numbers bench::churn_naive_timer(const request& asked) {
  return churn_with<naive_timer_set>(asked);
}

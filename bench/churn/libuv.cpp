#include "churn.hpp"

#if TAKT_BENCH_HAS_UV
#include "peers/libuv_timer_set.hpp"

bench::numbers bench::churn_libuv(const request& asked) {
  return churn_with<libuv_timer_set>(asked);
}
#else
#include "peers/missing.hpp"

bench::numbers bench::churn_libuv(const request& asked) { libuv_missing(asked); }
#endif

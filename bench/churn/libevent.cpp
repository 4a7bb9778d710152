#include "churn.hpp"

#if TAKT_BENCH_HAS_EVENT_CORE
#include "peers/libevent_timer_set.hpp"

bench::numbers bench::churn_libevent(const request& asked) {
  return churn_with<libevent_timer_set>(asked);
}
#else
#include "peers/missing.hpp"

bench::numbers bench::churn_libevent(const request& asked) { libevent_missing(asked); }
#endif

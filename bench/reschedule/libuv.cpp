#include "reschedule.hpp"

#if TAKT_BENCH_HAS_UV
#include "peers/libuv_timer_set.hpp"

bench::numbers bench::reschedule_libuv(const request& asked) {
  return reschedule_with<libuv_timer_set>(asked);
}
#else
#include "peers/missing.hpp"

bench::numbers bench::reschedule_libuv(const request& asked) { libuv_missing(asked); }
#endif

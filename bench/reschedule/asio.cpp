#include "reschedule.hpp"

#if TAKT_BENCH_HAS_ASIO
#include "peers/asio_timer_set.hpp"

bench::numbers bench::reschedule_asio(const request& asked) {
  return reschedule_with<asio_timer_set>(asked);
}
#else
#include "peers/missing.hpp"

bench::numbers bench::reschedule_asio(const request& asked) { asio_missing(asked); }
#endif

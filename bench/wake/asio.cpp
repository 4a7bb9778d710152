#include "wake.hpp"

#if TAKT_BENCH_HAS_ASIO
#include "peers/asio_pool.hpp"

bench::numbers bench::wake_asio(const request& asked) { return wake_in<asio_pool>(asked); }
#else
#include "peers/asio_missing.hpp"

bench::numbers bench::wake_asio(const request&) { asio_missing(); }
#endif

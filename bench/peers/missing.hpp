/// \file
/// Stand-ins for competitors whose library was not found.
#pragma once

#include "harness.hpp"

namespace bench {

[[noreturn]] inline numbers asio_missing(const request&) {
  throw unavailable("asio.hpp was not found when the benchmarks were configured (libasio-dev)");
}

[[noreturn]] inline numbers libevent_missing(const request&) {
  throw unavailable("libevent was not found when the benchmarks were configured (libevent-dev)");
}

[[noreturn]] inline numbers libuv_missing(const request&) {
  throw unavailable("libuv was not found when the benchmarks were configured (libuv1-dev)");
}

[[noreturn]] inline numbers tbb_missing(const request&) {
  throw unavailable("oneTBB was not found when the benchmarks were configured (libtbb-dev)");
}

}  // namespace bench

/// \file
/// Stands in for the competitors that need asio where it was not found.
#pragma once

#include "harness.hpp"

namespace bench {

[[noreturn]] inline numbers asio_missing() {
  throw unavailable("asio.hpp was not found when the benchmarks were configured (libasio-dev)");
}

}  // namespace bench

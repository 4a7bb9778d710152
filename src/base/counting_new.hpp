// For tests: how often this thread has called operator new. Link counting_new.cpp.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

std::size_t allocations() noexcept;

}  // namespace takt::inline TAKT_ABI

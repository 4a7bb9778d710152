/// \file
/// Memory that will be needed soon.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Has the processor fetch the cache line of that address, to be read and written.
///
/// \code
/// for (std::size_t i = 0; i < count; ++i) {
///   if (i + 8 < count) takt::detail::prefetch(entries[i + 8]);
///   use(*entries[i]);
/// }
/// \endcode
///
/// Any address will do, also one where nothing is. **Thread safety**: all.
inline void prefetch(const void* address) noexcept {
  __builtin_prefetch(address, 1);
  // GCC takes a function that only prefetches for one without effect, and leaves out its calls.
  asm volatile("");
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

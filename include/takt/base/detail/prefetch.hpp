/// \file
/// Prefetches memory for writing.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Prefetches the cache line of `address` for reading and writing.
///
/// \code
/// for (std::size_t i = 0; i < count; ++i) {
///   if (i + 8 < count) takt::detail::prefetch(entries[i + 8]);
///   use(*entries[i]);
/// }
/// \endcode
///
/// The address need not be valid. **Thread safety**: any thread.
inline void prefetch(const void* address) noexcept {
  __builtin_prefetch(address, 1);
  // Without this GCC treats the function as having no effect and removes calls to it.
  asm volatile("");
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

// For tests: how often this thread has called operator new and delete, and what happens if there is
// no memory. Link counting_new.cpp.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

// The sanitizers have an operator new of their own, and see more with it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TAKT_FOREIGN_NEW
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAKT_FOREIGN_NEW
#endif

namespace takt::inline TAKT_ABI {

#if defined(TAKT_FOREIGN_NEW)
inline constexpr bool allocations_are_counted = false;
#else
inline constexpr bool allocations_are_counted = true;
#endif

std::size_t allocations() noexcept;
std::size_t deallocations() noexcept;  // null does not count

// While it exists, operator new throws std::bad_alloc on this thread, after so many that succeed,
// if allocations are counted.
class no_memory {
 public:
  explicit no_memory(std::size_t after = 0) noexcept;
  ~no_memory();
  no_memory(const no_memory&) = delete;
  no_memory& operator=(const no_memory&) = delete;
};

}  // namespace takt::inline TAKT_ABI

// Stands at the head of a test that is about nothing but allocations. Include <gtest/gtest.h>: not
// here, for the sake of counting_new.cpp.
#define TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED() \
  if (!takt::allocations_are_counted) GTEST_SKIP() << "operator new is the sanitizer's"

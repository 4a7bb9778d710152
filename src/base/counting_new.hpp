// For tests: counts the calls of operator new and delete on this thread, and lets allocations fail.
// Link counting_new.cpp.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

// The sanitizers replace operator new themselves, and detect more with their own.
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
std::size_t deallocations() noexcept;  // of pointers that are not null

// While it exists, operator new on this thread throws std::bad_alloc after the first `after`
// allocations. No effect unless allocations are counted.
class no_memory {
 public:
  explicit no_memory(std::size_t after = 0) noexcept;
  ~no_memory();
  no_memory(const no_memory&) = delete;
  no_memory& operator=(const no_memory&) = delete;
};

}  // namespace takt::inline TAKT_ABI

// First statement of a test that checks nothing but allocations. The test includes <gtest/gtest.h>;
// this header does not, because counting_new.cpp includes it.
#define TAKT_SKIP_UNLESS_ALLOCATIONS_ARE_COUNTED() \
  if (!takt::allocations_are_counted) GTEST_SKIP() << "the sanitizer replaces operator new"

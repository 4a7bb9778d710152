/// \file
/// Version, the inline namespace around every declaration of takt, the size of a cache line.
#pragma once

#include <cstddef>

#define TAKT_VERSION_MAJOR 0
#define TAKT_VERSION_MINOR 1
#define TAKT_VERSION_PATCH 0

// TAKT_CHECKED is 1 if TAKT_ASSERT checks its condition. The model build sets it to 1. Otherwise
// the build may define it; the default is 1 without NDEBUG and 0 with it.
#if defined(TAKT_MODEL)
#undef TAKT_CHECKED
#define TAKT_CHECKED 1
#elif !defined(TAKT_CHECKED)
#if defined(NDEBUG)
#define TAKT_CHECKED 0
#else
#define TAKT_CHECKED 1
#endif
#endif

// Every setting that changes the layout or the meaning of a type changes this name: object files
// built with different settings fail to link. Users write takt::x.
#if defined(TAKT_MODEL) && defined(TAKT_PORTABLE_PARKING)
#define TAKT_ABI v0_model_portable
#elif defined(TAKT_MODEL)
#define TAKT_ABI v0_model
#elif defined(TAKT_PORTABLE_PARKING)
#define TAKT_ABI v0_portable
#else
#define TAKT_ABI v0
#endif

namespace takt::inline TAKT_ABI {

/// Alignment that keeps data written by different threads on different cache lines: the line of
/// x86-64 and of most aarch64 processors.
inline constexpr std::size_t cache_line = 64;

}  // namespace takt::inline TAKT_ABI

/// \file
/// Version, the inline namespace that every declaration of takt lives in, and what is known of the
/// machine.
#pragma once

#include <cstddef>

#define TAKT_VERSION_MAJOR 0
#define TAKT_VERSION_MINOR 1
#define TAKT_VERSION_PATCH 0

// Whether TAKT_ASSERT checks: without NDEBUG, in the model build, or as the build says.
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

// Whatever changes the layout or the meaning of a type changes this name, so that object files
// built with different settings fail to link instead of failing to work. Users write takt::x.
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

/// What different threads write lies this far apart, where that matters: the cache line of x86-64
/// and of most aarch64.
inline constexpr std::size_t cache_line = 64;

}  // namespace takt::inline TAKT_ABI

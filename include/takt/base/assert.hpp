/// \file
/// Checks of what takt promises itself.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Reports a broken internal promise and does not return: it ends the run in the model build and
/// aborts the process otherwise. Called by TAKT_ASSERT only.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace takt::inline TAKT_ABI

/// Checks an internal promise in debug and model builds; costs nothing with NDEBUG.
/// Bad input by users is never checked with it: that gets an exception.
#if defined(NDEBUG) && !defined(TAKT_MODEL)
#define TAKT_ASSERT(expression) static_cast<void>(0)
#else
#define TAKT_ASSERT(expression)                         \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::takt::assertion_failed(#expression, __FILE__, __LINE__))
#endif

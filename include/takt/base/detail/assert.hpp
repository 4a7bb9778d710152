/// \file
/// Checks of preconditions and invariants.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Reports a failed check and does not return: fails the run in the model build, otherwise aborts
/// the process. Called by TAKT_ASSERT only.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace takt::inline TAKT_ABI

/// Checks a precondition or an invariant. If TAKT_CHECKED is 0 (see config.hpp; the default with
/// NDEBUG), the expression is not evaluated. Errors that users can make at run time, and that are
/// cheap to detect, throw an exception instead.
///
/// In a header, the including translation unit decides. The check changes no layout, so a library
/// built with NDEBUG and a program built without it work together, and the other way round. Of an
/// inline function that both contain the linker keeps one, with or without the check.
#if !TAKT_CHECKED
#define TAKT_ASSERT(expression) static_cast<void>(0)
#else
#define TAKT_ASSERT(expression)                         \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::takt::assertion_failed(#expression, __FILE__, __LINE__))
#endif

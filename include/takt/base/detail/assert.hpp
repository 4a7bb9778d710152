/// \file
/// Checks of preconditions and invariants.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Reports what does not hold, and does not return: it ends the run in the model build and aborts
/// the process otherwise. Called by TAKT_ASSERT only.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace takt::inline TAKT_ABI

/// For preconditions and invariants; not checked with NDEBUG (see TAKT_CHECKED in config.hpp), when
/// the expression is not evaluated and costs nothing. Errors that users can make at run time and
/// that can be told cheaply get an exception instead.
///
/// In a header it follows the translation unit that includes it. It changes no layout, so that a
/// library built with NDEBUG and a program built without, or the other way round, work together;
/// of an inline function that both have, the linker keeps one, with or without the check.
#if !TAKT_CHECKED
#define TAKT_ASSERT(expression) static_cast<void>(0)
#else
#define TAKT_ASSERT(expression)                         \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::takt::assertion_failed(#expression, __FILE__, __LINE__))
#endif

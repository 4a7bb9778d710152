/// \file
/// Continuations that a thread runs before it waits.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Continuations that the calling thread has deferred because too many are nested on its stack.
/// Blocking calls run them first; otherwise the thread could wait for itself.
///
/// \code
/// void my_latch::wait() {
///   while (!is_open()) {
///     if (!takt::detail::deferred_continuations::run()) here_.park();
///   }
/// }
/// \endcode
///
/// condition and timed_condition call run() before they wait; a parker does not. Code that parks
/// calls run() itself, and holds no lock meanwhile, as continuations are user code.
///
/// **Thread safety**: all members concern the calling thread only.
class deferred_continuations {
 public:
  /// Whether this thread may have deferred any.
  [[nodiscard]] static bool any() noexcept;
  /// Runs all of them, and those that are deferred meanwhile. \return whether there may have been
  /// any; then the caller checks again what it waits for.
  static bool run() noexcept;
  /// Has the next run() of this thread call `all`, which runs everything that is deferred. Only
  /// futures call this, always with the same function.
  static void add(void (*all)() noexcept) noexcept;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

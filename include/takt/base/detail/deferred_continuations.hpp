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
/// calls run() itself, without holding a lock, because continuations are user code.
///
/// **Thread safety**: each member accesses the data of the calling thread only.
class deferred_continuations {
 public:
  /// True if this thread may have deferred continuations.
  [[nodiscard]] static bool any() noexcept;
  /// Runs all deferred continuations, including those deferred meanwhile. \return true if there may
  /// have been any; the caller then checks again whether it still has to wait.
  static bool run() noexcept;
  /// Makes the next run() on this thread call `all`, which runs every deferred continuation. Only
  /// futures call this, always with the same function.
  static void add(void (*all)() noexcept) noexcept;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

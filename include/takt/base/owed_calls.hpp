/// \file
/// What a thread does before it waits.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Continuations that this thread has deferred, because too many are nested on its stack. The
/// thread may be about to wait for what they do: blocking calls run them first.
///
/// \code
/// void my_latch::wait() {
///   while (!is_open()) {
///     if (!takt::owed_calls::make()) here_.park();
///   }
/// }
/// \endcode
///
/// condition, timed_condition and all that waits by them do so; a parker does not. Before you park
/// by yourself, call make(): a continuation that this thread has deferred may be what you wait for.
/// No lock is held meanwhile: these calls run code of anybody's.
///
/// **Thread safety**: all members, for the calling thread.
class owed_calls {
 public:
  /// Whether there may be any.
  [[nodiscard]] static bool any() noexcept;
  /// Makes them all, and those that come to be owed by that. \return whether there may have been
  /// any: then look again at what is waited for.
  static bool make() noexcept;
  /// This thread owes calls, which `all` makes, all that there are. For the futures: there is one
  /// kind of them at a time.
  static void add(void (*all)() noexcept) noexcept;
};

}  // namespace takt::inline TAKT_ABI

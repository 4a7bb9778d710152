/// \file
/// What a thread does before it waits.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Calls that this thread owes to others and has put off; a future puts off its continuation while
/// another one runs on its thread. They may be what the thread is about to wait for: whatever
/// blocks it has them made first.
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
/// by yourself, call make(): a continuation that this thread has put off may be what you wait for.
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

/// \file
/// Detects a child process after fork().
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Remembers the process that constructed it, for destructors that wait for threads. In a child
/// process after fork() the threads do not exist and the state of their locks is unknown, so that
/// the destructor must use neither.
///
/// \code
/// my_service::~my_service() {
///   if (home_.is_here()) delete impl_;   // joins its thread; in a child, impl_ leaks
/// }
/// \endcode
///
/// In builds that do not query the system (TAKT_PORTABLE_PARKING, the model checker), is_here() is
/// always true.
///
/// **Thread safety.** As for an int.
class fork_guard {
 public:
  fork_guard() noexcept;
  /// Returns true if the calling process constructed this object.
  [[nodiscard]] bool is_here() const noexcept;

 private:
  long id_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

/// \file
/// Where threads and locks can be used: in the process in which they were made.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Remembers the process that made it, for destructors that wait for threads: in a child process
/// after fork() the threads do not exist, and their locks are in no known state, so that neither
/// may be used there.
///
/// \code
/// my_service::~my_service() {
///   if (home_.is_here()) delete impl_;   // which joins its thread; in a child it is left alone
/// }
/// \endcode
///
/// Where takt does not ask the system (TAKT_PORTABLE_PARKING, the model checker), it is always
/// here.
///
/// **Thread safety**: as for an int. **Destruction**: nothing to it.
class fork_guard {
 public:
  fork_guard() noexcept;
  /// Whether the calling process is the one that made this.
  [[nodiscard]] bool is_here() const noexcept;

 private:
  long id_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

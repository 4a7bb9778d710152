/// \file
/// Stop tokens for signals.
#pragma once

#include <csignal>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/exec/detail/fork_guard.hpp>

namespace takt::inline TAKT_ABI {

/// Options of stop_signals.
struct stop_signals_options {
  /// Signals to wait for; at least one.
  std::vector<int> signals{SIGINT, SIGTERM};
  /// If true, the third signal ends the process at once, with the exit code 128 plus the number of
  /// the signal, as a shell reports it.
  bool third_exits = true;
};

/// Turns SIGINT and SIGTERM into stop tokens: the first signal requests stop on stop_token(), the
/// second on force_token(). With a service_group: `app.run(10s, signals)`.
///
/// \code
/// takt::stop_signals signals;                       // first in main(), before any thread starts
/// takt::thread_pool pool;
/// work_until(signals.stop_token());
/// pool.shutdown();
/// pool.await_termination(10s, signals.force_token());
/// \endcode
///
/// **Signals.** There are no signal handlers. The constructor blocks the signals in its thread, and
/// so in all threads started later; a thread of this object waits for them and runs the stop
/// callbacks. A callback that blocks delays the next signal. Threads started earlier still receive
/// the signals. Signals that the process ignores stay ignored. See docs/services.md.
///
/// **Shutdown.** The destructor joins the thread; that of the last object that waits for a signal
/// unblocks the signal in the calling thread. A signal that arrives meanwhile has the effect that
/// it had before construction. Threads started in between keep it blocked. Tokens keep their state.
/// In a child process after fork() no thread waits, and the destructor only unblocks the signals.
///
/// **Thread safety.** All members may be called from any thread, but one thread must construct and
/// destroy all objects.
class stop_signals {
 public:
  using options_type = stop_signals_options;

  /// \throws std::invalid_argument if `signals` is empty or has a number that is not a signal, or
  /// is SIGKILL or SIGSTOP; std::system_error if the system has no thread or descriptor left.
  explicit stop_signals(const options_type& options = {});
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  /// Returns the token on which the first signal requests stop.
  [[nodiscard]] sync::stop_token stop_token() const noexcept;
  /// Returns the token on which the second signal requests stop.
  [[nodiscard]] sync::stop_token force_token() const noexcept;
  /// Returns the number of the first signal; 0 if none has arrived.
  [[nodiscard]] int first() const noexcept;

 private:
  class impl;
  const detail::fork_guard home_;
  impl* impl_;
};

}  // namespace takt::inline TAKT_ABI

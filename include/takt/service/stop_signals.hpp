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
  /// The signals to wait for; at least one.
  std::vector<int> signals{SIGINT, SIGTERM};
  /// Whether the third signal ends the process at once. The exit code is 128 plus the number of the
  /// signal, as a shell reports it.
  bool third_exits = true;
};

/// Turns SIGINT and SIGTERM into stop tokens: the first signal requests a stop, the second a faster
/// one.
///
/// \code
/// int main() {
///   takt::stop_signals signals;                     // first, before any thread starts
///   takt::thread_pool pool;
///   ...
///   work_until(signals.stop_token());
///   pool.shutdown();
///   pool.await_termination(10s, signals.force_token());
/// }
/// \endcode
///
/// With a service_group it is one line: `return app.run(10s, signals).is_clean() ? 0 : 1;`
///
/// There are no signal handlers. The signals are blocked in the constructing thread and in all
/// threads that it starts later; a thread of this object waits for them and runs the stop
/// callbacks. A callback that blocks delays the next signal of this object. A thread that was
/// started earlier still receives the signals: construct this object first. A signal that raise()
/// sends stays with the calling thread; a program that stops itself calls kill(getpid(), SIGTERM).
/// Programs that exec() starts inherit the blocked signals.
///
/// **Ignored signals** stay ignored, as with nohup, or for a command that a shell starts with `&`
/// without job control: this object does not wait for them.
///
/// **Several objects** may exist at once: each of them receives every signal that it waits for.
/// Construct and destroy them all in one thread; the last one unblocks a signal.
///
/// **Thread safety**: all members from any thread; constructor and destructor in the same thread.
/// **Destruction** joins the thread and unblocks the signals in the calling thread. A signal that
/// arrives meanwhile is not lost: it has the effect that it had before construction. Threads that
/// were started in between keep the signals blocked. Tokens keep their state.
///
/// **After fork()** the signals are still blocked in the child process, and no thread waits for
/// them. The destructor only unblocks them there.
class stop_signals {
 public:
  using options = stop_signals_options;

  /// \throws std::invalid_argument if there are no signals, or a number is not a signal that can be
  /// waited for; std::system_error if the system has no thread or descriptor left.
  explicit stop_signals(const options& how = {});
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  /// The first signal requests stop.
  [[nodiscard]] sync::stop_token stop_token() const noexcept;
  /// The second signal requests stop.
  [[nodiscard]] sync::stop_token force_token() const noexcept;
  /// The number of the first signal; 0 if there was none.
  [[nodiscard]] int first() const noexcept;

 private:
  class impl;
  const detail::fork_guard home_;
  impl* impl_;
};

}  // namespace takt::inline TAKT_ABI

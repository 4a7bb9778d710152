/// \file
/// Signals that ask a program to stop, as stop tokens.
#pragma once

#include <csignal>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/sync.hpp>
#include <takt/exec/home_process.hpp>

namespace takt::inline TAKT_ABI {

/// How stop_signals are made.
struct stop_signals_options {
  std::vector<int> signals{SIGINT, SIGTERM};  ///< At least one.
  /// Whether the third signal ends the process at once, with 128 and its number, as a shell tells
  /// of one that was killed.
  bool third_exits = true;
};

/// Turns SIGINT and SIGTERM into stop tokens: the first signal asks to stop, the second to hurry.
///
/// \code
/// int main() {
///   takt::stop_signals signals;                     // first of all: before any thread is started
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
/// There are no handlers, and so nothing that must not be done in one: the signals are blocked, in
/// the thread that makes this and in all that are started later, and a thread of its own waits for
/// them; stop callbacks run on that one, so let them not block: the next signal, and the third one
/// too, would wait for them. A thread that was there before still gets them, and they do to the
/// program what they did: that is why it comes first. What a thread sends to itself by raise()
/// stays with it: a program that wants to stop itself calls kill(getpid(), SIGTERM). Programs that
/// are started by exec() inherit what is blocked; unblock it there.
///
/// **Thread safety**: all members from any thread; constructor and destructor by the same one.
/// **Destruction** ends the thread, and gives signals the effect in the calling one that they had
/// before, also to those that come meanwhile: none is lost, and none is a request any more. Threads
/// that were started since then keep them blocked. Tokens stay as they are.
///
/// **After fork()** nobody waits for the signals in a child process, where they are still blocked:
/// destroy it there, which then does no more than to unblock them, or unblock them.
class stop_signals {
 public:
  using options = stop_signals_options;

  /// \throws std::invalid_argument if there are no signals, or one is none or cannot be blocked;
  /// std::system_error if there is no thread.
  explicit stop_signals(const options& how = {});
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  /// Stop is requested by the first signal.
  [[nodiscard]] sync::stop_token stop_token() const noexcept;
  /// Stop is requested by the second one.
  [[nodiscard]] sync::stop_token force_token() const noexcept;
  /// The first signal that came; 0 if there was none.
  [[nodiscard]] int first() const noexcept;

 private:
  class impl;
  const home_process home_;
  impl* impl_;
};

}  // namespace takt::inline TAKT_ABI

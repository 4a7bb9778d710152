/// \file
/// Lines from many threads to one sink, and a clean end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/service/log_sink.hpp>
#include <takt/service/when_full.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// How a log_service is made.
struct log_service_options {
  std::size_t capacity = 1024;  ///< How many lines wait to be written at most; at least 1.
  when_full rejection = when_full::wait();  ///< What log() does if there are as many.
  /// As many lines are written at most before the sink is flushed; at least 1. It is also flushed
  /// whenever there is nothing left to write.
  std::size_t flush_every = 64;
  /// Where lines are written: one after the other, on the threads of this executor, which has to
  /// outlive the service. Nothing: a thread of its own.
  std::optional<any_executor> where{};
  std::string name = "log";                          ///< Of its own thread.
  const clock* time = &steady;                       ///< For waiting. Outlives it.
  const unhandled_hook* unhandled = &log_unhandled;  ///< Told if the sink fails. Outlives it.
};

/// What became of lines. Plain values, of one moment.
struct log_statistics {
  std::uint64_t accepted = 0;   ///< Lines for which log() returned true.
  std::uint64_t dropped = 0;    ///< Not accepted: no room, with when_full::drop().
  std::uint64_t refused = 0;    ///< Not accepted for any other reason.
  std::uint64_t written = 0;    ///< And flushed.
  std::uint64_t returned = 0;   ///< Given back by shutdown_now().
  std::uint64_t discarded = 0;  ///< By shutdown_and_cancel(), close() or the destructor.
  std::uint64_t failed = 0;     ///< Not written, or not for certain, as the sink has failed.

  /// Accepted, and without an end yet.
  [[nodiscard]] std::uint64_t pending() const noexcept {
    return accepted - written - returned - discarded - failed;
  }
};

/// Writes lines from any number of threads to one sink, without making them wait for it, and stops
/// in such a way that each line that was accepted is accounted for.
///
/// \code
/// takt::log_service log{takt::to_file("app.log")};        // a thread of its own
/// takt::log_service audit{takt::to_file("audit.log"),     // on the threads of a pool
///                         {.rejection = takt::when_full::fail(), .where = pool}};
///
/// log.log("started");                                     // from any thread
/// ...
/// log.shutdown();                                         // what was accepted is written
/// if (!log.await_termination(1s)) save(log.shutdown_now());   // but not for ever: the rest
/// log.await_termination();                                // the file is closed
/// \endcode
///
/// It shows how a service stops; it has no levels, formats or rotation, and is no rival of spdlog.
///
/// **Life.** It is at work once it is made: there is no start(), so nothing comes before it or
/// happens twice. Lines of one thread are written in their order. The sink is used by one thread
/// at a time, flushed after the last line, and closed once, on the service's own thread. If it has
/// none, that is done by the writer, or, if there is nothing to write, by who shuts it down: so
/// that it does not depend on the executor. It is terminated when that is done.
///
/// **A full queue** makes log() wait, drop the line or throw, as `rejection` says. A sink that logs
/// to its own service never waits: it gets takt::rejected (saturated). A task of a pool that waits
/// may be waiting for its own pool to write: it then waits in a blocking_region, so that a pool
/// that can grow has a thread for that; or let it not wait.
///
/// **Errors.** If the sink throws, nothing more is written: all that wait in log() and all that
/// come later get that exception, the unhandled hook is told (uncaught; by default it is reported
/// on stderr), error() has it, and the service ends. The same if its executor refuses or drops its
/// work, or there is no memory to give it any. Lines that were not written count as failed;
/// shutdown_now() gives them back. Lines since the last flush are among them. A file sink removes
/// what it has written of these; with other sinks some may have got through: one line at most, with
/// `flush_every = 1`.
///
/// **Shutdown.** shutdown(): lines that were accepted, and those of threads that wait for room
/// already, are written; later ones are rejected. shutdown_now(): they are given back, oldest
/// first; the line that is being written is finished, and the sink closed after it; who waits for
/// room is rejected. shutdown_and_cancel(): likewise, but they are discarded, and counted. The
/// destructor does what close(cancel_pending) does, and so discards: call close(drain) before. All
/// of them may be called again, by any thread, and by the sink. In a child process after fork() the
/// destructor does nothing.
///
/// **Thread safety**: all members from any thread, but for the destructor.
class log_service : public lifecycle_interface<log_service> {
 public:
  using options = log_service_options;

  /// \throws std::invalid_argument if the sink is null, capacity or flush_every 0, or time or
  /// unhandled null; takt::rejected (no_thread) if it cannot have its own thread.
  explicit log_service(std::unique_ptr<log_sink> sink, const options& how = {});
  ~log_service();
  log_service(const log_service&) = delete;
  log_service& operator=(const log_service&) = delete;

  /// Has a line written. \return whether it was accepted: false if it was dropped, or stop was
  /// requested while it waited for room.
  /// \throws takt::rejected: shut_down, saturated, timeout_error; the sink's error if that has
  /// failed; std::bad_alloc. If it throws, the line was not accepted.
  bool log(std::string line, const sync::stop_token& stop = {});

  /// Takes no more; what was accepted is written.
  void shutdown() noexcept;

  /// Takes no more, and gives back what has not been written, each line once. After a failure that
  /// includes what failed.
  [[nodiscard]] std::list<std::string> shutdown_now() noexcept;

  /// As shutdown_now(), but what has not been written is discarded.
  void shutdown_and_cancel() noexcept;

  /// Why it has failed: what the sink has thrown, or that its executor does not run it any more;
  /// null if it has not.
  [[nodiscard]] std::exception_ptr error() const;

  /// The account. pending() is 0 when it is terminated.
  [[nodiscard]] log_statistics statistics() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  class impl;
  impl* impl_;  // counted: a drain has a reference, too
};

}  // namespace takt::inline TAKT_ABI

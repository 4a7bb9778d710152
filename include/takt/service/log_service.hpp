/// \file
/// An asynchronous log service that accounts for every line.
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

/// Options of a log_service.
struct log_service_options {
  std::size_t capacity = 1024;              ///< Maximum number of queued lines; at least 1.
  when_full rejection = when_full::wait();  ///< Policy of log() for a full queue.
  /// Maximum number of lines between two flushes of the sink; at least 1. The sink is also flushed
  /// whenever the queue is empty.
  std::size_t flush_every = 64;
  /// Executor of the task that writes lines; there is one such task at a time. Must outlive the
  /// service. Empty means a private thread.
  std::optional<any_executor> executor{};
  std::string name = "log";     ///< Name of the private thread.
  const clock* time = &steady;  ///< Clock for deadlines. Must outlive the service.
  /// Receives errors of the sink and the executor. Must outlive the service.
  const unhandled_hook* unhandled = &log_unhandled;
};

/// Totals of a log_service, exact once the service is terminated. Before that, pending() may be too
/// large but is never negative.
struct log_statistics {
  std::uint64_t accepted = 0;  ///< Lines for which log() returned true.
  std::uint64_t dropped = 0;   ///< Lines not accepted because the queue was full: drop().
  std::uint64_t refused = 0;   ///< Lines not accepted for any other reason.
  std::uint64_t written = 0;   ///< Lines written and flushed.
  std::uint64_t returned = 0;  ///< Queued lines returned by shutdown_now().
  /// Queued lines discarded by shutdown_and_cancel(), close() or the destructor.
  std::uint64_t discarded = 0;
  std::uint64_t failed = 0;  ///< Lines not written, or not certainly, because the sink failed.

  /// Accepted lines without an outcome yet.
  [[nodiscard]] std::uint64_t pending() const noexcept {
    return accepted - written - returned - discarded - failed;
  }
};

/// Writes lines from any number of threads to one sink, in the background. After the shutdown every
/// accepted line is accounted for. It has no levels, formats or rotation.
///
/// \code
/// takt::log_service log{takt::to_file("app.log"), {.rejection = takt::when_full::drop()}};
/// log.log("started");                                         // from any thread
/// log.shutdown();                                             // accepted lines are written
/// if (!log.await_termination(1s)) save(log.shutdown_now());   // after 1 s: the unwritten lines
/// log.await_termination();                                    // the file is closed
/// \endcode
///
/// **Order.** Lines of one thread keep their order. One thread at a time uses the sink; the service
/// flushes it after the last line, and closes it once.
///
/// **Errors.** If the sink throws, the service stops: log() throws that exception, error() returns
/// it, and the unhandled hook receives it (uncaught). Unwritten lines count as failed;
/// shutdown_now() returns them. An executor that rejects or drops the writer has the same effect.
///
/// **Shutdown.** shutdown() writes all accepted lines, and those of producers that already wait for
/// room. shutdown_now() returns unwritten lines; shutdown_and_cancel() and the destructor discard
/// them: call close(drain) first. The sink may call all of these. In a child process after fork()
/// the destructor does nothing. See docs/services.md.
///
/// **Thread safety.** All members may be called from any thread, except the destructor.
class log_service : public lifecycle_interface<log_service> {
 public:
  using options_type = log_service_options;

  /// \throws std::invalid_argument if the sink is null, capacity or flush_every is 0, or time or
  /// unhandled is null; takt::rejected (no_thread) if the private thread cannot be started.
  explicit log_service(std::unique_ptr<log_sink> sink, const options_type& options = {});
  ~log_service();
  log_service(const log_service&) = delete;
  log_service& operator=(const log_service&) = delete;

  /// Queues a line. \return true if it was accepted; false if it was dropped, or stop was requested
  /// while the caller waited for room.
  /// \throws takt::rejected (shut_down, saturated, timed_out); error() once the service has failed;
  /// std::bad_alloc. If this throws, the line was not accepted.
  bool log(std::string line, const sync::stop_token& stop = {});

  /// Closes the intake; accepted lines are written.
  void shutdown() noexcept;

  /// Closes the intake and stops writing; the line being written is finished. \return the unwritten
  /// lines, oldest first, each of them once; after a failure the failed lines too.
  [[nodiscard]] std::list<std::string> shutdown_now() noexcept;

  /// As shutdown_now(), but discards the unwritten lines.
  void shutdown_and_cancel() noexcept;

  /// Returns the exception of the sink, or a std::runtime_error if the executor has rejected or
  /// dropped the writing task; null if the service has not failed.
  [[nodiscard]] std::exception_ptr error() const;

  /// Returns the totals. pending() is 0 once the service is terminated.
  [[nodiscard]] log_statistics statistics() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  class impl;
  impl* impl_;  // reference-counted: a drain task has a reference, too
};

}  // namespace takt::inline TAKT_ABI

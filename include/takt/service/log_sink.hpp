/// \file
/// Where a log_service writes.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/task/future_task.hpp>

namespace takt::inline TAKT_ABI {

/// Takes the lines of a log_service: one after the other, never two at a time, each call happening
/// before the next, though not always on the same thread. An exception from any of the members
/// fails the service, see there.
///
/// \code
/// class syslog_sink final : public takt::log_sink {
///   void write(std::string_view line) override { ::syslog(LOG_INFO, "%.*s", ...); }
/// };
/// \endcode
///
/// **Thread safety**: belongs to its service. **Destruction**: after close(), or after a throw.
class log_sink {
 public:
  virtual ~log_sink() = default;
  /// One line, without its end. It may stay in a buffer.
  virtual void write(std::string_view line) = 0;
  /// What was written so far leaves the buffer. Lines count as written when this has returned.
  virtual void flush() {}
  /// Called once, by the end of the service, whatever else has happened: nothing comes after it.
  virtual void close() {}

 protected:
  log_sink() = default;
  log_sink(const log_sink&) = default;
  log_sink& operator=(const log_sink&) = default;
};

/// When a file is told to be on the disk, and not only in the memory of the system (fsync).
enum class file_sync : std::uint8_t {
  none,      ///< When the system likes.
  at_close,  ///< Once, at the end.
  at_flush,  ///< After each flush: lines that count as written survive a power cut.
};

/// How a file is written.
struct file_sink_options {
  bool append = true;  ///< If false, the file is emptied first. Lines are appended in any case.
  file_sync sync = file_sync::at_close;
};

/// Lines go to a stream, which is borrowed and has to outlive the service. It throws
/// std::ios_base::failure if the stream has failed.
[[nodiscard]] std::unique_ptr<log_sink> to_stream(std::ostream& stream);

/// Lines go to a file, which is made if it is not there, and opened here and now; its name is
/// synced with its folder, unless nothing is to be. What a signal interrupts is done again.
///
/// Each line begins at the start of a line, also if the file ended within one. If flush() throws,
/// it removes what it has written of these lines: they are the caller's again, and not in the file.
/// It leaves them there if it sees that another process has written to the file meanwhile, or if
/// the file is not a regular file.
/// \throws std::system_error, with the path and the reason, if that fails.
[[nodiscard]] std::unique_ptr<log_sink> to_file(const std::string& path,
                                                const file_sink_options& how = {});

namespace detail {

/// What to_function() makes.
template <class F>
class function_sink final : public log_sink {
 public:
  explicit function_sink(F f) : call_(std::move(f)) {}
  void write(std::string_view line) override { std::invoke(call_, line); }

 private:
  F call_;
};

}  // namespace detail

/// Lines go to a callable, `void(std::string_view)`.
/// \throws std::invalid_argument if it is empty.
template <class F>
  requires std::is_invocable_v<std::decay_t<F>&, std::string_view>
[[nodiscard]] std::unique_ptr<log_sink> to_function(F&& f) {
  using call = std::decay_t<F>;
  detail::require_callable(f, "takt::to_function: the callable is empty");
  return std::make_unique<detail::function_sink<call>>(std::forward<F>(f));
}

}  // namespace takt::inline TAKT_ABI

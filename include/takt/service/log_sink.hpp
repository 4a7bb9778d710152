/// \file
/// Sinks of a log_service.
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

/// Receives the lines of a log_service. Calls never overlap; each happens before the next one, but
/// they may come from different threads. An exception from any member fails the service.
///
/// \code
/// class syslog_sink final : public takt::log_sink {
///   void write(std::string_view line) override {
///     ::syslog(LOG_INFO, "%.*s", static_cast<int>(line.size()), line.data());
///   }
/// };
/// \endcode
///
/// **Thread safety.** Only its service uses a sink. The service destroys the sink after close();
/// if the service's constructor throws, the sink is destroyed without close().
class log_sink {
 public:
  virtual ~log_sink() = default;
  /// Writes a line; `line` does not include a line end. May buffer it.
  virtual void write(std::string_view line) = 0;
  /// Writes the buffer to its destination. Lines count as written when this returns.
  virtual void flush() {}
  /// Called once, as the last call, also after an earlier call has thrown.
  virtual void close() {}

 protected:
  log_sink() = default;
  log_sink(const log_sink&) = default;
  log_sink& operator=(const log_sink&) = default;
};

/// Policy for syncing a file to the disk (fsync).
enum class file_sync : std::uint8_t {
  none,      ///< Never syncs: the system decides.
  at_close,  ///< Syncs once, in close().
  at_flush,  ///< Syncs in each flush: lines that count as written survive a power cut.
};

/// Options of to_file().
struct file_sink_options {
  bool append = true;  ///< If false, the file is emptied first. Writes always append (O_APPEND).
  file_sync sync = file_sync::at_close;  ///< See file_sync.
};

/// Returns a sink that writes to a stream, which must outlive the service. The sink throws
/// std::ios_base::failure when the stream has failed.
[[nodiscard]] std::unique_ptr<log_sink> to_stream(std::ostream& stream);

/// Returns a sink that appends to a file. This call opens the file and creates it if missing;
/// unless `sync` is none, it also syncs the folder. Interrupted system calls are repeated.
///
/// If the file ends within a line, the sink begins a new line. If flush() throws, the sink removes
/// the lines of that flush from the file again, because the service returns them to the caller. The
/// lines stay if the file is not a regular file or another process has written to it meanwhile.
/// \throws std::system_error with the path and the reason.
[[nodiscard]] std::unique_ptr<log_sink> to_file(const std::string& path,
                                                const file_sink_options& options = {});

namespace detail {

/// The sink of to_function().
template <class F>
class function_sink final : public log_sink {
 public:
  explicit function_sink(F f) : call_(std::move(f)) {}
  void write(std::string_view line) override { std::invoke(call_, line); }

 private:
  F call_;
};

}  // namespace detail

/// Returns a sink that calls `f` for each line, as `void(std::string_view)`.
/// \throws std::invalid_argument if `f` is empty.
template <class F>
  requires std::is_invocable_v<std::decay_t<F>&, std::string_view>
[[nodiscard]] std::unique_ptr<log_sink> to_function(F&& f) {
  using call = std::decay_t<F>;
  detail::require_callable(f, "takt::to_function: the callable is empty");
  return std::make_unique<detail::function_sink<call>>(std::forward<F>(f));
}

}  // namespace takt::inline TAKT_ABI

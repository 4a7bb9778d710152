/// \file
/// Hooks for errors that no code handles.
#pragma once

#include <cstdint>
#include <exception>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Why an error reached the hook.
enum class unhandled : std::uint8_t {
  /// The task has no future.
  uncaught,
  /// The future was destroyed before any code retrieved the error.
  unobserved,
};

/// Receives each exception that left a task and that no code has retrieved. Components that run
/// tasks take a hook in their options. It must outlive the component and its futures.
///
/// \code
/// class to_my_log final : public takt::unhandled_hook {
///   void on_unhandled(takt::unhandled, const std::exception_ptr& error) const noexcept override {
///     write_to_log(error);
///   }
/// };
/// const to_my_log hook;
/// takt::thread_pool pool{{.core_threads = 4, .unhandled = &hook}};
/// \endcode
///
/// **Thread safety.** Hooks are called on the thread where the error became unhandled, concurrently
/// if several threads have errors. A hook that throws terminates the program.
class unhandled_hook {
 public:
  /// Called once for each unhandled error.
  virtual void on_unhandled(unhandled kind, const std::exception_ptr& error) const noexcept = 0;

 protected:
  unhandled_hook() = default;
  unhandled_hook(const unhandled_hook&) = default;
  unhandled_hook& operator=(const unhandled_hook&) = default;
  ~unhandled_hook() = default;
};

namespace detail {

/// Terminates on an uncaught error; reports an unobserved one.
class terminating_hook final : public unhandled_hook {
 public:
  void on_unhandled(unhandled kind, const std::exception_ptr& error) const noexcept override;
};

/// Reports both kinds.
class logging_hook final : public unhandled_hook {
 public:
  void on_unhandled(unhandled kind, const std::exception_ptr& error) const noexcept override;
};

}  // namespace detail

/// The default. An uncaught error terminates the program, as it does for a std::thread. An
/// unobserved error is reported on stderr.
inline constexpr detail::terminating_hook terminate_on_unhandled{};

/// Reports both kinds of errors on stderr. The program continues.
inline constexpr detail::logging_hook log_unhandled{};

}  // namespace takt::inline TAKT_ABI

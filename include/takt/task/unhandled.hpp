/// \file
/// Where errors go that nobody has seen.
#pragma once

#include <cstdint>
#include <exception>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Why an error reached the hook.
enum class unhandled : std::uint8_t {
  /// There is no future that it could go to.
  uncaught,
  /// Its future was destroyed without anybody looking.
  unobserved,
};

/// Is told of each exception that left a task and that nobody has seen. Whoever runs tasks can be
/// given one; it has to outlive them and their futures.
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
/// **Thread safety**: called on the thread where the error became unhandled, by several at once.
/// A hook that throws ends the program.
class unhandled_hook {
 public:
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

/// The default. An uncaught error ends the program, as it does for a std::thread; an unobserved
/// error is reported on stderr.
inline constexpr detail::terminating_hook terminate_on_unhandled{};

/// Both kinds of errors are reported on stderr, and the program continues.
inline constexpr detail::logging_hook log_unhandled{};

}  // namespace takt::inline TAKT_ABI

/// \file
/// Collects the errors of several calls.
#pragma once

#include <exception>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Runs several calls although some of them throw, and then throws their errors together.
class error_collector {
 public:
  template <class Call>
  void run(Call&& call) noexcept {
    try {
      call();
    } catch (...) {
      add(std::current_exception());
    }
  }

  /// Throws nothing, the only error, or an aggregate_error.
  void throw_if_any();

 private:
  void add(const std::exception_ptr& error) noexcept;

  std::exception_ptr first_;
  std::vector<std::exception_ptr> rest_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

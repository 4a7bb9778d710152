/// \file
/// Several errors in one exception.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Thrown by unsubscribe() if two or more callbacks have thrown. It is flat: none of its errors is
/// an aggregate_error.
///
/// \code
/// try {
///   subscriptions.unsubscribe();
/// } catch (const takt::rx::aggregate_error& several) {
///   for (const std::exception_ptr& e : several.errors()) log(e);
/// }
/// \endcode
///
/// **Thread safety**: as for a value. Copying does not throw; copies share the errors.
class aggregate_error final : public std::runtime_error {
 public:
  /// For the rx module: requires at least two errors, none of them an aggregate_error.
  explicit aggregate_error(std::vector<std::exception_ptr> errors);

  /// Returns the errors, at least two, in the order in which they were thrown.
  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept { return *errors_; }

 private:
  std::shared_ptr<const std::vector<std::exception_ptr>> errors_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

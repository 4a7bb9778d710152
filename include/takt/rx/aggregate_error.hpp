/// \file
/// Several errors at once.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Thrown if two or more of what was unsubscribed together have thrown. Flat: none of its errors is
/// an aggregate itself.
///
/// \code
/// try {
///   subscriptions.unsubscribe();
/// } catch (const takt::rx::aggregate_error& several) {
///   for (const std::exception_ptr& e : several.errors()) log(e);
/// }
/// \endcode
///
/// **Thread safety**: as for a value; copies share what they hold, and do not throw.
class aggregate_error final : public std::runtime_error {
 public:
  explicit aggregate_error(std::vector<std::exception_ptr> errors);

  /// In the order in which they were thrown; two at least.
  [[nodiscard]] const std::vector<std::exception_ptr>& errors() const noexcept { return *errors_; }

 private:
  std::shared_ptr<const std::vector<std::exception_ptr>> errors_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI

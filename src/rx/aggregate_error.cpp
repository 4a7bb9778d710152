#include <takt/rx/aggregate_error.hpp>

#include <new>
#include <string>
#include <utility>

#include <takt/rx/detail/error_collector.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

aggregate_error::aggregate_error(std::vector<std::exception_ptr> errors)
    : std::runtime_error("takt::rx: " + std::to_string(errors.size()) +
                         " errors while unsubscribing"),
      errors_(std::make_shared<const std::vector<std::exception_ptr>>(std::move(errors))) {}

}  // namespace rx

namespace detail {

void error_collector::add(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const rx::aggregate_error& several) {
    for (const std::exception_ptr& one : several.errors()) add(one);
    return;
  } catch (...) {
  }
  if (first_ == nullptr) {
    first_ = error;
    return;
  }
  try {
    rest_.push_back(error);
  } catch (const std::bad_alloc&) {  // only the first error is reported
  }
}

void error_collector::throw_if_any() {
  if (first_ == nullptr) return;
  if (!rest_.empty()) {
    try {
      rest_.insert(rest_.begin(), first_);
      throw rx::aggregate_error(std::move(rest_));
    } catch (const std::bad_alloc&) {  // as above
    }
  }
  std::rethrow_exception(first_);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

#include <takt/task/detail/executor_scope.hpp>

#include <utility>

#include <takt/base/detail/sync.hpp>

#include "delivery.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

struct innermost_runner {
  executor_scope* runner = nullptr;
};

executor_scope*& last_made() noexcept { return sync::tls<innermost_runner>::get().runner; }

}  // namespace

executor_scope::executor_scope(const void* executor, nesting counts) noexcept
    : executor_(executor),
      outer_(std::exchange(last_made(), this)),
      outer_depth_(delivery_depth::here()) {
  if (counts == nesting::anew) delivery_depth::here() = 0;
}

executor_scope::~executor_scope() {
  last_made() = outer_;
  delivery_depth::here() = outer_depth_;
}

executor_scope* executor_scope::innermost() noexcept { return last_made(); }

executor_scope* executor_scope::of(const void* executor) noexcept {
  executor_scope* runner = innermost();
  while (runner != nullptr && runner->executor_ != executor) runner = runner->outer_;
  return runner;
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

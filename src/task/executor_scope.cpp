#include <takt/task/detail/executor_scope.hpp>

#include <utility>

#include <takt/base/detail/sync.hpp>

#include "delivery.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

struct innermost_scope {
  executor_scope* scope = nullptr;
};

executor_scope*& innermost_here() noexcept { return sync::tls<innermost_scope>::get().scope; }

}  // namespace

executor_scope::executor_scope(const void* executor, nesting counts) noexcept
    : executor_(executor),
      outer_(std::exchange(innermost_here(), this)),
      outer_depth_(delivery_depth::here()) {
  if (counts == nesting::anew) delivery_depth::here() = 0;
}

executor_scope::~executor_scope() {
  innermost_here() = outer_;
  delivery_depth::here() = outer_depth_;
}

executor_scope* executor_scope::innermost() noexcept { return innermost_here(); }

executor_scope* executor_scope::of(const void* executor) noexcept {
  executor_scope* scope = innermost();
  while (scope != nullptr && scope->executor_ != executor) scope = scope->outer_;
  return scope;
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI

#include <takt/task/blocking_region.hpp>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/task/detail/executor_scope.hpp>

namespace takt::inline TAKT_ABI {

blocking_region::blocking_region() noexcept {
  detail::deferred_continuations::run();
  for (detail::executor_scope* r = detail::executor_scope::innermost(); r != nullptr;
       r = r->outer())
    r->begin_blocking();
}

blocking_region::~blocking_region() {
  for (detail::executor_scope* r = detail::executor_scope::innermost(); r != nullptr;
       r = r->outer())
    r->end_blocking();
}

}  // namespace takt::inline TAKT_ABI

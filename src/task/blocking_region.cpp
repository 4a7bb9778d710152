#include <takt/task/blocking_region.hpp>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/task/detail/executor_scope.hpp>

namespace takt::inline TAKT_ABI {

blocking_region::blocking_region() noexcept {
  detail::deferred_continuations::run();
  for (detail::executor_scope* s = detail::executor_scope::innermost(); s != nullptr;
       s = s->outer())
    s->begin_blocking();
}

blocking_region::~blocking_region() {
  for (detail::executor_scope* s = detail::executor_scope::innermost(); s != nullptr;
       s = s->outer())
    s->end_blocking();
}

}  // namespace takt::inline TAKT_ABI

#include <takt/task/task_runner.hpp>

#include <utility>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/sync.hpp>

#include "delivery.hpp"

namespace takt::inline TAKT_ABI {
namespace {

struct innermost_runner {
  task_runner* runner = nullptr;
};

task_runner*& last_made() noexcept { return sync::tls<innermost_runner>::get().runner; }

}  // namespace

task_runner::task_runner(const void* executor, nesting counts) noexcept
    : executor_(executor),
      outer_(std::exchange(last_made(), this)),
      outer_depth_(delivery_depth::here()) {
  if (counts == nesting::anew) delivery_depth::here() = 0;
}

task_runner::~task_runner() {
  last_made() = outer_;
  delivery_depth::here() = outer_depth_;
}

task_runner* task_runner::innermost() noexcept { return last_made(); }

task_runner* task_runner::of(const void* executor) noexcept {
  task_runner* runner = innermost();
  while (runner != nullptr && runner->executor_ != executor) runner = runner->outer_;
  return runner;
}

blocking_region::blocking_region() noexcept {
  detail::deferred_continuations::run();
  for (task_runner* r = task_runner::innermost(); r != nullptr; r = r->outer()) r->begin_blocking();
}

blocking_region::~blocking_region() {
  for (task_runner* r = task_runner::innermost(); r != nullptr; r = r->outer()) r->end_blocking();
}

}  // namespace takt::inline TAKT_ABI

// Nested continuations.
#pragma once

#include <cstddef>
#include <functional>

#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>

namespace takt_test {

// Calls `f` within this number of nested continuations.
inline void nested(std::size_t levels, const std::function<void()>& f) {
  if (levels == 0) {
    f();
    return;
  }
  takt::make_ready_future().then([&] { nested(levels - 1, f); }).get();
}

// Calls `f` at the nesting limit, where the thread defers the continuations of futures that `f`
// completes.
inline void fully_nested(const std::function<void()>& f) {
  nested(takt::max_nested_continuations, f);
}

}  // namespace takt_test

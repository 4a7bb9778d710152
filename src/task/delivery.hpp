// The nesting depth of continuations on the calling thread.
#pragma once

#include <cstddef>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {

// Has no destructor: futures may become ready after the thread's thread-local data is destroyed.
struct delivery_depth {
  std::size_t value = 0;  // continuations nested within the current task

  [[nodiscard]] static delivery_depth& of_this_thread() noexcept {
    return sync::tls<delivery_depth>::get();
  }
  [[nodiscard]] static std::size_t& here() noexcept { return of_this_thread().value; }
  [[nodiscard]] bool is_full() const noexcept { return value >= max_nested_continuations; }
};

// While it exists, continuations count from depth 0, even within a continuation. The constructor
// calls the deferred continuations first.
class delivery_scope {
 public:
  delivery_scope() noexcept {
    detail::deferred_continuations::run();
    outer_ = std::exchange(delivery_depth::here(), 0);
  }
  ~delivery_scope() { delivery_depth::here() = outer_; }
  delivery_scope(const delivery_scope&) = delete;
  delivery_scope& operator=(const delivery_scope&) = delete;

 private:
  std::size_t outer_;
};

}  // namespace takt::inline TAKT_ABI

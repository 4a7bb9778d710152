// How deep continuations are nested on the calling thread.
#pragma once

#include <cstddef>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/owed_calls.hpp>
#include <takt/base/sync.hpp>
#include <takt/task/future_state.hpp>

namespace takt::inline TAKT_ABI {

// How many continuations may be on the stack in all. Tasks that run within continuations begin to
// count anew, up to max_nested_continuations each; this keeps the stack bounded if they go on for
// ever, by an executor that runs tasks where they are submitted.
inline constexpr std::size_t most_continuations_on_stack = 4 * max_nested_continuations;

// Has no destructor: a thread's last futures may end after its thread-local data.
struct delivery_depth {
  std::size_t value = 0;     // nested in each other
  std::size_t on_stack = 0;  // in all

  [[nodiscard]] static delivery_depth& of_this_thread() noexcept {
    return sync::tls<delivery_depth>::get();
  }
  [[nodiscard]] static std::size_t& here() noexcept { return of_this_thread().value; }
  [[nodiscard]] bool is_full() const noexcept {
    return value >= max_nested_continuations || on_stack >= most_continuations_on_stack;
  }
};

// While it exists, the thread runs tasks that are not part of a continuation, though one may have
// led to them. Deferred continuations are called first.
class delivery_scope {
 public:
  delivery_scope() noexcept {
    owed_calls::make();
    outer_ = std::exchange(delivery_depth::here(), 0);
  }
  ~delivery_scope() { delivery_depth::here() = outer_; }
  delivery_scope(const delivery_scope&) = delete;
  delivery_scope& operator=(const delivery_scope&) = delete;

 private:
  std::size_t outer_;
};

}  // namespace takt::inline TAKT_ABI
